import { GatewayError } from '../../base/errors.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { FormPart } from './form.ts'

/** What the text of a field stands for. `list` and `files` may come several times, also as `name[]`. */
export type FieldType = 'text' | 'number' | 'boolean' | 'list' | 'file' | 'files'
export type FieldTypes = { readonly [field: string]: FieldType }

/** A form as the JSON body that would say the same, so that one schema checks both. Files are objects without their bytes. */
export function fieldsOf(parts: readonly FormPart[], types: FieldTypes): JsonObject {
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
