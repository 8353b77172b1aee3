import Anthropic from '@anthropic-ai/sdk'
import { ApiError, GoogleGenAI } from '@google/genai'
import { createGateway } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { createTokens, memoryLedger, memoryStorage, type TokenSettings } from '@modelgate/tokens'
import OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { upstreamKey, upstreamOf } from '../base/gateways.ts'
import { type Running, type ServerKind, servers } from '../base/servers.ts'

/** Common fields of the SDKs' exceptions for rejected calls. */
interface Refusal {
  readonly status: number | undefined
  readonly code: string | undefined
  readonly message: string
  header(name: string): string | null | undefined
}

type Ask = (running: Running, secret: string) => Promise<unknown>

const messages = [{ role: 'user' as const, content: 'hello' }]
const clients: readonly {
  readonly name: string
  readonly limit: string
  readonly ask: Ask
  refusal(error: unknown): Refusal
}[] = [
  {
    name: 'openai',
    limit: 'x-ratelimit-remaining-requests',
    ask: ({ origin, fetch }, apiKey) =>
      new OpenAI({ apiKey, baseURL: `${origin}/v1`, ...(fetch && { fetch }) }).chat.completions.create({
        model: 'any',
        messages,
      }),
    refusal(error) {
      if (!(error instanceof OpenAI.APIError)) throw error
      return {
        status: error.status,
        code: error.code ?? undefined,
        message: error.message,
        header: (name) => error.headers?.get(name),
      }
    },
  },
  {
    name: '@anthropic-ai/sdk',
    limit: 'anthropic-ratelimit-requests-remaining',
    ask: ({ origin, fetch }, apiKey) =>
      new Anthropic({ apiKey, baseURL: origin, ...(fetch && { fetch }) }).messages.create({
        model: 'any',
        max_tokens: 64,
        messages,
      }),
    refusal(error) {
      if (!(error instanceof Anthropic.APIError)) throw error
      const { status, headers } = error
      return { status, code: error.type ?? undefined, message: error.message, header: (name) => headers?.get(name) }
    },
  },
  {
    name: '@google/genai',
    limit: '',
    ask: ({ origin }, apiKey) =>
      new GoogleGenAI({ apiKey, httpOptions: { baseUrl: origin } }).models.generateContent({
        model: 'any',
        contents: 'hello',
      }),
    refusal(error) {
      if (!(error instanceof ApiError)) throw error
      const { error: body } = JSON.parse(error.message) as { error: { status: string; message: string } }
      return { status: error.status, code: body.status, message: body.message, header: () => undefined }
    },
  },
]

const server = servers[0] as ServerKind
const codes = {
  limited: {
    openai: 'rate_limit_exceeded',
    '@anthropic-ai/sdk': 'rate_limit_error',
    '@google/genai': 'RESOURCE_EXHAUSTED',
  },
  spent: {
    openai: 'insufficient_quota',
    '@anthropic-ai/sdk': 'rate_limit_error',
    '@google/genai': 'RESOURCE_EXHAUSTED',
  },
} as Record<'limited' | 'spent', Record<string, string>>

describe.each(clients)('platform token in $name', ({ name, limit, ask, refusal }) => {
  let running: Running
  const ledger = memoryLedger()
  const tokens = createTokens({ storage: memoryStorage(), ledger })
  beforeEach(async () => {
    const provider = createFakeProvider({ apiKey: upstreamKey })
    running = await server.start(
      createGateway({
        auth: tokens.authenticate,
        upstreams: { up: upstreamOf('chat') },
        models: { any: 'up', other: 'up' },
        fetch: provider.fetch,
        logger: false,
      }),
    )
  })
  afterEach(() => running.close())
  const issued = (settings: TokenSettings) => tokens.issue(settings)
  const refused = async (secret: string): Promise<Refusal> =>
    refusal(
      await ask(running, secret).then(
        () => expect.fail('the call was accepted'),
        (error: unknown) => error,
      ),
    )
  const callsOf = (id: string) => ledger.records.filter(({ token }) => token === id)

  it('makes the SDK wait and succeed if it is limited to one request per second', async () => {
    if (name === '@google/genai') return // This SDK has no retries by default.
    const { id, secret } = await issued({ limits: { requests: 1, window: 'second' } })
    await ask(running, secret)
    await ask(running, secret)
    const records = callsOf(id)
    expect(records.filter(({ status }) => status === 200)).toHaveLength(2)
    expect(records.length).toBeLessThanOrEqual(4)
  })

  it('makes the SDK report the retry delay without an immediate retry if it is limited for an hour', async () => {
    const { id, secret } = await issued({ limits: { requests: 1, window: 'hour' } })
    await ask(running, secret)
    const error = await refused(secret)
    expect(error).toMatchObject({ status: 429, code: codes.limited[name] })
    expect(error.message).toMatch(/any/)
    expect(callsOf(id).map(({ status }) => status)).toEqual([200, 429])
    if (limit === '') return
    expect(error.header(limit)).toBe('0')
    const wait = Number(error.header('retry-after'))
    expect(wait).toBeGreaterThan(60)
    expect(wait).toBeLessThanOrEqual(7200)
    expect(error.header('x-should-retry')).toBe('false')
  })

  it('makes the SDK report an exhausted budget without a retry', async () => {
    const { id, secret } = await issued({ budget: { period: 'month', tokens: 5 } })
    const error = await refused(secret)
    expect(error).toMatchObject({ status: 429, code: codes.spent[name] })
    expect(error.message).toMatch(/month/)
    expect(callsOf(id)).toHaveLength(1)
    expect(error.header('retry-after') ?? null).toBeNull()
    if (limit !== '') expect(error.header('x-should-retry')).toBe('false')
  })

  it('is rejected if it is not valid for the model, mistyped, revoked or expired', async () => {
    const foreign = await issued({ models: ['other'] })
    expect((await refused(foreign.secret)).status).toBe(404)
    const { id, secret } = await issued({})
    const wrong = await refused(`${secret.slice(0, -1)}${secret.endsWith('a') ? 'b' : 'a'}`)
    expect([400, 401]).toContain(wrong.status)
    expect(wrong.message).toMatch(/mistyped/)
    expect(wrong.message).not.toContain(secret.slice(0, 20))
    await ask(running, secret)
    await tokens.revoke(id)
    expect((await refused(secret)).message).toMatch(/revoked/)
    const short = await issued({ expiresAt: Date.now() + 60 })
    await new Promise((resolve) => setTimeout(resolve, 80))
    expect((await refused(short.secret)).message).toMatch(/expired/)
  })

  it('has two valid secrets after a rotation until the grace period ends', async () => {
    const { id, secret } = await issued({})
    const next = await tokens.rotate(id, { graceMs: 300 })
    await ask(running, secret)
    await ask(running, next.secret)
    await new Promise((resolve) => setTimeout(resolve, 350))
    expect([400, 401]).toContain((await refused(secret)).status)
    await ask(running, next.secret)
  })
})
