import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { CodecContext } from '../codec.ts'
import type { Citation } from '../ir.ts'
import { drop, leftover, takeNumber, takeString, unread } from '../shared/reader.ts'
import { loss, ownExtra } from '../shared/report.ts'
import type { Nothing } from '../shared/strict.ts'

/** Annotations of an answer's text. Those of other kinds than a web address keep what only this format knows. */
export const decodeAnnotations = (annotations: readonly Json[] | undefined): Citation[] =>
  (annotations ?? []).filter(isObject).map(decodeAnnotation)

export function decodeAnnotation(annotation: JsonObject): Citation {
  const fields = unread(annotation)
  const citation: Citation = {}
  if (fields.type === 'url_citation') {
    drop(fields, 'type')
    put(citation, 'url', takeString(fields, 'url'))
    put(citation, 'title', takeString(fields, 'title'))
  } else put(citation, 'title', takeString(fields, 'filename'))
  put(citation, 'start', takeNumber(fields, 'start_index'))
  put(citation, 'end', takeNumber(fields, 'end_index'))
  const rest = leftover(fields)
  if (rest !== undefined) citation.extra = { responses: rest }
  return citation
}

/** Undefined (and reported): there is no form for it. `length`: of the text it supports. */
export function encodeCitation(
  citation: Citation,
  length: number,
  at: string,
  context: CodecContext,
): JsonObject | undefined {
  const { url, title, text, start, end, extra, ...rest } = citation
  rest satisfies Nothing
  const own = ownExtra(extra, 'responses', at, context.report)
  if (own?.type !== undefined) {
    const out: JsonObject = { ...own }
    put(out, 'filename', title)
    put(out, 'start_index', start)
    put(out, 'end_index', end)
    return out
  }
  if (url === undefined) {
    context.report.add(loss(at, `a citation without an address has no form in responses: ${title ?? text ?? ''}`))
    return undefined
  }
  if (text !== undefined)
    context.report.add(loss(at, 'responses does not repeat the cited text', 'approximated', 'note'))
  return { ...own, type: 'url_citation', url, title: title ?? url, start_index: start ?? 0, end_index: end ?? length }
}
