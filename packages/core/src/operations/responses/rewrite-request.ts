import { editJson, spliceJson } from '../../base/json/edit.ts'
import { type JsonObject, scanJson } from '../../base/json/json.ts'
import type { RequestBody } from '../../formats/request-body.ts'

/** Returns a request with other top-level members, and without those in `drop`. All others stay as they were written. */
export function rewriteRequest(
  { text, members, value }: RequestBody,
  set: JsonObject,
  drop: readonly string[] = [],
): RequestBody {
  const spliced = drop.length === 0 ? spliceJson(text, members, set) : editJson(text, members, set, drop)
  const body = { ...value, ...set }
  for (const member of drop) delete body[member]
  return {
    bytes: new TextEncoder().encode(spliced),
    text: spliced,
    members: scanJson(spliced, Number.POSITIVE_INFINITY).members,
    value: body,
    fields: body,
  }
}
