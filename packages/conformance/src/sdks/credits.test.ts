import { createGateway } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { createTokens, memoryStorage, type TokenSettings } from '@modelgate/tokens'
import { OpenRouter } from '@openrouter/sdk'
import { expect, it } from 'vitest'
import { upstreamOf } from '../base/gateways.ts'
import { servers } from '../base/servers.ts'

it('the SDK of OpenRouter reads the budget of its own token', async () => {
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
  try {
    const clientOf = async (settings: TokenSettings) => {
      const { secret } = await tokens.issue(settings)
      return new OpenRouter({
        apiKey: secret,
        serverURL: `${origin}/api/v1`,
        retryConfig: { strategy: 'none' },
      })
    }
    const rich = await clientOf({ budget: { money: 20, period: 'month' } })
    const poor = await clientOf({ budget: { money: 3, period: 'month' } })
    const spent = await clientOf({ budget: { money: 0, period: 'month' } })
    const limited = await clientOf({ budget: { money: 1, period: 'month' }, limits: { requests: 1 } })
    const free = await clientOf({})
    const messages = [{ role: 'user' as const, content: 'hello' }]
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
    const wrong = new OpenRouter({ apiKey: 'wrong', serverURL: `${origin}/api/v1`, retryConfig: { strategy: 'none' } })
    await expect(wrong.credits.getCredits()).rejects.toMatchObject({ statusCode: 401 })
  } finally {
    await close()
  }
})
