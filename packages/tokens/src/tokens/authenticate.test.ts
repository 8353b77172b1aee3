import { GatewayError, type Identity, type Plugin } from '@modelgate/core'
import { describe, expect, it } from 'vitest'
import { toGatewayError } from '../storage/errors.ts'
import { createAuthenticate, createIdentities } from './authenticate.ts'
import { fakeStore } from './fake-store.test-support.ts'
import { createManagement } from './manage.ts'
import { createRecordCache } from './record-cache.ts'
import { digestOf, newSecret } from './secret.ts'

const start = Date.parse('2026-11-21T12:00:00Z')
const request = { method: 'POST', path: '/v1/chat/completions', header: () => undefined }

function make({ staleMs = 0, started = true }: { staleMs?: number; started?: boolean } = {}) {
  let time = start
  const now = (): number => time
  const store = fakeStore()
  const cache = createRecordCache({ lookUp: store.findByDigest, cacheMs: 500, staleMs, now })
  const identities = createIdentities(store)
  const plugin: Plugin = { name: 'tokens' }
  const authenticate = createAuthenticate({
    cache,
    identities,
    plugin,
    isStarted: () => started,
    toGatewayError,
    now,
  })
  return {
    authenticate: (secret: string) => authenticate(secret, request),
    plugin: authenticate.plugin === plugin,
    tokens: createManagement({ store, onChange: (id) => cache.forget((record) => record.id === id), now }),
    store,
    identities,
    pass: (ms: number) => {
      time += ms
    },
  }
}

/** Returns the error of a rejected call, or `accepted`. */
async function outcomeText(answer: () => unknown): Promise<string> {
  try {
    const identity = await answer()
    return identity === null ? 'unknown' : 'accepted'
  } catch (error) {
    if (error instanceof GatewayError) return `${error.info.kind}: ${error.message}`
    throw error
  }
}

describe('a valid token', () => {
  it('is accepted at once, with its identity', async () => {
    const { authenticate, tokens, plugin } = make()
    const settings = { name: 'laptop', owner: 'ada', models: ['gpt-*'], metadata: { team: { name: 'a' } } }
    const { secret, id } = await tokens.issue(settings)
    const identity = authenticate(secret)
    expect(identity).toMatchObject({ id, ...settings })
    expect(Object.keys(identity ?? {}).sort()).toEqual(['id', ...Object.keys(settings)].sort())
    expect(authenticate(secret)).toBe(identity)
    expect(plugin).toBe(true)
  })

  it('is accepted if the store returns promises', async () => {
    const { authenticate, tokens, store } = make()
    const { secret, id } = await tokens.issue()
    store.later = true
    const first = authenticate(secret)
    expect(first).toBeInstanceOf(Promise)
    expect(await first).toMatchObject({ id })
    // Returned synchronously from the cache.
    expect(authenticate(secret)).toMatchObject({ id })
    expect(store.lookups).toBe(1)
  })

  it('has a frozen identity without secret or digest', async () => {
    const { authenticate, tokens } = make()
    const { secret } = await tokens.issue({ models: ['gpt-*'], metadata: { team: { name: 'a' } } })
    const identity = (await authenticate(secret)) as Identity & { metadata: { team: { name: string } } }
    expect(() => Object.assign(identity, { id: 'another' })).toThrow(TypeError)
    expect(() => Object.assign(identity.metadata.team, { name: 'b' })).toThrow(TypeError)
    expect(Object.isFrozen(identity.models)).toBe(true)
    expect(JSON.stringify(identity)).not.toContain(secret.slice(3, 20))
    expect(JSON.stringify(identity)).not.toContain(digestOf(secret).slice(0, 20))
  })

  it('is found by its identity and by a copy of it, and by no other identity', async () => {
    const { authenticate, tokens, identities } = make()
    const { secret, id } = await tokens.issue({ limits: { requests: 1 } })
    const identity = (await authenticate(secret)) as Identity
    for (const one of [identity, { ...identity, tenant: 'x' }, { ...identity, id: 'user-1' }])
      expect(await identities.tokenFor(one)).toMatchObject({ id })
    for (const one of [null, { id: 'owner' }, { id: 'tok_short' }])
      expect(await identities.tokenFor(one)).toBeUndefined()
  })

  it("rejects a host identity with the id of a token, instead of spending that token's budget", async () => {
    const { authenticate, tokens, identities } = make()
    const { secret, id } = await tokens.issue({ limits: { requests: 1 } })
    await authenticate(secret)
    for (const forged of [
      { id },
      JSON.parse(JSON.stringify(await authenticate(secret))),
      { id: 'tok_0000000000000000000000' },
    ])
      expect(() => identities.tokenFor(forged)).toThrow('was not created by tokens.authenticate')
  })
})

describe('the authentication error', () => {
  it('rejects a malformed token without a lookup and without quoting it', async () => {
    const { authenticate, tokens, store } = make()
    const { secret } = await tokens.issue()
    const swapped = secret.slice(0, 10) + (secret[10] === 'a' ? 'b' : 'a') + secret.slice(11)
    for (const wrong of [swapped, secret.slice(0, -1), `${secret}x`, 'sk-proj-abcdefgh', 'mg-', 'Bearer x']) {
      const words = await outcomeText(() => authenticate(wrong))
      expect(words).toMatch(/^authentication: Incorrect API key provided: it is mistyped or incomplete/)
      expect(words).not.toContain(wrong.slice(0, 12).padEnd(12, '\0'))
    }
    expect(store.lookups).toBe(0)
  })

  it('reports an unknown token, which is not looked up for each call', async () => {
    const { authenticate, store, pass } = make()
    const secret = newSecret()
    for (let call = 0; call < 5; call++) expect(authenticate(secret)).toBeNull()
    expect(store.lookups).toBe(1)
    pass(250)
    expect(authenticate(secret)).toBeNull()
    expect(store.lookups).toBe(2)
  })

  it('reports a revoked token at once', async () => {
    const { authenticate, tokens } = make()
    const { secret, id } = await tokens.issue()
    await authenticate(secret)
    await tokens.revoke(id)
    expect(await outcomeText(() => authenticate(secret))).toBe(
      'authentication: This token was revoked on 2026-11-21. Request a new one.',
    )
  })

  it('reports a token that another process revoked as soon as its cache entry expires', async () => {
    const { authenticate, tokens, store, pass } = make()
    const { secret, id } = await tokens.issue()
    await authenticate(secret)
    await createManagement({ store, onChange: () => {}, now: () => start }).revoke(id)
    pass(500)
    expect(await outcomeText(() => authenticate(secret))).toMatch(/revoked/)
  })

  it('reports an expired token to the millisecond, also from the cache', async () => {
    const { authenticate, tokens, pass } = make()
    const { secret } = await tokens.issue({ expiresAt: start + 100 })
    expect(await outcomeText(() => authenticate(secret))).toBe('accepted')
    pass(99)
    expect(await outcomeText(() => authenticate(secret))).toBe('accepted')
    pass(1)
    expect(await outcomeText(() => authenticate(secret))).toBe(
      'authentication: This token expired on 2026-11-21. Request a new one.',
    )
  })

  it('reports an old secret when its grace period is over, and not before', async () => {
    const { authenticate, tokens, pass } = make()
    const { secret: old, id } = await tokens.issue()
    const { secret } = await tokens.rotate(id, { graceMs: 1000 })
    pass(999)
    expect(await outcomeText(() => authenticate(old))).toBe('accepted')
    expect(await outcomeText(() => authenticate(secret))).toBe('accepted')
    pass(1)
    expect(await outcomeText(() => authenticate(old))).toMatch(/^authentication: This secret was replaced/)
    expect(await outcomeText(() => authenticate(secret))).toBe('accepted')
  })
})

it('rejects a record with another digest than requested', async () => {
  const { authenticate, tokens, store } = make()
  await tokens.issue()
  const [record] = store.records.values()
  store.findByDigest = () => record
  expect(authenticate(newSecret())).toBeNull()
})

describe('authentication while the store is unavailable', () => {
  it.each([false, true])('fails with a 503 with retry-after (store returns a promise: %s)', async (later) => {
    const { authenticate, tokens, store } = make()
    const { secret } = await tokens.issue()
    store.away = true
    store.later = later
    const failure = await (async () => authenticate(secret))().catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(GatewayError)
    expect(failure).toMatchObject({ info: { kind: 'unavailable', status: 503, retryAfter: 1 } })
  })

  it('accepts the last known state if configured, and still applies expiry', async () => {
    const { authenticate, tokens, store, pass } = make({ staleMs: 10_000 })
    const [good, revoked, expiring, unseen] = await Promise.all([
      tokens.issue(),
      tokens.issue(),
      tokens.issue({ expiresAt: start + 2000 }),
      tokens.issue(),
    ])
    await tokens.revoke(revoked.id)
    for (const { secret } of [good, revoked, expiring]) await outcomeText(() => authenticate(secret))
    store.away = true
    pass(5000)
    expect(await outcomeText(() => authenticate(good.secret))).toBe('accepted')
    expect(await outcomeText(() => authenticate(revoked.secret))).toMatch(/revoked/)
    expect(await outcomeText(() => authenticate(expiring.secret))).toMatch(/expired/)
    expect(await outcomeText(() => authenticate(unseen.secret))).toMatch(/^unavailable/)
    pass(5000)
    expect(await outcomeText(() => authenticate(good.secret))).toMatch(/^unavailable/)
    store.away = false
    expect(await outcomeText(() => authenticate(good.secret))).toBe('accepted')
  })
})

describe('authentication without the plugin', () => {
  it.each([{ limits: { requests: 60 } }, { budget: { tokens: 1000, period: 'day' } } as const])(
    'rejects a token with %o, and logs a remedy for the host',
    async (settings) => {
      const { authenticate, tokens } = make({ started: false })
      const { secret } = await tokens.issue(settings)
      await expect((async () => authenticate(secret))()).rejects.toThrow('plugins: [tokens.plugin]')
      await expect((async () => authenticate(secret))()).rejects.not.toBeInstanceOf(GatewayError)
    },
  )

  it('accepts a token without limits', async () => {
    const { authenticate, tokens } = make({ started: false })
    const { secret } = await tokens.issue()
    expect(await outcomeText(() => authenticate(secret))).toBe('accepted')
  })
})
