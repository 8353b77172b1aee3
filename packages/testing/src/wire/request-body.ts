import type { Json } from '../base/json.ts'
import { parseJson } from '../base/json.ts'
import type { FormPart } from '../contract/request.ts'

/** A request's body, read whole. */
export interface RequestBody {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Decoded on first use. */
  readonly text: string
  readonly json: Json | undefined
  /** Undefined if the body is not a valid multipart body. */
  readonly form: readonly FormPart[] | undefined
  /** The client's content type without parameters; empty if there is none. */
  readonly contentType: string
}

const decoder = new TextDecoder()

/** Reads a body as JSON, or as a form by its content type. Never throws for invalid content. */
export async function readBody(request: Request): Promise<RequestBody> {
  const header = request.headers.get('content-type') ?? ''
  const contentType = (header.split(';')[0] ?? '').trim().toLowerCase()
  if (request.method === 'GET' || request.method === 'HEAD')
    return { bytes: new Uint8Array(0), text: '', json: undefined, form: undefined, contentType }
  const bytes = new Uint8Array(await request.arrayBuffer())
  let text: string | undefined
  const isForm = contentType === 'multipart/form-data'
  if (!isForm) text = decoder.decode(bytes)
  return {
    bytes,
    get text() {
      text ??= decoder.decode(bytes)
      return text
    },
    json: text === undefined || text === '' ? undefined : parseJson(text),
    form: isForm ? await readForm(bytes, header) : undefined,
    contentType,
  }
}

async function readForm(bytes: Uint8Array<ArrayBuffer>, contentType: string): Promise<FormPart[] | undefined> {
  try {
    const form = await new Response(bytes, { headers: { 'content-type': contentType } }).formData()
    return await Promise.all([...form].map(([name, value]) => partOf(name, value)))
  } catch {
    return undefined
  }
}

async function partOf(name: string, value: string | File): Promise<FormPart> {
  if (typeof value === 'string')
    return { name, filename: undefined, contentType: '', bytes: new TextEncoder().encode(value) }
  const bytes = new Uint8Array(await value.arrayBuffer())
  return { name, filename: value.name, contentType: value.type, bytes }
}
