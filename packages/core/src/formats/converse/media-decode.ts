import { isObject, type Json, type JsonObject, put } from '../../base/json/json.ts'
import type { MediaPart, ModelRequest, Source } from '../ir.ts'
import { drop, leftover, putBack, takeString, type Unread, unread } from '../shared/json-fields.ts'
import { isText } from './citations.ts'
import { formatOf, mediaTypeOf } from './media-formats.ts'

const kinds = ['image', 'audio', 'video', 'document'] as const satisfies readonly MediaPart['kind'][]

export const isMediaKind = (kind: string): kind is MediaPart['kind'] => kinds.some((known) => known === kind)

/** Where a block comes from and goes to. */
export interface BlockOrigin {
  /** The client's request, for the block of an upstream's response. Default: the block is a client's. */
  readonly request?: ModelRequest | undefined
  /** True if only an upstream of this format reads the block. */
  readonly isVerbatim?: boolean
}

/** Decodes a media block. Returns undefined for a shape without a meaning in other formats. */
export function decodeMedia(
  kind: MediaPart['kind'],
  value: JsonObject,
  { request, isVerbatim = false }: BlockOrigin,
): MediaPart | undefined {
  const fields = unread(value)
  const sourceFields = unread(isObject(fields.source) ? fields.source : {})
  const source = decodeSource(sourceFields)
  // Only bytes of a response are media: other clients cannot read what it refers to.
  if (source === undefined || (request !== undefined && source.type !== 'base64')) return undefined
  const part: MediaPart = { type: 'media', kind, source }
  const restOfSource = leftover(sourceFields)
  if (restOfSource === undefined) drop(fields, 'source')
  else putBack(fields, 'source', restOfSource)
  const mediaType = typeof fields.format === 'string' ? mediaTypeOf(kind, fields.format) : undefined
  // A media type has several names.
  if (mediaType !== undefined && !(isVerbatim && formatOf(kind, mediaType) !== fields.format)) drop(fields, 'format')
  put(part, 'mediaType', mediaType)
  if (kind === 'document') put(part, 'name', takeString(fields, 'name'))
  const rest = leftover(fields)
  if (rest !== undefined) part.extra = { converse: { [kind]: rest } }
  return part
}

/** Decodes a source, and removes what it reads from the fields. Undefined unless exactly one kind of source is known. */
function decodeSource(fields: Unread): Source | undefined {
  const known = sourceKinds.filter((kind) => fields[kind] !== undefined)
  if (known.length !== 1) return undefined
  const data = takeString(fields, 'bytes')
  if (data !== undefined) return { type: 'base64', data }
  const text = takeString(fields, 'text')
  if (text !== undefined) return { type: 'text', text }
  if (isObject(fields.s3Location)) {
    const inner = unread(fields.s3Location)
    const url = takeString(inner, 'uri')
    if (url === undefined) return undefined
    const rest = leftover(inner)
    if (rest === undefined) drop(fields, 's3Location')
    else putBack(fields, 's3Location', rest)
    return { type: 'url', url }
  }
  // The pieces stay in the fields: only this format can send them one by one.
  const pieces = textsOf(fields.content)
  return pieces === undefined ? undefined : { type: 'text', text: pieces }
}

const sourceKinds = ['bytes', 'text', 's3Location', 'content'] as const

/** Decodes a search result that the client sent. Its text has a meaning in every format. */
export function decodeSearchResult(value: JsonObject): MediaPart | undefined {
  const text = textsOf(value.content)
  if (text === undefined) return undefined
  const fields = unread(value)
  const part: MediaPart = { type: 'media', kind: 'document', source: { type: 'text', text }, mediaType: 'text/plain' }
  put(part, 'name', takeString(fields, 'title'))
  if (Array.isArray(value.content) && value.content.length === 1) drop(fields, 'content')
  part.extra = { converse: { searchResult: leftover(fields) ?? {} } }
  return part
}

/** Returns the text of a list of text blocks; undefined for any other value. */
function textsOf(content: Json | undefined): string | undefined {
  if (!Array.isArray(content) || content.length === 0 || !content.every(isText)) return undefined
  return content.map((item) => (item as { readonly text: string }).text).join('\n\n')
}
