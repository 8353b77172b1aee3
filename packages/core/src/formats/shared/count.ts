import type { Json, JsonObject } from '../../base/json/types.ts'

/** The named fields of a body, those that are there. */
export function pick(body: JsonObject, keys: readonly string[]): JsonObject {
  const out: JsonObject = {}
  for (const key of keys) {
    const value = body[key]
    if (value !== undefined) out[key] = value
  }
  return out
}

/** A number of tokens as upstreams write it. */
export const tokensIn = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
