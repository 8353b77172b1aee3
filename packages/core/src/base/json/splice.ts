import { stringifyExact } from './exact-number.ts'
import type { Member } from './scan.ts'
import { joined, part, type Source } from './source.ts'
import type { JsonObject } from './types.ts'

/**
 * Sets top-level members of an object and leaves every other character as it is: big integers, duplicate keys,
 * spacing and escapes survive. A member that stands several times is set each time, so that no reader downstream can
 * pick another value than the one validated.
 *
 * @param members where they stand in the source
 */
export function spliceJson(text: string, members: readonly Member[], set: JsonObject): string
export function spliceJson(source: Source, members: readonly Member[], set: JsonObject): Source
export function spliceJson(source: Source, members: readonly Member[], set: JsonObject): Source {
  const missing = new Set(Object.keys(set))
  const pieces: Source[] = []
  let from = 0
  for (const member of members) {
    if (!Object.hasOwn(set, member.key)) continue
    missing.delete(member.key)
    pieces.push(part(source, from, member.start), stringifyExact(set[member.key]))
    from = member.end
  }
  if (missing.size > 0) {
    // A new member goes in front of the closing brace, after the last value.
    const last = members.at(-1)
    const at = last?.end ?? (typeof source === 'string' ? source.indexOf('{') : source.indexOf(123)) + 1
    const added = [...missing].map((key) => `${JSON.stringify(key)}:${stringifyExact(set[key])}`).join(',')
    pieces.push(part(source, from, at), `${last === undefined ? '' : ','}${added}`)
    from = at
  }
  pieces.push(part(source, from))
  return joined(source, pieces)
}
