import { concatBytes } from '../../base/bytes.ts'
import { GatewayError } from '../../base/errors.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import { readWhole, type Spool } from '../../http/spool.ts'

/** One part of an upload, as it came. */
export interface FormPart {
  readonly name: string
  /** Its header lines, without the last line break. */
  readonly head: string
  /** A field's value. */
  readonly text?: string
  readonly file?: FormFile
}
export interface FormFile {
  readonly filename: string
  readonly mediaType: string | undefined
  /** Where its bytes stand in the spool. */
  readonly start: number
  readonly end: number
}

/** An upload that has come whole: its fields here, its files in a spool. */
export interface Form {
  readonly parts: readonly FormPart[]
  readonly spool: Spool
  /** The parts as a JSON body would say them; files without their bytes. */
  readonly value: JsonObject
}

/** Uploads up to this size are sent in one piece. */
const smallBytes = 1024 * 1024
const encoder = new TextEncoder()

/**
 * The upload for an upstream: every part as it came, but for the model's name. The boundary is a new one that no client can
 * have written into a file, so that no upstream sees other parts than were checked here.
 */
export async function encodeForm(
  { parts, spool }: Form,
  model: string,
  boundary: string,
): Promise<{ readonly body: Uint8Array | AsyncIterable<Uint8Array>; readonly headers: Record<string, string> }> {
  const pieces: (Uint8Array | FormFile)[] = []
  let text = ''
  let size = 0
  const flush = (): void => {
    const bytes = encoder.encode(text)
    text = ''
    size += bytes.length
    pieces.push(bytes)
  }
  const named = parts.some(isModel)
  for (const part of named ? parts : [modelPart, ...parts]) {
    text += `--${boundary}\r\n`
    if (part.file === undefined) {
      text += isModel(part) ? `${modelHead}\r\n\r\n${model}` : `${part.head}\r\n\r\n${part.text ?? ''}`
    } else {
      text += `${part.head}\r\n\r\n`
      flush()
      pieces.push(part.file)
      size += part.file.end - part.file.start
    }
    text += '\r\n'
  }
  text += `--${boundary}--\r\n`
  flush()
  const body = { [Symbol.asyncIterator]: () => produce(pieces, spool) }
  if (size > smallBytes)
    return {
      body,
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}`, 'content-length': String(size) },
    }
  const whole: Uint8Array[] = []
  for await (const chunk of body) whole.push(chunk)
  return { body: concatBytes(whole), headers: { 'content-type': `multipart/form-data; boundary=${boundary}` } }
}

const modelHead = 'Content-Disposition: form-data; name="model"'
const modelPart: FormPart = { name: 'model', head: modelHead, text: '' }

/** In whatever case: of two names the upstream might read the one that nobody checked. */
const isModel = ({ name, file }: FormPart): boolean => file === undefined && name.toLowerCase() === 'model'

async function* produce(pieces: readonly (Uint8Array | FormFile)[], spool: Spool): AsyncGenerator<Uint8Array> {
  for (const piece of pieces)
    if (piece instanceof Uint8Array) yield piece
    else yield* spool.read(piece.start, piece.end)
}

/** A file's bytes in one piece. */
export const fileBytes = ({ spool }: Form, { start, end }: FormFile): Promise<Uint8Array> =>
  readWhole(spool, start, end)

/** What the text of a field stands for. `list` and `files` may come several times, also as `name[]`. */
export type FieldType = 'text' | 'number' | 'boolean' | 'list' | 'file' | 'files'
export type FieldTypes = { readonly [field: string]: FieldType }

/** A form as the JSON body that would say the same, so that one schema checks both. Files are objects without their bytes. */
export function formValue(parts: readonly FormPart[], types: FieldTypes): JsonObject {
  const body: JsonObject = Object.create(null) as JsonObject
  for (const part of parts) {
    const name = part.name.replace(/\[\d*\]$/, '')
    const known = Object.hasOwn(types, name) ? types[name] : undefined
    const value = readValue(part, known)
    const before = body[name]
    if (known === 'list' || known === 'files') body[name] = [...(Array.isArray(before) ? before : []), value]
    else if (before === undefined) body[name] = name === part.name ? value : [value]
    // Of two values, readers would pick different ones.
    else if (known !== undefined)
      throw new GatewayError('invalid_request', `Invalid '${name}': it stands in the form more than once.`, {
        param: name,
      })
    else body[name] = [...(Array.isArray(before) ? before : [before]), value]
  }
  // A prototype again: what reads bodies asks them for their own properties.
  return { ...body }
}

function readValue({ text = '', file }: FormPart, type: FieldType | undefined): Json {
  if (file !== undefined)
    return { filename: file.filename, media_type: file.mediaType ?? null, bytes: file.end - file.start }
  // What does not read as its type stays a text, for the schema to complain of.
  switch (type) {
    case 'number':
      return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text
    case 'boolean':
      return truths.has(text.toLowerCase()) ? true : falsehoods.has(text.toLowerCase()) ? false : text
    default:
      return text
  }
}

const truths: ReadonlySet<string> = new Set(['true', '1'])
const falsehoods: ReadonlySet<string> = new Set(['false', '0'])
