import { createHash } from 'node:crypto'
import { createLru } from '../../base/lru.ts'
import { type Home, type Meter, ownerIn } from '../../contract/meter-store.ts'

/**
 * Names of the keys of accounts. In a cluster, one script can only change keys with the same hash tag: the braces in their name. All counters
 * and calls of an owner and of its tokens have the tag of the owner. Those of a token without owner have the token's id as their tag.
 * Sums of a token always have its id as their tag, because they remain with the token if its owner changes.
 */
export interface MeterKeys {
  ofCall(tokenId: string, home: Home | undefined, callId: string): string
  ofMeter(tokenId: string, home: Home | undefined, meter: Meter): string
  /** Key of the counts that a meter has received from other places. */
  ofMoved(tokenId: string, home: Home | undefined, meter: Meter): string
  ofSums(account: string, day: string): string
  /** Key of the mark of a call whose sums are added under the tag of the token. */
  ofSummedCall(tokenId: string, callId: string): string
}

/** Number of owners whose tags are kept. */
const maxTags = 10_000

/** @param keyOf returns a key with the hash tag `tag` */
export function createMeterKeys(keyOf: (tag: string, what: string) => string): MeterKeys {
  const tags = createLru<string>(maxTags)
  /** A digest, because an owner may be any text, also one with braces. */
  const tagOf = (owner: string): string => {
    let tag = tags.get(owner)
    if (tag === undefined) {
      tag = `owner_${createHash('sha256').update(owner).digest('base64url').slice(0, 22)}`
      tags.set(owner, tag)
    }
    return tag
  }
  const ofAccount = (account: string, home: Home | undefined, what: string): string => {
    const self = ownerIn(account)
    if (self !== undefined) return keyOf(tagOf(self), what)
    return home === undefined || home.owner === null
      ? keyOf(account, what)
      : keyOf(tagOf(home.owner), `${account}:${what}`)
  }
  return {
    ofCall: (tokenId, home, callId) => ofAccount(tokenId, home, `call:${callId}`),
    ofMeter: (tokenId, home, { account, kind, name }) =>
      account === undefined
        ? ofAccount(tokenId, home, `${kind}:${name}`)
        : ofAccount(account, undefined, `${kind}:${name}`),
    ofMoved: (tokenId, home, { kind, name }) => ofAccount(tokenId, home, `moved:${kind}:${name}`),
    ofSums: (account, day) => ofAccount(account, undefined, `sums:${day}`),
    ofSummedCall: (tokenId, callId) => keyOf(tokenId, `summed:${callId}`),
  }
}
