import { createGateway } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { createTokens, memoryStorage, type TokenSettings } from '@modelgate/tokens'
import { OpenRouter } from '@openrouter/sdk'
import { expect, it } from 'vitest'
import { upstreamOf } from '../base/gateways.ts'
import { servers } from '../base/servers.ts'

interface Clients {
  /** Creates a client with a token of its own. */
  issue(settings?: TokenSettings): Promise<OpenRouter>
  withKey(apiKey: string): OpenRouter
}

/** Runs `work` with clients of a gateway that has prices. */
async function withClients(work: (clients: Clients) => Promise<void>): Promise<void> {
  const [server] = servers
  if (server === undefined) throw new Error('no server')
  const prices = { models: { demo: { input: 1000, output: 1000 } } }
  await using tokens = createTokens({ storage: memoryStorage(), prices, logger: false })
  await using gateway = createGateway({
    auth: tokens.authenticate,
    upstreams: { up: upstreamOf('chat') },
    models: { demo: 'up' },
    fetch: createFakeProvider().fetch,
    logger: false,
  })
  const { origin, close } = await server.start(gateway)
  const withKey = (apiKey: string): OpenRouter =>
    new OpenRouter({ apiKey, serverURL: `${origin}/api/v1`, retryConfig: { strategy: 'none' } })
  try {
    await work({ withKey, issue: async (settings = {}) => withKey((await tokens.issue(settings)).secret) })
  } finally {
    await close()
  }
}

const messages = [{ role: 'user' as const, content: 'hello' }]

it('the SDK of OpenRouter reads the budget of its own token', () =>
  withClients(async ({ issue, withKey }) => {
    const rich = await issue({ budget: { money: 20, period: 'month' } })
    const poor = await issue({ budget: { money: 3, period: 'month' } })
    const spent = await issue({ budget: { money: 0, period: 'month' } })
    const limited = await issue({ budget: { money: 1, period: 'month' }, limits: { requests: 1 } })
    const free = await issue({})
    await rich.chat.send({ chatRequest: { model: 'demo', messages, stream: false } } as never)
    const { data } = await rich.credits.getCredits()
    expect(data.totalCredits).toBe(20)
    expect(data.totalUsage).toBeGreaterThan(0)
    expect(await rich.credits.getCredits()).toEqual({ data })
    expect(await poor.credits.getCredits()).toEqual({ data: { totalCredits: 3, totalUsage: 0 } })
    expect((await spent.credits.getCredits()).data).toEqual({ totalCredits: 0, totalUsage: 0 })
    expect((await limited.credits.getCredits()).data).toEqual({ totalCredits: 1, totalUsage: 0 })
    await expect(limited.credits.getCredits()).rejects.toMatchObject({ statusCode: 429 })
    await expect(free.credits.getCredits()).rejects.toMatchObject({ statusCode: 404 })
    await expect(withKey('wrong').credits.getCredits()).rejects.toMatchObject({ statusCode: 401 })
  }))

it('the SDK of OpenRouter reads the generations of its own token', () =>
  withClients(async ({ issue }) => {
    const [own, other] = [await issue(), await issue()]
    const whole = await own.chat.send({ chatRequest: { model: 'demo', messages, stream: false } })
    if (!('id' in whole)) throw new Error('no whole response')
    const { data } = await own.generations.getGeneration({ id: whole.id })
    expect(data).toMatchObject({
      id: whole.id,
      model: 'demo',
      providerName: 'up',
      streamed: false,
      finishReason: 'stop',
    })
    expect(data.tokensPrompt).toBe(whole.usage?.promptTokens)
    expect(data.tokensCompletion).toBe(whole.usage?.completionTokens)
    expect(data.totalCost).toBeGreaterThan(0)
    const stream = await own.chat.send({ chatRequest: { model: 'demo', messages, stream: true } })
    if ('id' in stream) throw new Error('no stream')
    let id = ''
    for await (const chunk of stream) id = chunk.id
    expect((await own.generations.getGeneration({ id })).data).toMatchObject({ id, streamed: true, cancelled: false })
    await expect(other.generations.getGeneration({ id })).rejects.toMatchObject({ statusCode: 404 })
  }))
