import { GatewayError } from '@modelgate/core'
import { describe, expect, it } from 'vitest'
import type { TokenSettings } from '../contract/token.ts'
import { fakeStore } from './fake-store.test-support.ts'
import { createManagement } from './manage.ts'
import { digestOf, hasTokenForm } from './secret.ts'

const start = Date.parse('2026-11-21T12:00:00Z')
const dayMs = 86_400_000

function make() {
  let time = start
  const store = fakeStore()
  const changed: string[] = []
  const tokens = createManagement({ store, onChange: (id) => void changed.push(id), now: () => time })
  return {
    tokens,
    store,
    changed,
    pass: (ms: number) => {
      time += ms
    },
  }
}

const refusal = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'not refused',
    (error: unknown) => (error instanceof GatewayError ? { ...error.info } : error),
  )

describe('issue', () => {
  it('returns the secret once, and stores only its digest', async () => {
    const { tokens, store } = make()
    const { secret, ...token } = await tokens.issue({
      name: 'laptop',
      owner: 'ada',
      models: ['gpt-*'],
      expiresAt: '2027-01-31',
      limits: { requests: 60 },
      budget: [{ money: 5, period: 'month' }],
      metadata: { plan: 'pro' },
    })
    expect(hasTokenForm(secret)).toBe(true)
    expect(token).toEqual({
      id: expect.stringMatching(/^tok_[0-9A-Za-z]{22}$/),
      name: 'laptop',
      owner: 'ada',
      models: ['gpt-*'],
      limits: [expect.objectContaining({ requests: 60 })],
      budgets: [expect.objectContaining({ money: 5, period: 'month' })],
      metadata: { plan: 'pro' },
      hint: secret.slice(0, 7),
      createdAt: start,
      expiresAt: Date.parse('2027-01-31'),
    })
    const kept = JSON.stringify([...store.records.values()])
    expect(kept).toContain(digestOf(secret))
    expect(kept).not.toContain(secret)
    expect(await tokens.get(token.id)).toEqual(token)
  })

  it('requires no settings', async () => {
    const { tokens } = make()
    const { secret, ...token } = await tokens.issue()
    expect(token).toEqual({
      id: expect.any(String),
      limits: [],
      budgets: [],
      hint: secret.slice(0, 7),
      createdAt: start,
    })
  })

  it.each([
    ['name', { name: '' }],
    ['name', { name: 7 }],
    ['owner', { owner: 'x'.repeat(201) }],
    ['models', { models: [] }],
    ['models', { models: 'gpt-*' }],
    ['models[1]', { models: ['gpt-*', ''] }],
    ['expiresAt', { expiresAt: 'tomorrow' }],
    ['expiresAt', { expiresAt: new Date(Number.NaN) }],
    ['expiresAt', { expiresAt: true }],
    ['expiresAt', { expiresAt: start }],
    ['metadata', { metadata: 'pro' }],
    ['metadata', { metadata: ['pro'] }],
    ['metadata', { metadata: { text: 'x'.repeat(16_384) } }],
    ['metadata', { metadata: { big: 1n } }],
    ['budgets', { budgets: [] }],
    ['__proto__', JSON.parse('{"__proto__": {}}')],
    [undefined, 'laptop'],
    [undefined, [{ name: 'laptop' }]],
  ])('rejects an invalid %s in %o', async (param, settings) => {
    const { tokens, store } = make()
    const refusalText = await refusal(tokens.issue(settings as TokenSettings))
    expect(refusalText).toMatchObject({ kind: 'invalid_request', ...(param === undefined ? {} : { param }) })
    expect(store.records.size).toBe(0)
  })

  it('treats null and undefined as absent', async () => {
    const { tokens } = make()
    const settings = { name: undefined, owner: null, limits: null } as unknown as TokenSettings
    expect(await tokens.issue(settings)).not.toHaveProperty('owner')
  })

  it('copies its settings', async () => {
    const { tokens } = make()
    const metadata = { plan: 'pro', since: new Date(0) }
    const models = ['gpt-*']
    const { id } = await tokens.issue({ metadata, models })
    metadata.plan = 'free'
    models.push('*')
    expect(await tokens.get(id)).toMatchObject({
      metadata: { plan: 'pro', since: '1970-01-01T00:00:00.000Z' },
      models: ['gpt-*'],
    })
  })
})

describe('update', () => {
  it('changes given settings, removes those that are null, and keeps the others', async () => {
    const { tokens, changed, store } = make()
    const { id, secret } = await tokens.issue({
      name: 'laptop',
      owner: 'ada',
      models: ['gpt-*'],
      limits: { requests: 60 },
      budget: { money: 5, period: 'month' },
    })
    const token = await tokens.update(id, { name: 'desk', models: null, budget: null })
    expect(token).toMatchObject({ name: 'desk', owner: 'ada', budgets: [] })
    expect(token.limits).toHaveLength(1)
    expect(token).not.toHaveProperty('models')
    expect(await tokens.get(id)).toEqual(token)
    expect(store.records.get(id)?.secrets).toEqual([{ digest: digestOf(secret) }])
    expect(changed).toEqual([id])
  })

  it('changes nothing if one setting is invalid', async () => {
    const { tokens } = make()
    const { id } = await tokens.issue({ name: 'laptop' })
    expect(await refusal(tokens.update(id, { name: 'desk', models: [] }))).toMatchObject({ param: 'models' })
    expect(await tokens.get(id)).toMatchObject({ name: 'laptop' })
  })
})

describe('revoke', () => {
  it('is final, and repeatable', async () => {
    const { tokens, pass, changed } = make()
    const { id } = await tokens.issue()
    expect(await tokens.revoke(id)).toMatchObject({ id, revokedAt: start })
    pass(1000)
    expect(await tokens.revoke(id)).toMatchObject({ revokedAt: start })
    expect(await refusal(tokens.rotate(id))).toMatchObject({ kind: 'conflict', status: 409 })
    expect(changed).toContain(id)
  })
})

describe('rotate', () => {
  it('returns a new secret; the old one stays valid for a day', async () => {
    const { tokens, store } = make()
    const { id, secret: old } = await tokens.issue()
    const { secret, ...token } = await tokens.rotate(id)
    expect(secret).not.toBe(old)
    expect(token).toMatchObject({ id, rotatedAt: start, hint: secret.slice(0, 7) })
    expect(store.records.get(id)?.secrets).toEqual([
      { digest: digestOf(secret) },
      { digest: digestOf(old), validUntil: start + dayMs },
    ])
  })

  it('with a shorter grace period ends all older secrets by its end', async () => {
    const { tokens, store } = make()
    const { id } = await tokens.issue()
    await tokens.rotate(id)
    await tokens.rotate(id, { graceMs: 60_000 })
    const ends = store.records.get(id)?.secrets.map(({ validUntil }) => validUntil)
    expect(ends).toEqual([undefined, start + 60_000, start + 60_000])
    await tokens.rotate(id, { graceMs: 0 })
    expect(store.records.get(id)?.secrets.map(({ validUntil }) => validUntil)).toEqual([undefined, start, start, start])
  })

  it('never ends a secret before its grace period, and deletes expired ones', async () => {
    const { tokens, store, pass } = make()
    const { id } = await tokens.issue()
    for (let time = 0; time < 20; time++) await tokens.rotate(id)
    expect(store.records.get(id)?.secrets).toHaveLength(21)
    expect(await refusal(tokens.rotate(id))).toMatchObject({ kind: 'conflict' })
    pass(dayMs)
    await tokens.rotate(id)
    expect(store.records.get(id)?.secrets).toHaveLength(5)
  })

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, '60'])('rejects a grace period of %s', async (graceMs) => {
    const { tokens } = make()
    const { id } = await tokens.issue()
    expect(await refusal(tokens.rotate(id, { graceMs: graceMs as number }))).toMatchObject({ param: 'graceMs' })
  })
})

describe('list', () => {
  it('lists tokens page by page and by owner', async () => {
    const { tokens } = make()
    for (const owner of ['ada', 'bob', 'ada', 'ada']) await tokens.issue({ owner })
    const first = await tokens.list({ owner: 'ada', limit: 2 })
    expect(first.tokens).toHaveLength(2)
    const rest = await tokens.list({ owner: 'ada', limit: 2, after: first.next ?? '' })
    expect(rest.tokens).toHaveLength(1)
    expect(rest).not.toHaveProperty('next')
    expect(JSON.stringify([first, rest])).not.toMatch(/secret|digest/)
  })

  it.each([
    ['limit', { limit: 0 }],
    ['limit', { limit: 1001 }],
    ['limit', { limit: 1.5 }],
    ['owner', { owner: 5 as unknown as string }],
  ])('rejects an invalid %s in %o', async (param, query) => {
    expect(await refusal(make().tokens.list(query))).toMatchObject({ kind: 'invalid_request', param })
  })
})

describe('an unknown token', () => {
  it.each(['tok_none', '', '../x', 'x'.repeat(1000)])('is reported as not found for the id %j', async (id) => {
    const { tokens } = make()
    expect(await tokens.get(id)).toBeUndefined()
    for (const attempt of [tokens.update(id, {}), tokens.revoke(id), tokens.rotate(id)])
      expect(await refusal(attempt)).toMatchObject({ kind: 'not_found', status: 404 })
  })
})

it.each([false, true])(
  'fails with a 503 with retry-after while the store is unavailable (store returns a promise: %s)',
  async (later) => {
    const { tokens, store } = make()
    const { id } = await tokens.issue()
    store.away = true
    store.later = later
    for (const attempt of [
      tokens.issue(),
      tokens.get(id),
      tokens.list(),
      tokens.update(id, {}),
      tokens.revoke(id),
      tokens.rotate(id),
    ])
      expect(await refusal(attempt)).toMatchObject({ kind: 'unavailable', status: 503, retryAfter: 1 })
  },
)
