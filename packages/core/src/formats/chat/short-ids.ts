import { isObject } from '../../base/json/object.ts'
import type { Json } from '../../base/json/types.ts'

/** Ids of calls in nine letters and digits. */
export interface ShortIds {
  of(id: string): string
}

const short = /^[a-zA-Z0-9]{9}$/
const digits = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'
const length = 9

/**
 * Ids that fit stay. Others become a hash of themselves, so that a call has the same id in every turn and prompt caches
 * hit; never that of another call of the conversation.
 */
export function createShortIds(messages: readonly Json[]): ShortIds {
  const taken = new Set<string>()
  for (const message of messages)
    if (isObject(message))
      for (const call of Array.isArray(message.tool_calls) ? message.tool_calls : [])
        if (isObject(call) && typeof call.id === 'string' && short.test(call.id)) taken.add(call.id)
  const made = new Map<string, string>()
  return {
    of(id) {
      if (short.test(id)) return id
      let own = made.get(id)
      for (let salt = 0; own === undefined || (!made.has(id) && taken.has(own)); salt++) own = hashed(id, salt)
      made.set(id, own)
      taken.add(own)
      return own
    },
  }
}

/** FNV-1a in two halves: enough to tell the calls of a conversation apart. */
function hashed(text: string, salt: number): string {
  let low = 0x811c9dc5 ^ salt
  let high = 0x1000193 ^ salt
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    low = Math.imul(low ^ code, 0x01000193)
    high = Math.imul(high ^ code ^ (low >>> 15), 0x85ebca6b)
  }
  let number = (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0)
  let out = ''
  for (let i = 0; i < length; i++) {
    out += digits[Number(number % 62n)]
    number /= 62n
  }
  return out
}
