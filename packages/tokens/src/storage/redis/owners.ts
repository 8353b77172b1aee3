import type { OwnerStore } from '../../contract/storage.ts'
import type { Owner } from '../../contract/token.ts'
import { pageOfOwners } from '../memory/memory-storage.ts'
import { type Command, toTexts } from './client.ts'
import type { WorkOptions } from './guard.ts'

/*
 * The record of an owner is the source of truth. The list of names has a key of its own, which a cluster may keep on another node: it may
 * contain names without a record, which are skipped.
 */

/** Creates the store of owners in Redis. Its steps may be repeated. */
export function createRedisOwners(
  run: <T>(work: (command: Command) => Promise<T>, options?: WorkOptions) => Promise<T>,
  keyOf: (what: string) => string,
): OwnerStore {
  const recordKey = (owner: string): string => keyOf(`limits-of:${owner}`)
  const listKey = keyOf('limited-owners')
  const changing: WorkOptions = { limit: 'command' }
  const read = async (command: Command, owner: string): Promise<Owner | undefined> => {
    const stored = await command(recordKey(owner), ['GET', recordKey(owner)])
    return stored === null || stored === undefined ? undefined : (JSON.parse(String(stored)) as Owner)
  }
  const addToList = (command: Command, owner: string): Promise<unknown> =>
    command(listKey, ['ZADD', listKey, '0', owner])

  return {
    get: (owner) => run((command) => read(command, owner)),
    put: (record) =>
      run(async (command) => {
        const { owner } = record
        // Before the record, so that an interrupted step leaves none that is not listed; and after it, in case another process deletes it now.
        await addToList(command, owner)
        await command(recordKey(owner), ['SET', recordKey(owner), JSON.stringify(record)])
        await addToList(command, owner)
      }, changing),
    delete: (owner) =>
      run(async (command) => {
        const deleted = Number(await command(recordKey(owner), ['DEL', recordKey(owner)]))
        await command(listKey, ['ZREM', listKey, owner])
        return deleted === 1
      }, changing),
    list: ({ after, limit = 100 }) =>
      run(async (command) => {
        const owners: Owner[] = []
        let last = after
        for (;;) {
          // One more than the page still needs, to find out whether there is a next page.
          const count = limit + 1 - owners.length
          const from = last === undefined ? '-' : `(${last}`
          const names = toTexts(
            await command(listKey, ['ZRANGEBYLEX', listKey, from, '+', 'LIMIT', '0', String(count)]),
          )
          const records = await Promise.all(names.map((name) => read(command, name)))
          for (const record of records) if (record !== undefined) owners.push(record)
          last = names.at(-1)
          if (owners.length > limit || names.length < count) return pageOfOwners(owners, limit)
        }
      }, changing),
  }
}
