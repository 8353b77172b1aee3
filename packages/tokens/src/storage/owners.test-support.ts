import type { Admission, GatewayError, Identity } from '@modelgate/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Storage } from '../contract/storage.ts'
import { createTokens, type Tokens, type TokensOptions } from '../create-tokens.ts'
import { callOf, endOf, took } from '../limits/call.test-support.ts'
import type { ReachedThreshold } from '../limits/threshold-report.ts'

export interface StoragesUnderTest {
  readonly first: Storage
  /** A second storage with the same counts, as in another process. Absent: only one process can count. */
  readonly second?: Storage
  close(): Promise<void>
}

const request = { method: 'POST', path: '/v1/chat/completions', header: () => undefined }
const prices = { models: { 'gpt-5': { input: 1, output: 1 } } }
/** Strange names must not mix: in Redis, braces select the node of a key. */
const names = ['team', 'team{x}', '}{', 'ä:*', 'zoo']

/** Contract tests of limits and budgets of owners, for every storage. */
export function describeOwners(name: string, open: () => StoragesUnderTest | Promise<StoragesUnderTest>): void {
  describe(`${name} as a storage of owners`, () => {
    let under: StoragesUnderTest
    const started: Tokens[] = []
    beforeEach(async () => {
      under = await open()
    })
    afterEach(async () => {
      started.length = 0
      await under.close()
    })

    const settlements: unknown[] = []
    const start = (shared = under.first, options: Partial<TokensOptions> = {}) => {
      const settle: Storage['meters']['settle'] = (settlement) => {
        const result = shared.meters.settle(settlement)
        settlements.push(result)
        return result
      }
      const storage = { ...shared, meters: { ...shared.meters, settle } }
      const tokens = createTokens({ storage, prices, cacheMs: 0, logger: false, ...options })
      tokens.plugin.onStart?.({} as never)
      started.push(tokens)
      let calls = 0
      const admit = async (identity: Identity | null, more: Parameters<typeof callOf>[1] = {}) => {
        const id = `${Math.random()}-${++calls}`
        const admission = (await tokens.plugin.admit?.(callOf(id, { ...more, identity }))) as Admission | undefined
        return {
          admission,
          settle: (input: number, cost?: number) =>
            admission?.settle?.(
              endOf(id, {
                ...took(input, 0),
                ...(cost === undefined ? {} : { cost: { amount: cost, currency: 'USD' } }),
              }),
            ),
        }
      }
      const refused = async (identity: Identity | null, more: Parameters<typeof callOf>[1] = {}) =>
        admit(identity, more).then(
          () => expect.fail('the call was accepted'),
          (error: GatewayError) => error.info,
        )
      const issue = async (settings: Parameters<Tokens['issue']>[0]) => {
        const token = await tokens.issue(settings)
        const identity = await tokens.authenticate(token.secret, request)
        if (identity === null) throw new Error('The token was not accepted.')
        return { id: token.id, identity: identity as Identity }
      }
      return { tokens, admit, refused, issue }
    }
    /** Waits until all calls are settled and their thresholds are reported. */
    const settled = async (): Promise<void> => {
      await Promise.all(settlements.splice(0))
      await new Promise((resolve) => setImmediate(resolve))
    }

    test('keeps, lists, replaces and deletes the settings of owners with any name', async () => {
      const { tokens } = start()
      expect(await tokens.owners.get('team')).toBeUndefined()
      for (const owner of names) await tokens.owners.set(owner, { limits: { requests: 1 } })
      await tokens.owners.set('team', { budget: { tokens: 5, period: 'day' }, thresholds: [1, 0.5, 1] })
      const other = start(under.second).tokens
      expect(await other.owners.get('team')).toEqual({
        owner: 'team',
        limits: [],
        budgets: [{ tokens: 5, period: 'day' }],
        thresholds: [0.5, 1],
        updatedAt: expect.any(Number),
      })
      const listed: string[] = []
      let after: string | undefined
      do {
        const page = await other.owners.list({ limit: 2, ...(after === undefined ? {} : { after }) })
        listed.push(...page.owners.map(({ owner }) => owner))
        after = page.next
      } while (after !== undefined)
      expect([...listed].sort()).toEqual([...names].sort())
      expect(await other.owners.delete('team')).toBe(true)
      expect(await tokens.owners.delete('team')).toBe(false)
      expect(await tokens.owners.get('team')).toBeUndefined()
      await expect(tokens.owners.usage('team')).rejects.toMatchObject({ info: { kind: 'not_found' } })
    })

    test('counts the calls of all tokens of an owner, and of its own login, against one budget', async () => {
      const { tokens, admit, refused, issue } = start()
      await tokens.owners.set('team', { budget: { tokens: 400, period: 'total' } })
      const [one, other] = [await issue({ owner: 'team' }), await issue({ owner: 'team' })]
      const stranger = await issue({ owner: 'another team' })
      const first = await admit(one.identity)
      await admit({ id: 'ada', owner: 'team' })
      expect(await refused(other.identity)).toMatchObject({
        kind: 'quota_exceeded',
        status: 429,
        message: expect.stringContaining("100 tokens of your owner's budget of 400 tokens remain"),
      })
      expect((await refused(other.identity)).message).not.toContain('team')
      await admit(stranger.identity)
      expect(
        await tokens.plugin.admit?.(callOf('none', { identity: { id: 'eve', owner: 'unlimited' } })),
      ).toBeUndefined()
      first.settle(10)
      await settled()
      const { admission } = await admit(other.identity)
      expect(admission?.headers).toEqual({ 'modelgate-budget': 'total;unit=tokens;limit=400;remaining=90;scope=owner' })
      const usage = await tokens.owners.usage('team')
      expect(usage).toMatchObject({
        owner: 'team',
        budgets: [{ of: 'tokens', limit: 400, used: 310, remaining: 90 }],
        totals: { calls: 1, inputTokens: 10 },
      })
      expect(await tokens.usage(one.id)).toMatchObject({ totals: { calls: 1, inputTokens: 10 }, budgets: [] })
    })

    test('counts a call against the limits of the token and of its owner, or against none', async () => {
      const { tokens, admit, refused, issue } = start()
      await tokens.owners.set('team', { limits: { requests: 3, window: 'day' } })
      const { id, identity } = await issue({ owner: 'team', limits: { requests: 2, window: 'day' } })
      const other = await issue({ owner: 'team' })
      const { admission } = await admit(identity)
      expect(admission?.allowance?.requests).toMatchObject({ limit: 2, remaining: 1 })
      await admit(identity)
      expect((await refused(identity)).message).toMatch(/^Rate limit reached for gpt-5 in requests per day: limit 2/)
      expect(await tokens.owners.usage('team')).toMatchObject({ limits: [{ used: 2 }] })
      await admit(other.identity)
      await tokens.update(id, { limits: { requests: 9, window: 'day' } })
      // A copy of the identity finds the current settings of its token.
      expect((await refused({ ...identity })).message).toMatch(
        /^Rate limit reached for gpt-5 in your owner's requests per day: limit 3/,
      )
      expect(await tokens.usage(id)).toMatchObject({ limits: [{ used: 2 }] })
    })
    test('counts running calls of an owner', async () => {
      const { tokens, admit, refused, issue } = start()
      await tokens.owners.set('team', { limits: { concurrent: 1 } })
      const { identity } = await issue({ owner: 'team' })
      const running = await admit(identity)
      expect((await refused({ id: 'ada', owner: 'team' })).message).toContain(
        "in your owner's concurrent calls: limit 1",
      )
      running.settle(1)
      await settled()
      await admit({ id: 'ada', owner: 'team' })
    })

    test('uses any key of the identity, and defaults for owners without settings', async () => {
      const { tokens, admit, refused } = start(under.first, {
        ownerKey: ({ metadata }) => (metadata as { readonly team?: string } | undefined)?.team,
        ownerDefaults: { limits: { requests: 1, window: 'day' } },
      })
      await tokens.owners.set('big', { limits: { requests: 2, window: 'day' } })
      const [small, big] = ['small', 'big'].map((team): Identity => ({ id: `of ${team}`, metadata: { team } }))
      await admit(small ?? null)
      await refused(small ?? null)
      await admit(big ?? null)
      await admit(big ?? null)
      await refused(big ?? null)
      expect(await tokens.owners.usage('small')).toMatchObject({ limits: [{ limit: 1, used: 1 }] })
    })

    test('reports each threshold of a budget once in a period, to one of all processes', async () => {
      const reached: ReachedThreshold[] = []
      const options = { onThreshold: (threshold: ReachedThreshold) => void reached.push(threshold) }
      const worlds = [start(under.first, options), start(under.second, options)]
      const [{ tokens, issue }] = worlds as [(typeof worlds)[0]]
      const budget = { tokens: 1000, period: 'month' } as const
      await tokens.owners.set('team', { budget })
      const { id } = await issue({ owner: 'team', budget: { tokens: 10_000, period: 'month' } })
      const use = async (amount: number, calls = 1): Promise<void> => {
        const running = await Promise.all(
          Array.from({ length: calls }, async (_, n) => {
            const world = worlds[n % worlds.length]
            const token = await world?.tokens.get(id)
            if (token === undefined) throw new Error('The token is unknown.')
            return world?.admit({ id: 'ada', owner: 'team' }, { input: 1, output: 1 })
          }),
        )
        for (const call of running) call?.settle(amount)
        await settled()
      }
      const fractions = (): number[] => reached.map(({ fraction }) => fraction)
      await use(499)
      expect(fractions()).toEqual([])
      await use(1)
      expect(reached).toEqual([
        {
          owner: 'team',
          budget,
          period: 'month',
          fraction: 0.5,
          used: 500,
          limit: 1000,
          resetsAt: expect.any(Number),
        },
      ])
      await use(1, 8)
      expect(fractions()).toEqual([0.5])
      await use(62, 8)
      // Of two processes, one may report 0.8 after the other has reported 1.
      expect(fractions().sort()).toEqual([0.5, 0.8, 1])
      await use(0)
        .then(() => expect.fail('the call was accepted'))
        .catch(() => undefined)
      expect(reached).toHaveLength(3)
    })

    test('reports thresholds of budgets of tokens, and an error of the callback does no harm', async () => {
      const reached: ReachedThreshold[] = []
      const { issue, admit, tokens } = start(under.first, {
        thresholds: [0.1],
        onThreshold(threshold) {
          reached.push(threshold)
          throw new Error('the mail server is down')
        },
      })
      const { id, identity } = await issue({ budget: { money: 1, period: 'total' } })
      const call = await admit(identity)
      call.settle(150_000, 0.15)
      await settled()
      expect(reached).toEqual([
        { token: id, budget: { money: 1, period: 'total' }, period: 'total', fraction: 0.1, used: 0.15, limit: 1 },
      ])
      expect(await tokens.usage(id)).toMatchObject({ budgets: [{ used: 0.15 }] })
    })

    test('reports the budgets in money of a caller, and changes no counts', async () => {
      const { tokens, admit, issue } = start()
      await tokens.owners.set('team', { budget: { money: 5, period: 'month' } })
      await tokens.owners.set('other', { budget: { money: 9, period: 'month' } })
      const { id, identity } = await issue({
        owner: 'team',
        budget: [
          { money: 2, period: 'total' },
          { money: 1, period: 'day', models: ['gpt-5'] },
          { tokens: 1000, period: 'total' },
        ],
      })
      ;(await admit(identity)).settle(100, 0.25)
      await settled()
      const before = await tokens.usage(id)
      const expected = [
        { currency: 'USD', limit: 2, used: 0.25 },
        { currency: 'USD', limit: 1, used: 0.25, models: ['gpt-5'] },
        { currency: 'USD', limit: 5, used: 0.25 },
      ]
      for (let n = 0; n < 3; n++) expect(await tokens.plugin.budgetsOf?.(identity)).toEqual(expected)
      expect(await tokens.usage(id)).toEqual(before)
      expect(await tokens.plugin.budgetsOf?.({ id: 'ada', owner: 'other' })).toEqual([
        { currency: 'USD', limit: 9, used: 0 },
      ])
      expect(await tokens.plugin.budgetsOf?.({ id: 'ada' })).toEqual([])
      expect(await tokens.plugin.budgetsOf?.(null)).toBeUndefined()
    })

    test('moves with a token whose owner changes: the counts of the token stay the same', async () => {
      const { tokens, admit, refused, issue } = start()
      const { id, identity } = await issue({ owner: 'a', budget: { tokens: 1000, period: 'total' } })
      const use = async (input: number): Promise<void> => {
        ;(await admit({ ...identity })).settle(input)
        await settled()
      }
      const used = async (): Promise<number | undefined> => (await tokens.usage(id)).budgets[0]?.used
      await use(100)
      for (const [owner, expected] of [
        ['b', 200],
        ['a', 300],
        [null, 400],
        ['b', 500],
        [null, 600],
      ] as const) {
        await tokens.update(id, { owner })
        await use(100)
        expect(await used()).toBe(expected)
      }
      await use(390)
      expect(await refused({ ...identity })).toMatchObject({ kind: 'quota_exceeded' })
      expect(await tokens.usage(id)).toMatchObject({ totals: { calls: 7, inputTokens: 990 } })
    })

    test('admits exactly the budget if 200 callers of two processes share it', async () => {
      const worlds = [start(under.first), start(under.second)]
      await worlds[0]?.tokens.owners.set('team', { budget: { tokens: 7300, period: 'total' } })
      const identity = { id: 'ada', owner: 'team' }
      const outcomes = await Promise.allSettled(
        Array.from({ length: 200 }, (_, n) => worlds[n % 2]?.admit(identity, { input: 100, output: 0 })),
      )
      const admitted = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
      expect(admitted).toHaveLength(73)
      for (const call of admitted) call?.settle(50)
      await settled()
      expect(await worlds[1]?.tokens.owners.usage('team')).toMatchObject({
        budgets: [{ used: 3650, remaining: 3650 }],
        totals: { calls: 73, inputTokens: 3650 },
      })
    })
  })
}
