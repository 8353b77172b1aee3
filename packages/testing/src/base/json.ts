/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | JsonObject
/** A JSON object. */
export type JsonObject = { [key: string]: Json }

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the value if it is an object, else an empty one. */
export const asObject = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})

export const asList = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : [])

export const asString = (value: Json | undefined, otherwise = ''): string =>
  typeof value === 'string' ? value : otherwise

/** Formats any value as text. `String` would call a client's own `toString`. */
export const toText = (value: Json | undefined): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '')

export const asNumber = (value: Json | undefined): number | undefined => (typeof value === 'number' ? value : undefined)

export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** Returns the number of bytes in base64 text. */
export function base64Bytes(data: string): number {
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0
  return Math.max(0, Math.floor((data.length * 3) / 4) - padding)
}
