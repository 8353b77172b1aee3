import { tokensByCharacters } from './estimate-tokenizer.ts'
import type { Says } from './formats/codec.ts'
import type { Json } from './formats/ir.ts'
import { isObject } from './formats/shared/reader.ts'

/** What an answer has said so far, for answers that end before anybody has counted them. */
export interface Said {
  /** Sees the data of one event. */
  add(data: string): void
  /** About how many tokens the events seen so far say. */
  tokens(): number
}

/** A power of two. */
const kept = 8

/**
 * Reading every event of every stream would cost more than passing it on, and only a stream that breaks off is asked: of the
 * last few events that say something the mean is taken to hold for all.
 */
export function createSaid(says: Says | undefined): Said {
  if (says === undefined) return silent
  const { event: keys, mark } = says
  const last: string[] = []
  let count = 0
  let chars = 0
  return {
    add(data) {
      // Events that repeat the whole answer would be taken for its average.
      if (mark !== undefined && !data.includes(mark)) return
      last[count++ & (kept - 1)] = data
      chars += data.length
    },
    tokens() {
      if (count === 0) return 0
      let tokens = 0
      for (const data of last) tokens += wordsIn(data, keys)
      // Whatever the sample says: no token is shorter than a character.
      return Math.min(chars, Math.round((tokens * count) / last.length))
    },
  }
}

const silent: Said = { add() {}, tokens: () => 0 }

function wordsIn(data: string, keys: readonly string[]): number {
  try {
    return saidIn(JSON.parse(data) as Json, keys)
  } catch {
    return 0
  }
}

/** About how many tokens an answer or an event says: its texts under these keys, however deep. Without a call's frame. */
export function saidIn(value: Json, keys: readonly string[]): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + saidIn(item, keys), 0)
  if (!isObject(value)) return 0
  let sum = 0
  for (const [key, inner] of Object.entries(value))
    if (!keys.includes(key)) sum += saidIn(inner, keys)
    else if (typeof inner === 'string') sum += tokensByCharacters(inner)
    else if (Array.isArray(inner)) sum += saidIn(inner, keys)
    else if (isObject(inner)) sum += saidIn(inner, keys) || tokensByCharacters(JSON.stringify(inner))
  return sum
}
