import { isObject } from '../base/json/object.ts'
import type { Json } from '../base/json/types.ts'

/** Text that is longer than this may be data (an image, a sealed value), not words. */
const longestWord = 2000
/** Tokens of such data: about the largest image that providers charge. */
export const dataTokens = 1600
export const charsPerToken = 4
/** Characters of what a body says beside its texts, for each of them: marks, ids. */
const charsAround = 4
/** How many characters of a text are looked at, spread over it. */
const looked = 32

/**
 * About how many tokens of input a body is, in whatever format: by the length of its texts, of which a few characters are
 * looked at. To reserve by, before a call; `estimateInput` knows better and takes a thousand times as long.
 */
export function estimateBody(body: Json): number {
  let chars = 0
  let tokens = 0
  const look = (value: Json): void => {
    if (typeof value === 'string') {
      if (value.length > longestWord && isData(value)) tokens += dataTokens
      else chars += value.length * weightOf(value) + charsAround
    } else if (typeof value === 'number') tokens++
    else if (Array.isArray(value)) for (const item of value) look(item)
    else if (isObject(value))
      for (const key in value) {
        chars += key.length
        look(value[key] as Json)
      }
  }
  look(body)
  return Math.ceil(chars / charsPerToken) + tokens
}

/** Quarters of a token that a character of this text is worth, as a few of them say: other alphabets take more. */
function weightOf(text: string): number {
  if (text.length === 0) return 0
  const step = Math.max(1, Math.floor(text.length / looked))
  let weight = 0
  let seen = 0
  for (let at = 0; at < text.length; at += step, seen++) {
    const code = text.charCodeAt(at)
    weight += code < 0x80 ? 1 : code < 0x800 ? 2 : charsPerToken
  }
  return weight / seen
}

/** Base64 from end to end, as far as its beginning, its middle and its end tell; with or without the front of a data URL. */
function isData(text: string): boolean {
  const from = text.startsWith('data:') ? text.indexOf(',') + 1 : 0
  const middle = Math.floor((from + text.length) / 2)
  return [text.slice(from, from + longestWord), text.slice(middle, middle + 500), text.slice(-500)].every(isBase64)
}

/** Also with line breaks. No text of words is: it has blanks. */
const isBase64 = (text: string): boolean => /^[A-Za-z0-9+/_=\r\n-]*$/.test(text)

/** Without a tokenizer: four ASCII characters are a token, two of the other alphabets, one of everything else. */
export function tokensByCharacters(text: string): number {
  let quarters = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    quarters += code < 0x80 ? 1 : code < 0x800 ? 2 : 4
  }
  return Math.ceil(quarters / 4)
}
