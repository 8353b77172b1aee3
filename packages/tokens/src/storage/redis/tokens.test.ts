import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TokenRecord } from '../../contract/token.ts'
import { type Command, commandOf } from './client.ts'
import {
  type Connection,
  connect,
  connectToCluster,
  sharedRedis,
  startRedis,
  testPrefix,
  withoutRedis,
  withoutRedisToKill,
} from './redis.test-support.ts'
import { createRedisTokens } from './tokens.ts'

/** Creates a separate token store whose commands fail after a number of commands, as if the process had ended there. */
const on = (connection: Connection, prefix = testPrefix(), commands = Number.POSITIVE_INFINITY) => {
  const command = commandOf(connection.client)
  const names = {
    of: (what: string) => `${prefix}${what}`,
    tagged: (id: string, what: string) => `${prefix}{${id}}:${what}`,
  }
  let left = commands
  const mortal: Command = (key, args) =>
    left-- > 0 ? command(key, args) : Promise.reject(new Error('the process has ended'))
  return { tokens: createRedisTokens((work) => work(mortal), names), command, prefix }
}

const digest = (letter: string): string => letter.repeat(64)
const record = (id: string, digests: readonly string[], more: Partial<TokenRecord> = {}): TokenRecord => ({
  id,
  limits: [],
  budgets: [],
  hint: 'mg-Ab3d',
  createdAt: 1000,
  version: 1,
  secrets: digests.map((letter) => ({ digest: digest(letter) })),
  ...more,
})
const withSecrets = (before: TokenRecord, ...letters: string[]): TokenRecord => ({
  ...before,
  secrets: letters.map((letter) => ({ digest: digest(letter) })),
})

describe.skipIf(withoutRedis !== undefined).each(Object.entries(connect))('tokens in Redis, by %s', (_, connected) => {
  let server: Awaited<ReturnType<typeof sharedRedis>>
  let connection: Connection
  beforeAll(async () => {
    server = await sharedRedis()
    connection = await connected(server.url)
  })
  afterAll(async () => {
    await connection?.close()
    await server?.close()
  })

  it('are found by the digests of the stored record, wherever a change was interrupted', async () => {
    const outcomes = new Set<string>()
    for (let commands = 0; ; commands++) {
      const { tokens, prefix } = on(connection)
      await tokens.create(record('t', ['a', 'b']))
      const whole = await Promise.resolve(
        on(connection, prefix, commands).tokens.change('t', (before) => withSecrets(before, 'c', 'b')),
      ).then(
        () => true,
        () => false,
      )
      const kept = await tokens.get('t')
      const held = kept?.secrets.map((secret) => secret.digest)
      outcomes.add(String(held?.map((each) => each[0])))
      for (const letter of ['a', 'b', 'c']) {
        const found = await tokens.findByDigest(digest(letter))
        expect(found, `${letter} after ${commands} commands`).toEqual(held?.includes(digest(letter)) ? kept : undefined)
      }
      // Later changes work as usual.
      await tokens.change('t', (before) => withSecrets(before, 'd'))
      const found = await Promise.all(['a', 'b', 'c', 'd'].map((letter) => tokens.findByDigest(digest(letter))))
      expect(found.map((each) => each?.id)).toEqual([undefined, undefined, undefined, 't'])
      if (whole) break
    }
    expect([...outcomes]).toEqual(['a,b', 'c,b'])
  })

  it('exist or not, wherever the creation was interrupted, and can be created again', async () => {
    for (let commands = 0; ; commands++) {
      const { tokens, prefix } = on(connection)
      const half = on(connection, prefix, commands).tokens
      const whole = await Promise.resolve(half.create(record('t', ['a'], { owner: 'me' }))).then(
        () => true,
        () => false,
      )
      const there = await tokens.get('t')
      expect((await tokens.findByDigest(digest('a')))?.id).toBe(there?.id)
      expect((await tokens.list({})).tokens).toHaveLength(there === undefined ? 0 : 1)
      if (whole) break
      // The secret of a token that was never created matches no token.
      await tokens.create(record('other', ['a']))
      expect((await tokens.findByDigest(digest('a')))?.id).toBe('other')
    }
  })

  it('are not lost if a new secret belongs to another token', async () => {
    const { tokens } = on(connection)
    await tokens.create(record('one', ['a']))
    await tokens.create(record('two', ['b']))
    await expect(tokens.change('two', (before) => withSecrets(before, 'a', 'b'))).rejects.toThrow(
      /belongs to token one/,
    )
    expect((await tokens.findByDigest(digest('a')))?.id).toBe('one')
    expect((await tokens.get('two'))?.version).toBe(1)
  })

  it('are changed one after the other, however many changes are concurrent', async () => {
    const { tokens, prefix } = on(connection)
    await tokens.create(record('t', ['a'], { metadata: { n: 0 } }))
    const raise = (before: TokenRecord): TokenRecord => ({
      ...before,
      metadata: { n: Number(before.metadata?.n) + 1 },
    })
    await Promise.all(Array.from({ length: 20 }, () => on(connection, prefix).tokens.change('t', raise)))
    expect(await tokens.get('t')).toMatchObject({ metadata: { n: 20 }, version: 21 })
  })

  it('are listed with their new owner only', async () => {
    const { tokens } = on(connection)
    await tokens.create(record('t', ['a'], { owner: 'me' }))
    await tokens.change('t', (before) => ({ ...before, owner: 'you' }))
    const ids = async (owner: string) => (await tokens.list({ owner })).tokens.map(({ id }) => id)
    expect([await ids('me'), await ids('you')]).toEqual([[], ['t']])
    await tokens.change('t', (before) => ({ ...before, owner: 'me' }))
    expect([await ids('me'), await ids('you')]).toEqual([['t'], []])
  })

  it('fill their pages despite stale entries', async () => {
    const { tokens, prefix } = on(connection)
    for (let n = 10; n < 30; n++) {
      // Every other creation was interrupted before its record was written.
      const half = on(connection, prefix, n % 2 === 0 ? Number.POSITIVE_INFINITY : 3).tokens
      await Promise.resolve(half.create(record(`t${n}`, [String.fromCharCode(97 + n)], { createdAt: n }))).catch(
        () => {},
      )
    }
    const first = await tokens.list({ limit: 4 })
    expect(first).toMatchObject({ tokens: [{ id: 't10' }, { id: 't12' }, { id: 't14' }, { id: 't16' }], next: 't16' })
    const rest = await tokens.list({ limit: 6, after: 't16' })
    expect(rest.tokens.map(({ id }) => id)).toEqual(['t18', 't20', 't22', 't24', 't26', 't28'])
    expect(rest.next).toBeUndefined()
  })
})

const clusters = Object.entries(connectToCluster)
describe.skipIf(withoutRedisToKill !== undefined).each(clusters)('tokens in a cluster, by %s', (_, connected) => {
  it('are created, found, changed and listed', async () => {
    const server = await startRedis({ cluster: true })
    const connection = await connected(server.url)
    try {
      const { tokens } = on(connection)
      await tokens.create(record('one', ['a'], { owner: 'me' }))
      await tokens.create(record('two', ['b'], { owner: 'you' }))
      await tokens.change('one', (before) => withSecrets(before, 'c'))
      const found = await Promise.all(['a', 'b', 'c'].map((letter) => tokens.findByDigest(digest(letter))))
      expect(found.map((each) => each?.id)).toEqual([undefined, 'two', 'one'])
      expect((await tokens.list({})).tokens.map(({ id }) => id)).toEqual(['one', 'two'])
      expect((await tokens.list({ owner: 'you' })).tokens.map(({ id }) => id)).toEqual(['two'])
    } finally {
      await connection.close()
      await server.close()
    }
  })
})
