import type { TokenStore } from '../../contract/storage.ts'
import type { TokenRecord } from '../../contract/token.ts'
import { type Command, evaluate, script, toTexts } from './client.ts'
import type { WorkOptions } from './guard.ts'

/*
 * The record of a token is the source of truth. An index from each digest to the id, and lists of ids, have keys of their own, which a
 * cluster may keep on other nodes. They are written before the record, removed after it, and checked against it when they are read. So a
 * digest that the record does not contain is never found, wherever an operation was interrupted.
 */

/** KEYS: record. ARGV: expected version, new record. Returns 1, 0 if the record has another version, -1 if there is none. */
const replaceScript = script(`
local kept = redis.call('GET', KEYS[1])
if not kept then return -1 end
if cjson.decode(kept).version ~= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1`)

/** KEYS: index. ARGV: expected value, new value (empty: delete the index). Returns 1 if it had the expected value. */
const swapScript = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2]) end
return 1`)

/** KEYS: list. ARGV: id after which the page starts (or empty), number of ids. */
const pageScript = script(`
local first = 0
if ARGV[1] ~= '' then
  local rank = redis.call('ZRANK', KEYS[1], ARGV[1])
  if not rank then return false end
  first = rank + 1
end
return redis.call('ZRANGE', KEYS[1], first, first + ARGV[2] - 1)`)

/** Not repeatable: a change whose response was lost may have been made, and a second one would conflict with it. */
const changing: WorkOptions = { limit: 'command', repeatable: false }
const listing: WorkOptions = { limit: 'command' }

/** Maximum number of attempts of a change that other processes overtake. */
const maxAttempts = 100

interface Names {
  /** Key with a hash tag. A cluster keeps all keys with the same tag on one node. */
  tagged(tag: string, what: string): string
  of(what: string): string
}

export function createRedisTokens(
  run: <T>(work: (command: Command) => Promise<T>, options?: WorkOptions) => Promise<T>,
  names: Names,
): TokenStore {
  const recordKey = (id: string): string => names.tagged(id, 'token')
  const digestKey = (digest: string): string => names.of(`digest:${digest}`)
  const listKey = (owner?: string): string => names.of(owner === undefined ? 'tokens' : `owner:${owner}`)

  const read = async (command: Command, id: string): Promise<TokenRecord | undefined> => {
    const stored = await command(recordKey(id), ['GET', recordKey(id)])
    return stored === null || stored === undefined ? undefined : (JSON.parse(String(stored)) as TokenRecord)
  }

  /** Sets the index from a digest to an id. Throws if the digest belongs to another token. */
  const claimDigest = async (command: Command, digest: string, id: string): Promise<void> => {
    const key = digestKey(digest)
    for (let n = 0; n < maxAttempts; n++) {
      if ((await command(key, ['SET', key, id, 'NX'])) !== null) return
      const holder = await command(key, ['GET', key])
      if (holder === null) continue
      if (String(holder) === id) return
      const other = await read(command, String(holder))
      if (other !== undefined && holds(other, digest))
        throw new Error(`A secret of token ${id} belongs to token ${other.id} already`)
      // The index remained from an interrupted operation.
      if (Number(await evaluate(command, swapScript, [key], [String(holder), id])) === 1) return
    }
    throw new Error(`A secret of token ${id} is claimed by other processes at the same time; try again`)
  }
  const releaseDigest = async (command: Command, digest: string, id: string): Promise<void> => {
    await evaluate(command, swapScript, [digestKey(digest)], [id, ''])
  }
  const addToLists = async (command: Command, { id, owner, createdAt }: TokenRecord): Promise<void> => {
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
        await Promise.all([
          ...secrets.map(({ digest }) => claimDigest(command, digest, id)),
          addToLists(command, record),
        ])
        if ((await command(key, ['SET', key, JSON.stringify(record), 'NX'])) === null) {
          throw new Error(`Token ${id} exists already`)
        }
      }, changing),
    change: (id, change) =>
      run(async (command) => {
        for (let n = 0; n < maxAttempts; n++) {
          const before = await read(command, id)
          if (before === undefined) return undefined
          const after = { ...change(before), version: before.version + 1 }
          const added = after.secrets.filter(({ digest }) => !holds(before, digest))
          await Promise.all(added.map(({ digest }) => claimDigest(command, digest, id)))
          if (after.owner !== before.owner) await addToLists(command, after)
          const done = Number(
            await evaluate(command, replaceScript, [recordKey(id)], [String(before.version), JSON.stringify(after)]),
          )
          if (done === -1) return undefined
          if (done !== 1) continue
          const dropped = before.secrets.filter(({ digest }) => !holds(after, digest))
          await Promise.all(dropped.map(({ digest }) => releaseDigest(command, digest, id)))
          return after
        }
        throw new Error(`Token ${id} was changed by other processes ${maxAttempts} times in the meantime; try again`)
      }, changing),
    list: ({ owner, after = '', limit: requested = 100 }) =>
      run(async (command) => {
        const key = listKey(owner)
        const limit = Math.min(1000, Math.max(1, requested))
        const tokens: TokenRecord[] = []
        let last = after
        for (;;) {
          // One more than the page still needs, to find out whether there is a next page.
          const reply = await evaluate(command, pageScript, [key], [last, String(limit + 1 - tokens.length)])
          const ids = toTexts(reply)
          const records = await Promise.all(ids.map((id) => read(command, id)))
          for (const record of records) {
            // A list may contain tokens that were never created, or that have another owner now.
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
