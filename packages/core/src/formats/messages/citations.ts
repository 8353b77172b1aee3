import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { CodecContext } from '../codec.ts'
import type { Citation, Nothing } from '../ir.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { readSeal, writeSeal } from '../shared/seals.ts'

/** Where each kind of citation names its source. What else it says stays verbatim in `extra`. */
const places: Readonly<Record<string, { url?: string; title: string }>> = {
  web_search_result_location: { url: 'url', title: 'title' },
  search_result_location: { url: 'source', title: 'title' },
}
const placesOf = (type: Json | undefined): { url?: string; title: string } =>
  (typeof type === 'string' && Object.hasOwn(places, type) ? places[type] : undefined) ?? { title: 'document_title' }

export function decodeCitation(source: JsonObject): Citation {
  const { cited_text: text, ...rest } = source
  const { url, title } = placesOf(rest.type)
  const citation: Citation = {}
  if (typeof text === 'string') citation.text = text
  for (const [key, field] of [
    ['url', url],
    ['title', title],
  ] as const) {
    if (field === undefined) continue
    const value = rest[field]
    if (typeof value !== 'string') continue
    citation[key] = value
    delete rest[field]
  }
  citation.extra = { messages: rest }
  return citation
}

/** Reads a list of citations; undefined leaves it to the caller to keep the field as it is. */
export function decodeCitations(value: Json | undefined): Citation[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isObject)) return undefined
  return value.map(decodeCitation)
}

/**
 * A citation as messages writes it. Those of other formats name an address, which here is a web search result; its
 * `encrypted_index` then holds a foreign seal, so that it is recognised, and left out, when the client sends it back.
 * Undefined (and reported): there is no form for it.
 */
export function encodeCitation(citation: Citation, at: string, context: CodecContext): JsonObject | undefined {
  const { url, title, text, start, end, extra, ...rest } = citation
  rest satisfies Nothing
  const own = ownExtra(extra, 'messages', at, context.report)
  if (own !== undefined) {
    const out: JsonObject = { ...own }
    const place = placesOf(own.type)
    put(out, 'cited_text', text)
    if (place.url !== undefined) put(out, place.url, url)
    put(out, place.title, title)
    return out
  }
  if (url === undefined) {
    context.report.add(loss(at, `a citation without an address has no form in messages: ${title ?? text ?? ''}`))
    return undefined
  }
  if (start !== undefined || end !== undefined)
    context.report.add(loss(at, 'messages cites whole text blocks: the range is not kept', 'approximated', 'note'))
  return {
    type: 'web_search_result_location',
    url,
    title: title ?? null,
    cited_text: text ?? '',
    encrypted_index: writeSeal({ issuer: 'chat', data: '' }, 'messages'),
  }
}

/** Whether an upstream of this format wrote the citation: only then can it be sent back to one. */
export function isOwnCitation(citation: Citation): boolean {
  const own = citation.extra?.messages
  if (own === undefined) return false
  const index = own.encrypted_index
  return typeof index !== 'string' || readSeal(index, 'messages').issuer === 'messages'
}
