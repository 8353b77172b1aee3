import { isObject, type Json, type JsonObject, stringifyExact } from '../../base/json/json.ts'
import { hasExactNumbers, parseExact } from '../../base/json/parse.ts'
import type { SseEvent } from '../../http/sse/sse.ts'

/** Returns the object in an event of a chat stream; undefined for a comment and for `[DONE]`. */
export function chunkOf({ event, data }: SseEvent): JsonObject | undefined {
  if (event === ':' || !data.trimStart().startsWith('{')) return undefined
  const chunk = (hasExactNumbers(data) ? parseExact(data) : JSON.parse(data)) as Json
  return isObject(chunk) ? chunk : undefined
}

export const eventOf = (chunk: JsonObject): SseEvent => ({ data: stringifyExact(chunk) })

/** Returns the objects of a list. */
export const objectsIn = (list: Json | undefined): readonly JsonObject[] =>
  Array.isArray(list) ? list.filter(isObject) : []

/** Returns an object without its null members, except some. */
export function withoutNulls(object: JsonObject, ...kept: readonly string[]): JsonObject {
  const out: JsonObject = {}
  for (const [key, value] of Object.entries(object)) if (value !== null || kept.includes(key)) out[key] = value
  return out
}

/** Asks for the usage of a stream, which these clients always expect. */
export function withUsage(body: JsonObject): JsonObject {
  if (body.stream !== true) return {}
  const options = isObject(body.stream_options) ? body.stream_options : {}
  return options.include_usage === true ? {} : { stream_options: { ...options, include_usage: true } }
}
