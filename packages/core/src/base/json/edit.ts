import { stringifyExact } from './exact-number.ts'
import type { Member } from './scan.ts'
import { joined, part, type Source } from './source.ts'
import type { JsonObject } from './types.ts'

/**
 * Sets and drops top-level members of an object. The values of all others stay as they were written (big integers,
 * escapes, repeated keys); only the space between members goes.
 *
 * @param members where they stand in the source
 */
export function editJson(text: string, members: readonly Member[], set: JsonObject, drop: readonly string[]): string
export function editJson(source: Source, members: readonly Member[], set: JsonObject, drop: readonly string[]): Source
export function editJson(source: Source, members: readonly Member[], set: JsonObject, drop: readonly string[]): Source {
  const pieces: Source[] = []
  const add = (key: string, value: Source): void => {
    pieces.push(`${pieces.length === 0 ? '{' : ','}${JSON.stringify(key)}:`, value)
  }
  for (const { key, start, end } of members)
    if (!Object.hasOwn(set, key) && !drop.includes(key)) add(key, part(source, start, end))
  for (const [key, value] of Object.entries(set)) add(key, stringifyExact(value))
  pieces.push(pieces.length === 0 ? '{}' : '}')
  return joined(source, pieces)
}
