import { concatBytes } from '../../base/bytes.ts'
import { GatewayError } from '../../base/errors.ts'
import type { Json, JsonObject } from '../../base/json/json.ts'
import { readWhole, type Spool } from '../../http/spool.ts'

/** One part of an upload, unchanged. */
export interface FormPart {
  readonly name: string
  /** Header lines without the last line break. */
  readonly head: string
  /** Value of a field. */
  readonly text?: string
  readonly file?: FormFile
}
export interface FormFile {
  readonly filename: string
  readonly mediaType: string | undefined
  /** Position of its bytes in the spool. */
  readonly start: number
  readonly end: number
}

/** A complete upload: its fields in memory, its files in a spool. */
export interface Form {
  readonly parts: readonly FormPart[]
  readonly spool: Spool
  /** The parts as an equivalent JSON body; files without their bytes. */
  readonly value: JsonObject
}

/** Uploads up to this size are sent in one piece. */
const smallBytes = 1024 * 1024
const encoder = new TextEncoder()

/**
 * Encodes an upload for an upstream: all parts unchanged, except the model's name. The boundary is new and random. No client can have
 * written it into a file, so the upstream reads exactly the parts that were checked.
 */
export async function encodeForm(
  { parts, spool }: Form,
  model: string,
  boundary: string,
): Promise<{ readonly body: Uint8Array | AsyncIterable<Uint8Array>; readonly headers: Record<string, string> }> {
  const pieces: (Uint8Array | FormFile)[] = []
  let text = ''
  let size = 0
  const flushText = (): void => {
    const bytes = encoder.encode(text)
    text = ''
    size += bytes.length
    pieces.push(bytes)
  }
  const namesModel = parts.some(isModel)
  for (const part of namesModel ? parts : [modelPart, ...parts]) {
    text += `--${boundary}\r\n`
    if (part.file === undefined) {
      text += isModel(part) ? `${modelHead}\r\n\r\n${model}` : `${part.head}\r\n\r\n${part.text ?? ''}`
    } else {
      text += `${part.head}\r\n\r\n`
      flushText()
      pieces.push(part.file)
      size += part.file.end - part.file.start
    }
    text += '\r\n'
  }
  text += `--${boundary}--\r\n`
  flushText()
  const body = { [Symbol.asyncIterator]: () => readPieces(pieces, spool) }
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

/** Returns the parts of a form with another model, which it may lack. */
export const withModel = (parts: readonly FormPart[], model: string): readonly FormPart[] => [
  { ...modelPart, text: model },
  ...parts.filter((part) => !isModel(part)),
]

/** Ignores case: with two names, the upstream might read the unchecked one. */
const isModel = ({ name, file }: FormPart): boolean => file === undefined && name.toLowerCase() === 'model'

async function* readPieces(pieces: readonly (Uint8Array | FormFile)[], spool: Spool): AsyncGenerator<Uint8Array> {
  for (const piece of pieces)
    if (piece instanceof Uint8Array) yield piece
    else yield* spool.read(piece.start, piece.end)
}

/** Reads the bytes of a file in one piece. */
export const fileBytes = ({ spool }: Form, { start, end }: FormFile): Promise<Uint8Array> =>
  readWhole(spool, start, end)

/** Type of a field's text. `list` and `files` may occur several times, also as `name[]`. */
export type FieldType = 'text' | 'number' | 'boolean' | 'list' | 'file' | 'files'
export type FieldTypes = { readonly [field: string]: FieldType }

/** Returns a form as an equivalent JSON body, so that one schema checks both. Files are objects without their bytes. */
export function formValue(parts: readonly FormPart[], types: FieldTypes): JsonObject {
  const body: JsonObject = Object.create(null) as JsonObject
  for (const part of parts) {
    const name = part.name.replace(/\[\d*\]$/, '')
    const known = Object.hasOwn(types, name) ? types[name] : undefined
    const value = readValue(part, known)
    const before = body[name]
    if (known === 'list' || known === 'files') body[name] = [...(Array.isArray(before) ? before : []), value]
    else if (before === undefined) body[name] = name === part.name ? value : [value]
    // With two values, readers could choose different ones.
    else if (known !== undefined)
      throw new GatewayError('invalid_request', `Invalid '${name}': the form contains it more than once.`, {
        param: name,
      })
    else body[name] = [...(Array.isArray(before) ? before : [before]), value]
  }
  // Restores the prototype, because readers of bodies call methods of objects.
  return { ...body }
}

function readValue({ text = '', file }: FormPart, type: FieldType | undefined): Json {
  if (file !== undefined)
    return { filename: file.filename, media_type: file.mediaType ?? null, bytes: file.end - file.start }
  // A text that is not of its type stays a text, and the schema reports it.
  switch (type) {
    case 'number':
      return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text
    case 'boolean':
      return trueTexts.has(text.toLowerCase()) ? true : falseTexts.has(text.toLowerCase()) ? false : text
    default:
      return text
  }
}

const trueTexts: ReadonlySet<string> = new Set(['true', '1'])
const falseTexts: ReadonlySet<string> = new Set(['false', '0'])
