import { isObject, type Json, type JsonObject, put } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type { Citation, Nothing } from '../ir.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { readSeal, writeSeal } from '../shared/seals.ts'

/** The fields in which each kind of citation names its source. Its other fields stay verbatim in `extra`. */
const sourceFields: Readonly<Record<string, { url?: string; title: string }>> = {
  web_search_result_location: { url: 'url', title: 'title' },
  search_result_location: { url: 'source', title: 'title' },
}
const sourceFieldsOf = (type: Json | undefined): { url?: string; title: string } =>
  (typeof type === 'string' && Object.hasOwn(sourceFields, type) ? sourceFields[type] : undefined) ?? {
    title: 'document_title',
  }

/** Decodes a citation. Unknown fields stay in `extra`. */
export function decodeCitation(source: JsonObject): Citation {
  const { cited_text: text, ...rest } = source
  const { url, title } = sourceFieldsOf(rest.type)
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

/** Decodes a list of citations. Returns undefined for any other value; the caller keeps the field as it is. */
export function decodeCitations(value: Json | undefined): Citation[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isObject)) return undefined
  return value.map(decodeCitation)
}

/**
 * Encodes a citation, or reports it and returns undefined if messages has no form for it.
 * A citation of another format names a URL and becomes a web search result. Its `encrypted_index` holds a foreign seal: by that seal
 * the gateway recognises and drops the citation when the client sends it back.
 */
export function encodeCitation(citation: Citation, at: string, context: CodecContext): JsonObject | undefined {
  const { url, title, text, start, end, extra, ...rest } = citation
  rest satisfies Nothing
  const extraFields = ownExtra(extra, 'messages', at, context.report)
  if (extraFields !== undefined) {
    const out: JsonObject = { ...extraFields }
    const place = sourceFieldsOf(extraFields.type)
    put(out, 'cited_text', text)
    if (place.url !== undefined) put(out, place.url, url)
    put(out, place.title, title)
    return out
  }
  if (url === undefined) {
    context.report.add(loss(at, `a citation without a URL has no counterpart in messages: ${title ?? text ?? ''}`))
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

/** Returns whether an upstream of this format wrote the citation. Others cannot be sent back to Anthropic. */
export function isOwnCitation(citation: Citation): boolean {
  const extraFields = citation.extra?.messages
  if (extraFields === undefined) return false
  const index = extraFields.encrypted_index
  return typeof index !== 'string' || readSeal(index, 'messages').issuer === 'messages'
}
