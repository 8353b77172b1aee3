import type { Json } from './formats/ir.ts'
import { isObject } from './formats/shared/reader.ts'

/** Text without a blank that is longer than this is data (an image, a sealed value) and not read as words. */
const longestWord = 2000
/** Tokens of such data: about the largest image that providers charge. */
const dataTokens = 1600
const charsPerToken = 4
/** Characters of what a body says beside its texts, for each of them: names of fields, marks, ids. */
const charsAround = 4

/**
 * About how many tokens of input a body is, in whatever format: by the length of its texts, none of which is looked into. To
 * reserve by, before a call; `estimateInput` knows better and takes a thousand times as long.
 */
export function estimateBody(body: Json): number {
  let chars = 0
  let data = 0
  const look = (value: Json): void => {
    if (typeof value === 'string') {
      if (value.length > longestWord && !/\s/.test(value.slice(0, longestWord))) data++
      else chars += value.length + charsAround
    } else if (Array.isArray(value)) for (const item of value) look(item)
    else if (isObject(value)) for (const key in value) look(value[key] as Json)
  }
  look(body)
  return Math.ceil(chars / charsPerToken) + data * dataTokens
}
