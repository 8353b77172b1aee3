import type { Json, JsonObject } from './json.ts'

/** Limits in characters of one string of data and of prose. */
const longestData = 120
const longestText = 4_000

const isData = (text: string): boolean => /^(?:data:[^,\s]*,)?[A-Za-z0-9+/=_-]{120}/.test(text)

/** Returns the value with long strings cut: base64 after a few characters, prose after many. For display only. */
export function shorten(value: Json): Json {
  if (typeof value === 'string') {
    const longest = isData(value) ? longestData / 2 : longestText
    return value.length <= longest * 2 ? value : `${value.slice(0, longest)}… (${count(value.length - longest)} more)`
  }
  if (Array.isArray(value)) return value.map(shorten)
  if (value === null || typeof value !== 'object') return value
  return shortenObject(value)
}

/** `Object.entries` and back keep a field named `__proto__` a field. */
export const shortenObject = (value: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shorten(item)]))

const count = (characters: number): string => `${characters.toLocaleString('en')} characters`

/** Returns the first lines of a text; `cut` is the number of omitted lines. */
export function firstLines(text: string, most: number): { readonly text: string; readonly cut: number } {
  let end = 0
  for (let lines = 0; lines < most; lines++) {
    const next = text.indexOf('\n', end)
    if (next === -1) return { text, cut: 0 }
    end = next + 1
  }
  return { text: text.slice(0, end), cut: text.slice(end).split('\n').length }
}
