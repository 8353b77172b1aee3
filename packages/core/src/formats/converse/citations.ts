import { isObject, type Json, type JsonObject, put } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type { Citation, Nothing } from '../ir.ts'
import { leftover } from '../shared/json-fields.ts'
import { loss, ownExtra } from '../shared/report.ts'

/** Decodes one source. The location within it stays in Bedrock's form. */
export function decodeCitation(source: JsonObject): Citation {
  const { title, source: origin, sourceContent, location, ...rest } = source
  const citation: Citation = {}
  const web = isObject(location) && isObject(location.web) ? location.web : undefined
  const url = typeof web?.url === 'string' ? web.url : origin
  if (typeof url === 'string' && /^https?:/i.test(url)) citation.url = url
  if (typeof title === 'string') citation.title = title
  if (Array.isArray(sourceContent) && sourceContent.length > 0) citation.text = textsIn(sourceContent)
  const extraFields: JsonObject = { ...rest }
  const place = web === undefined || web.url === undefined ? location : webFieldsBesideUrl(location, web)
  if (place !== undefined) extraFields.location = place
  if (origin !== undefined && origin !== citation.url) extraFields.source = origin
  const nonText = Array.isArray(sourceContent) ? sourceContent.filter((item) => !isText(item)) : []
  if (nonText.length > 0) extraFields.sourceContent = nonText
  if (Object.keys(extraFields).length > 0) citation.extra = { converse: extraFields }
  return citation
}

/** Returns the fields of a web location besides its URL. The domain is a part of the URL. */
function webFieldsBesideUrl(location: Json | undefined, web: JsonObject): JsonObject | undefined {
  const { web: _, ...rest } = isObject(location) ? location : {}
  const { url: _url, domain: _domain, ...otherFields } = web
  return leftover(Object.keys(otherFields).length === 0 ? rest : { ...rest, web: otherFields })
}

/** Returns the texts of a list of text blocks, joined. */
export const textsIn = (list: readonly Json[]): string =>
  list.map((item) => (isObject(item) && typeof item.text === 'string' ? item.text : '')).join('')

/** Returns whether an item is a text block and nothing else. */
export const isText = (item: Json): boolean =>
  isObject(item) && typeof item.text === 'string' && Object.keys(item).length === 1

/**
 * Encodes a citation for a client, or for Bedrock if Bedrock wrote it. The range within the response has no field. Reports a citation of
 * which nothing is left and returns undefined.
 */
export function encodeCitation(citation: Citation, at: string, { report }: CodecContext): JsonObject | undefined {
  const { url, title, text, start, end, extra, ...rest } = citation
  rest satisfies Nothing
  const { location, sourceContent, ...fields } = ownExtra(extra, 'converse', at, report) ?? {}
  if (start !== undefined || end !== undefined)
    report.add(loss(at, 'Converse cites whole text blocks: the range is not kept', 'approximated', 'note'))
  const out: JsonObject = {}
  put(out, 'title', title)
  const place = url === undefined ? location : withWebUrl(location, url)
  Object.assign(out, fields)
  const others = Array.isArray(sourceContent) ? sourceContent : []
  if (text !== undefined || others.length > 0)
    out.sourceContent = [...(text === undefined ? [] : [{ text }]), ...others]
  put(out, 'location', place)
  if (Object.keys(out).length > 0 || extra?.converse !== undefined) return out
  report.add(loss(at, 'a citation without a source has no counterpart in Converse'))
  return undefined
}

function withWebUrl(location: Json | undefined, url: string): JsonObject {
  const place = isObject(location) ? location : {}
  const web: JsonObject = { ...(isObject(place.web) ? place.web : {}), url }
  const domain = domainOf(url)
  if (domain !== undefined) web.domain = domain
  return { ...place, web }
}

function domainOf(url: string): string | undefined {
  try {
    return new URL(url).hostname || undefined
  } catch {
    return undefined
  }
}
