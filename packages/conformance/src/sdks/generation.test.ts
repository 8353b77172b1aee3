import { createGateway } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { createTokens, memoryStorage } from '@modelgate/tokens'
import { OpenRouter } from '@openrouter/sdk'
import { expect, it } from 'vitest'
import { upstreamOf } from '../base/gateways.ts'
import { servers } from '../base/servers.ts'

it('the SDK of OpenRouter reads the generations of its own token', async () => {
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
    const clientOf = async () =>
      new OpenRouter({
        apiKey: (await tokens.issue({})).secret,
        serverURL: `${origin}/api/v1`,
        retryConfig: { strategy: 'none' },
      })
    const [own, other] = [await clientOf(), await clientOf()]
    const messages = [{ role: 'user' as const, content: 'hello' }]
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
  } finally {
    await close()
  }
})
