import { isObject, type Json } from '../base/json/json.ts'

/** Longer texts may be data (an image, a sealed value), not words. */
const longestWord = 2000
/** Tokens of a data value: about the largest image that providers charge. */
export const dataTokens = 1600
/** Characters per token in English text. */
export const charsPerToken = 4
/** Characters added per text for the structure around it: delimiters, ids. */
const charsAround = 4
/** Number of sampled characters per text. */
const sampledChars = 32

/**
 * Estimates the input tokens of a request body in any format, from the length of its texts and a sample of their characters. Used for
 * reservations before a call; `estimateTokens` is more accurate and takes a thousand times as long.
 */
export function estimateBody(body: Json): number {
  let chars = 0
  let tokens = 0
  const add = (value: Json): void => {
    if (typeof value === 'string') {
      if (value.length > longestWord && isData(value)) tokens += dataTokens
      else chars += value.length * weightOf(value) + charsAround
    } else if (typeof value === 'number') tokens++
    else if (Array.isArray(value)) for (const item of value) add(item)
    else if (isObject(value))
      for (const key in value) {
        chars += key.length
        add(value[key] as Json)
      }
  }
  add(body)
  return Math.ceil(chars / charsPerToken) + tokens
}

/** Returns the average weight of a text's characters in quarters of a token, from a sample: other alphabets take more tokens. */
function weightOf(text: string): number {
  if (text.length === 0) return 0
  const step = Math.max(1, Math.floor(text.length / sampledChars))
  let weight = 0
  let seen = 0
  for (let at = 0; at < text.length; at += step, seen++) {
    const code = text.charCodeAt(at)
    weight += code < 0x80 ? 1 : code < 0x800 ? 2 : charsPerToken
  }
  return weight / seen
}

/** Returns whether a text is base64, judged by its beginning, middle and end. It may have the prefix of a data URL. */
function isData(text: string): boolean {
  const from = text.startsWith('data:') ? text.indexOf(',') + 1 : 0
  const middle = Math.floor((from + text.length) / 2)
  return [text.slice(from, from + longestWord), text.slice(middle, middle + 500), text.slice(-500)].every(isBase64)
}

/** Returns whether a text is base64, possibly with line breaks. Text of words contains blanks. */
const isBase64 = (text: string): boolean => /^[A-Za-z0-9+/_=\r\n-]*$/.test(text)

/** Estimates tokens without a tokenizer: four ASCII characters per token, two of other alphabets, one of all other characters. */
export function tokensByCharacters(text: string): number {
  let quarters = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    quarters += code < 0x80 ? 1 : code < 0x800 ? 2 : 4
  }
  return Math.ceil(quarters / 4)
}

/** Estimates the tokens of a response or an event: the texts under the given keys, at any depth, without structure. */
export function estimateOutputTokens(value: Json, keys: readonly string[]): number {
  // Most values of a response are scalars.
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + estimateOutputTokens(item, keys), 0)
  let sum = 0
  // `Object.entries` would allocate more than everything else of the stream.
  for (const key of Object.keys(value)) {
    const inner = value[key] as Json
    if (!keys.includes(key)) sum += estimateOutputTokens(inner, keys)
    else if (typeof inner === 'string') sum += tokensByCharacters(inner)
    else if (Array.isArray(inner)) sum += estimateOutputTokens(inner, keys)
    else if (isObject(inner)) sum += estimateOutputTokens(inner, keys) || tokensByCharacters(JSON.stringify(inner))
  }
  return sum
}
