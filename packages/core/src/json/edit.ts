import type { JsonObject } from '../formats/ir.ts'
import type { Member } from './scan.ts'

/**
 * Sets and drops top-level members of an object's text. The values of all others stay as they were written (big integers,
 * escapes, repeated keys); only the space between members goes.
 */
export function editJson(text: string, members: readonly Member[], set: JsonObject, drop: readonly string[]): string {
  const kept = members
    .filter(({ key }) => !Object.hasOwn(set, key) && !drop.includes(key))
    .map(({ key, start, end }) => `${JSON.stringify(key)}:${text.slice(start, end)}`)
  const added = Object.entries(set).map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)
  return `{${[...kept, ...added].join(',')}}`
}
