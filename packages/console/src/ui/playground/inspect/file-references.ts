import type { Json, JsonObject } from '../formats/format.ts'
import { objectOf, textOf } from '../formats/read.ts'

/** A file whose content a request contains as base64. The code reads the file instead. */
export interface FileReference {
  readonly name: string
  /** Text before the base64, such as the start of a data URL. */
  readonly prefix: string
}

export interface ReferencedBody {
  /** The body, with a placeholder in place of each long base64 string. */
  readonly body: JsonObject
  readonly files: ReadonlyMap<string, FileReference>
}

/** Below this length in characters, base64 is written into the code. */
const shortest = 1_000

const base64 = /^(data:([^;,]*);base64,)?([A-Za-z0-9+/]+={0,2})$/

/** Replaces the base64 of attachments by placeholders. */
export function referenceFiles(body: JsonObject): ReferencedBody {
  const files = new Map<string, FileReference>()
  const replace = (value: Json, beside: JsonObject): Json => {
    if (Array.isArray(value)) return value.map((item) => replace(item, beside))
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(
        Object.entries(value).map(([name, item]) => [name, replace(item, { ...beside, ...value })]),
      )
    if (typeof value !== 'string' || value.length < shortest) return value
    const found = base64.exec(value)
    if (found === null) return value
    const placeholder = `\0file${files.size}`
    const prefix = found[1] ?? ''
    files.set(placeholder, { name: nameOf(beside, found[2], files.size + 1), prefix })
    return placeholder
  }
  return { body: objectOf(replace(body, {})), files }
}

/** Returns the attachment's own name, or one by its type. Without folders, and without characters that a shell could interpret. */
function nameOf(beside: JsonObject, ofUrl: string | undefined, count: number): string {
  const own = textOf(beside.filename) || textOf(beside.title)
  if (own !== '') return own.replaceAll(/[^\p{L}\p{N}._ -]/gu, '_').replace(/^[.-]+/, '_')
  const type = ofUrl || textOf(beside.media_type) || textOf(beside.mimeType) || textOf(beside.format)
  const ending = type.slice(type.lastIndexOf('/') + 1).replaceAll(/\W/g, '') || 'bin'
  return `attachment-${count}.${ending === 'mpeg' ? 'mp3' : ending}`
}
