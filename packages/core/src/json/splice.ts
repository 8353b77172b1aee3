import type { JsonObject } from '../formats/ir.ts'
import type { Member } from './scan.ts'

/**
 * Sets top-level members of an object's text and leaves every other character as it is: big integers, duplicate keys,
 * spacing and escapes survive. A member that stands several times is set each time, so that no reader downstream can
 * pick another value than the one validated.
 */
export function spliceJson(text: string, members: readonly Member[], set: JsonObject): string {
  const missing = new Set(Object.keys(set))
  let out = ''
  let from = 0
  for (const member of members) {
    if (!Object.hasOwn(set, member.key)) continue
    missing.delete(member.key)
    out += text.slice(from, member.start) + JSON.stringify(set[member.key])
    from = member.end
  }
  if (missing.size > 0) {
    // A new member goes in front of the closing brace, after the last value.
    const last = members.at(-1)
    const at = last === undefined ? text.indexOf('{') + 1 : last.end
    const added = [...missing].map((key) => `${JSON.stringify(key)}:${JSON.stringify(set[key])}`).join(',')
    return `${out}${text.slice(from, at)}${last === undefined ? '' : ','}${added}${text.slice(at)}`
  }
  return out + text.slice(from)
}
