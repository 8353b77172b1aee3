import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { TokenStore } from '../contract/storage.ts'
import type { TokenRecord } from '../contract/token.ts'

export interface StoreUnderTest {
  readonly store: TokenStore
  /** A second store on the same tokens, as in another process; absent: the store cannot be shared. */
  readonly other?: TokenStore
  close(): Promise<void>
}

const aDigest = (): string => randomBytes(32).toString('hex')

let lastId = 0

/** Creates a record with all required fields. Ids sort in the order of creation. */
export function aRecord(settings: Partial<TokenRecord> = {}): TokenRecord {
  lastId++
  return {
    id: `tok_${String(lastId).padStart(8, '0')}`,
    limits: [],
    budgets: [],
    hint: 'mg-Ab3d',
    createdAt: 1_800_000_000_000 + lastId,
    secrets: [{ digest: aDigest() }],
    version: 1,
    ...settings,
  }
}

/** Contract tests of every token store. */
export function describeTokenStore(name: string, open: () => StoreUnderTest | Promise<StoreUnderTest>): void {
  describe(`${name} as a token store`, () => {
    let under: StoreUnderTest
    let store: TokenStore
    beforeEach(async () => {
      under = await open()
      store = under.store
    })
    afterEach(() => under.close())

    test('finds a token by its id and by each of its digests', async () => {
      const record = aRecord({
        secrets: [{ digest: aDigest() }, { digest: aDigest(), validUntil: 1_900_000_000_000 }, { digest: aDigest() }],
      })
      await store.create(record)
      await store.create(aRecord())
      expect(await store.get(record.id)).toEqual(record)
      for (const { digest } of record.secrets) expect(await store.findByDigest(digest)).toEqual(record)
    })

    test('stores a record completely', async () => {
      const record = aRecord({
        name: 'a "name" with\nall sorts of 字 and 😀',
        owner: "team'; DROP TABLE tokens; --",
        models: ['gpt-*', '*'],
        limits: [{ window: 60, requests: 3, models: ['a', 'b'] }],
        budgets: [{ period: 'month', money: 0.000000001 }],
        metadata: { nested: { list: [1, 'two', null, { three: true }] }, empty: {}, none: [] },
        expiresAt: 8_640_000_000_000_000,
        revokedAt: 0,
        rotatedAt: 1,
      })
      await store.create(record)
      expect(await store.get(record.id)).toEqual(record)
    })

    test('finds no token for unknown ids and digests', async () => {
      await store.create(aRecord())
      expect(await store.get('tok_none')).toBeUndefined()
      expect(await store.findByDigest(aDigest())).toBeUndefined()
      expect(await store.change('tok_none', (record) => record)).toBeUndefined()
    })

    test('also finds revoked and expired tokens', async () => {
      const record = aRecord({ revokedAt: 1, expiresAt: 1 })
      await store.create(record)
      expect(await store.findByDigest(digestOf(record))).toEqual(record)
    })

    test('creates an id only once', async () => {
      const record = aRecord()
      await store.create(record)
      const second = aRecord({ id: record.id })
      await expect(asking(() => store.create(second))).rejects.toThrow(record.id)
      expect(await store.get(record.id)).toEqual(record)
      expect(await store.findByDigest(digestOf(second))).toBeUndefined()
    })

    test('rejects a record with the digest of another token, and changes nothing', async () => {
      const record = aRecord()
      await store.create(record)
      const fresh = aDigest()
      const second = aRecord({ secrets: [{ digest: fresh }, ...record.secrets] })
      await expect(asking(() => store.create(second))).rejects.toThrow('belongs to token')
      expect(await store.get(second.id)).toBeUndefined()
      expect(await store.findByDigest(fresh)).toBeUndefined()
      expect((await store.list({})).tokens).toEqual([record])
      expect(await store.findByDigest(digestOf(record))).toEqual(record)
    })

    test('replaces the record on a change, and no longer finds omitted digests', async () => {
      const [dropped, kept, added] = [aDigest(), aDigest(), aDigest()]
      const record = aRecord({ secrets: [{ digest: dropped }, { digest: kept }] })
      await store.create(record)
      const changed = await store.change(record.id, (before) => ({
        ...before,
        revokedAt: 7,
        secrets: [{ digest: added }, { digest: kept, validUntil: 9 }],
      }))
      const expected = {
        ...record,
        version: 2,
        revokedAt: 7,
        secrets: [{ digest: added }, { digest: kept, validUntil: 9 }],
      }
      expect(changed).toEqual(expected)
      expect(await store.get(record.id)).toEqual(expected)
      expect(await store.findByDigest(added)).toEqual(expected)
      expect(await store.findByDigest(kept)).toEqual(expected)
      expect(await store.findByDigest(dropped)).toBeUndefined()
    })

    test('accepts a dropped digest for another token', async () => {
      const record = aRecord()
      await store.create(record)
      await store.change(record.id, (before) => ({ ...before, secrets: [] }))
      const second = aRecord({ secrets: record.secrets })
      await store.create(second)
      expect(await store.findByDigest(digestOf(record))).toEqual(second)
    })

    test('increases the version by one with each change, whatever version the change returns', async () => {
      const record = aRecord()
      await store.create(record)
      expect(await store.change(record.id, (before) => before)).toMatchObject({ version: 2 })
      expect(await store.change(record.id, (before) => ({ ...before, name: 'b' }))).toMatchObject({ version: 3 })
      expect(await store.change(record.id, (before) => ({ ...before, version: before.version + 1 }))).toMatchObject({
        version: 4,
      })
      expect(await store.get(record.id)).toMatchObject({ version: 4, name: 'b' })
    })

    test('changes nothing if a change throws or adds the digest of another token', async () => {
      const [record, other] = [aRecord(), aRecord()]
      await store.create(record)
      await store.create(other)
      await expect(
        asking(() =>
          store.change(record.id, () => {
            throw new RangeError('not so')
          }),
        ),
      ).rejects.toThrow(RangeError)
      await expect(
        asking(() => store.change(record.id, (before) => ({ ...before, name: 'thief', secrets: other.secrets }))),
      ).rejects.toThrow('belongs to token')
      expect(await store.get(record.id)).toEqual(record)
      expect(await store.findByDigest(digestOf(record))).toEqual(record)
      expect(await store.findByDigest(digestOf(other))).toEqual(other)
      expect(await store.change(record.id, (before) => ({ ...before, name: 'fine' }))).toMatchObject({ version: 2 })
    })

    test('keeps stored records independent of the objects of callers', async () => {
      const record = { ...aRecord(), metadata: { list: [1] } }
      await store.create(record)
      record.metadata.list.push(2)
      const found = await store.get(record.id)
      Object.assign(found ?? {}, { name: 'altered' })
      const again = await store.get(record.id)
      expect(again).toMatchObject({ metadata: { list: [1] } })
      expect(again).not.toHaveProperty('name')
    })

    test('lists tokens from the oldest to the newest, in pages', async () => {
      const records = [5, 3, 3, 9, 1, 7, 3].map((createdAt) => aRecord({ createdAt }))
      for (const record of records) await store.create(record)
      const inOrder = records.toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
      expect(await store.list({})).toEqual({ tokens: inOrder })
      expect(await store.list({ limit: 7 })).toEqual({ tokens: inOrder })
      for (const limit of [1, 2, 3, 6]) expect(await pagesOf(store, { limit })).toEqual(chunked(inOrder, limit))
    })

    test('lists only the tokens of one owner, in pages, and follows a change of owner', async () => {
      const records = Array.from({ length: 9 }, (_, n) => aRecord({ owner: n % 3 === 0 ? 'ann' : 'bob' }))
      const nobodys = aRecord()
      for (const record of [...records, nobodys]) await store.create(record)
      const ofBob = records.filter(({ owner }) => owner === 'bob')
      expect(await store.list({ owner: 'bob' })).toEqual({ tokens: ofBob })
      expect(await pagesOf(store, { owner: 'bob', limit: 4 })).toEqual(chunked(ofBob, 4))
      expect(await store.list({ owner: 'nobody' })).toEqual({ tokens: [] })
      const [moved] = ofBob
      if (moved === undefined) throw new Error('bob has tokens')
      const changed = await store.change(moved.id, (record) => ({ ...record, owner: 'ann' }))
      expect((await store.list({ owner: 'bob' })).tokens).toEqual(ofBob.slice(1))
      expect((await store.list({ owner: 'ann' })).tokens).toContainEqual(changed)
    })

    test('returns 100 tokens per page by default', async () => {
      for (let n = 0; n < 101; n++) await store.create(aRecord())
      const page = await store.list({})
      expect(page.tokens).toHaveLength(100)
      expect((await store.list(page.next === undefined ? {} : { after: page.next })).tokens).toHaveLength(1)
    })

    test('loses no concurrent change', async () => {
      const record = aRecord({ metadata: { marks: [] } })
      await store.create(record)
      const stores = [store, under.other ?? store]
      const marks = Array.from({ length: 40 }, (_, n) => n)
      await Promise.all(
        marks.map(async (mark) =>
          stores[mark % 2]?.change(record.id, (before) => ({
            ...before,
            metadata: { marks: [...marksOf(before), mark] },
          })),
        ),
      )
      const after = await store.get(record.id)
      expect(after?.version).toBe(1 + marks.length)
      expect(after === undefined ? [] : [...marksOf(after)].sort((a, b) => a - b)).toEqual(marks)
    })

    test('rejects one of two concurrent creations of the same id', async () => {
      const [first, second] = [aRecord({ id: 'tok_same' }), aRecord({ id: 'tok_same' })]
      const other = under.other ?? store
      const results = await Promise.allSettled([asking(() => store.create(first)), asking(() => other.create(second))])
      expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
      const won = results[0]?.status === 'fulfilled' ? first : second
      expect(await store.get('tok_same')).toEqual(won)
      expect(await store.findByDigest(digestOf(won))).toEqual(won)
    })

    test('shows a change to another process at its next read', async () => {
      const other = under.other ?? store
      const record = aRecord()
      await store.create(record)
      expect(await other.findByDigest(digestOf(record))).toEqual(record)
      await store.change(record.id, (before) => ({ ...before, revokedAt: 5 }))
      expect(await other.findByDigest(digestOf(record))).toMatchObject({ revokedAt: 5, version: 2 })
      await other.change(record.id, (before) => ({ ...before, secrets: [] }))
      expect(await store.findByDigest(digestOf(record))).toBeUndefined()
    })
  })
}

/** A store may throw synchronously or return a rejected promise: both are rejections. */
const asking = async <T>(ask: () => T | Promise<T>): Promise<T> => ask()

const digestOf = ({ secrets: [first] }: TokenRecord): string => {
  if (first === undefined) throw new Error('the record has no secret')
  return first.digest
}

const marksOf = ({ metadata }: TokenRecord): readonly number[] => (metadata?.marks ?? []) as readonly number[]

const chunked = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, n) => all.slice(n * size, (n + 1) * size))

async function pagesOf(store: TokenStore, query: { owner?: string; limit: number }): Promise<TokenRecord[][]> {
  const pages: TokenRecord[][] = []
  let after: string | undefined
  do {
    const { tokens, next } = await store.list({ ...query, ...(after !== undefined && { after }) })
    pages.push([...tokens])
    after = next
  } while (after !== undefined)
  return pages
}
