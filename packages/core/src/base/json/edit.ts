import { type JsonObject, type JsonSource, joinSource, type Member, sourcePart, stringifyExact } from './json.ts'

/**
 * Sets and drops top-level members of a JSON object. The values of all other members stay as they were written (big integers, escapes,
 * repeated keys); only white space between members is removed.
 *
 * @param members the object's top-level members, from `scanJson`
 */
export function editJson(text: string, members: readonly Member[], set: JsonObject, drop: readonly string[]): string
export function editJson(
  source: JsonSource,
  members: readonly Member[],
  set: JsonObject,
  drop: readonly string[],
): JsonSource
export function editJson(
  source: JsonSource,
  members: readonly Member[],
  set: JsonObject,
  drop: readonly string[],
): JsonSource {
  const pieces: JsonSource[] = []
  const add = (key: string, value: JsonSource): void => {
    pieces.push(`${pieces.length === 0 ? '{' : ','}${JSON.stringify(key)}:`, value)
  }
  for (const { key, start, end } of members)
    if (!Object.hasOwn(set, key) && !drop.includes(key)) add(key, sourcePart(source, start, end))
  for (const [key, value] of Object.entries(set)) add(key, stringifyExact(value))
  pieces.push(pieces.length === 0 ? '{}' : '}')
  return joinSource(source, pieces)
}

/**
 * Sets top-level members of a JSON object and leaves every other character as it is: big integers, duplicate keys, white space and
 * escapes survive. A repeated member is set each time, so that an upstream cannot read another value than the validated one.
 *
 * @param members the object's top-level members, from `scanJson`
 */
export function spliceJson(text: string, members: readonly Member[], set: JsonObject): string
export function spliceJson(source: JsonSource, members: readonly Member[], set: JsonObject): JsonSource
export function spliceJson(source: JsonSource, members: readonly Member[], set: JsonObject): JsonSource {
  const missing = new Set(Object.keys(set))
  const pieces: JsonSource[] = []
  let from = 0
  for (const member of members) {
    if (!Object.hasOwn(set, member.key)) continue
    missing.delete(member.key)
    pieces.push(sourcePart(source, from, member.start), stringifyExact(set[member.key]))
    from = member.end
  }
  if (missing.size > 0) {
    // New members are inserted after the last value, before the closing brace.
    const last = members.at(-1)
    const at = last?.end ?? (typeof source === 'string' ? source.indexOf('{') : source.indexOf(123)) + 1
    const added = [...missing].map((key) => `${JSON.stringify(key)}:${stringifyExact(set[key])}`).join(',')
    pieces.push(sourcePart(source, from, at), `${last === undefined ? '' : ','}${added}`)
    from = at
  }
  pieces.push(sourcePart(source, from))
  return joinSource(source, pieces)
}
