import type { TokenStore } from '../../contract/storage.ts'
import type { TokenRecord } from '../../contract/token.ts'
import { type Command, evaluate, script, toTexts } from './client.ts'
import type { WorkOptions } from './guard.ts'

/*
 * The record of a token is the only truth. Beside it, under names of their own (in a cluster: elsewhere), are an index from each digest to
 * the id, and lists of ids. They are written before the record, taken back after it, and checked against it when read: whatever is
 * interrupted in between, a digest that the record does not hold is not found.
 */

/** KEYS: record. ARGV: version that it must have, the new record. Gives 1, 0 if it has another version, -1 if there is none. */
const replace = script(`
local kept = redis.call('GET', KEYS[1])
if not kept then return -1 end
if cjson.decode(kept).version ~= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1`)

/** KEYS: an index. ARGV: what it must be, what it becomes; nothing: it goes. Gives 1 if it was so. */
const swap = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2]) end
return 1`)

/** KEYS: a list. ARGV: id after which to begin (or nothing), how many. */
const page = script(`
local first = 0
if ARGV[1] ~= '' then
  local rank = redis.call('ZRANK', KEYS[1], ARGV[1])
  if not rank then return false end
  first = rank + 1
end
return redis.call('ZRANGE', KEYS[1], first, first + ARGV[2] - 1)`)

/** A change whose answer was lost may have been made: done a second time it would find itself. */
const changing: WorkOptions = { limit: 'command', again: false }
const listing: WorkOptions = { limit: 'command' }

/** How often a change is tried while others are faster. */
const tries = 100

interface Names {
  /** What belongs to a token, in one place of a cluster. */
  ofToken(id: string, what: string): string
  of(what: string): string
}

export function createRedisTokens(
  run: <T>(work: (command: Command) => Promise<T>, options?: WorkOptions) => Promise<T>,
  names: Names,
): TokenStore {
  const recordKey = (id: string): string => names.ofToken(id, 'token')
  const digestKey = (digest: string): string => names.of(`digest:${digest}`)
  const listKey = (owner?: string): string => names.of(owner === undefined ? 'tokens' : `owner:${owner}`)

  const read = async (command: Command, id: string): Promise<TokenRecord | undefined> => {
    const kept = await command(recordKey(id), ['GET', recordKey(id)])
    return kept === null || kept === undefined ? undefined : (JSON.parse(String(kept)) as TokenRecord)
  }

  /** Makes a digest lead to an id. Throws if it belongs to another token. */
  const claim = async (command: Command, digest: string, id: string): Promise<void> => {
    const key = digestKey(digest)
    for (let n = 0; n < tries; n++) {
      if ((await command(key, ['SET', key, id, 'NX'])) !== null) return
      const holder = await command(key, ['GET', key])
      if (holder === null) continue
      if (String(holder) === id) return
      const other = await read(command, String(holder))
      if (other !== undefined && holds(other, digest))
        throw new Error(`A secret of token ${id} belongs to token ${other.id} already`)
      // Left behind by something that was interrupted.
      if (Number(await evaluate(command, swap, [key], [String(holder), id])) === 1) return
    }
    throw new Error(`A secret of token ${id} is claimed by others at the same time; try again`)
  }
  const release = async (command: Command, digest: string, id: string): Promise<void> => {
    await evaluate(command, swap, [digestKey(digest)], [id, ''])
  }
  const enlist = async (command: Command, { id, owner, createdAt }: TokenRecord): Promise<void> => {
    const lists = owner === undefined ? [listKey()] : [listKey(), listKey(owner)]
    await Promise.all(lists.map((key) => command(key, ['ZADD', key, String(createdAt), id])))
  }

  return {
    findByDigest: (digest) =>
      run(async (command) => {
        const id = await command(digestKey(digest), ['GET', digestKey(digest)])
        if (id === null || id === undefined) return undefined
        const record = await read(command, String(id))
        return record !== undefined && holds(record, digest) ? record : undefined
      }),
    get: (id) => run((command) => read(command, id)),
    create: (record) =>
      run(async (command) => {
        const { id, secrets } = record
        const key = recordKey(id)
        if (Number(await command(key, ['EXISTS', key])) === 1) throw new Error(`Token ${id} exists already`)
        await Promise.all([...secrets.map(({ digest }) => claim(command, digest, id)), enlist(command, record)])
        if ((await command(key, ['SET', key, JSON.stringify(record), 'NX'])) === null) {
          throw new Error(`Token ${id} exists already`)
        }
      }, changing),
    change: (id, change) =>
      run(async (command) => {
        for (let n = 0; n < tries; n++) {
          const before = await read(command, id)
          if (before === undefined) return undefined
          const after = { ...change(before), version: before.version + 1 }
          const added = after.secrets.filter(({ digest }) => !holds(before, digest))
          await Promise.all(added.map(({ digest }) => claim(command, digest, id)))
          if (after.owner !== before.owner) await enlist(command, after)
          const done = Number(
            await evaluate(command, replace, [recordKey(id)], [String(before.version), JSON.stringify(after)]),
          )
          if (done === -1) return undefined
          if (done !== 1) continue
          const dropped = before.secrets.filter(({ digest }) => !holds(after, digest))
          await Promise.all(dropped.map(({ digest }) => release(command, digest, id)))
          return after
        }
        throw new Error(`Token ${id} was changed by others ${tries} times meanwhile; try again`)
      }, changing),
    list: ({ owner, after = '', limit: asked = 100 }) =>
      run(async (command) => {
        const key = listKey(owner)
        const limit = Math.min(1000, Math.max(1, asked))
        const tokens: TokenRecord[] = []
        let last = after
        for (;;) {
          // One more than is missing: it tells whether there are more.
          const reply = await evaluate(command, page, [key], [last, String(limit + 1 - tokens.length)])
          const ids = toTexts(reply)
          const records = await Promise.all(ids.map((id) => read(command, id)))
          for (const record of records) {
            // Lists may have what was never created in the end, or what has another owner by now.
            if (record !== undefined && (owner === undefined || record.owner === owner)) tokens.push(record)
          }
          const next = tokens[limit - 1]?.id
          if (tokens.length > limit && next !== undefined) return { tokens: tokens.slice(0, limit), next }
          last = ids.at(-1) ?? ''
          if (last === '') return { tokens }
        }
      }, listing),
  }
}

const holds = (record: TokenRecord, digest: string): boolean =>
  record.secrets.some((secret) => secret.digest === digest)
