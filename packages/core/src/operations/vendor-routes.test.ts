import { describe, expect, it } from 'vitest'
import { setUp } from '../gateway/create-gateway.test-support.ts'
import { openai } from '../upstreams/openai.ts'

const headers = { 'api-key': 'good' }

describe('GET /v1/tcp_warming', () => {
  it.each(['GET', 'HEAD'])('answers %s without an upstream call, and settles no call', async (method) => {
    const { gateway, seen, finished } = setUp({})
    const reply = await gateway.fetch('http://gw/v1/tcp_warming', { method, headers })
    expect([reply.status, seen.length, finished.length]).toEqual([200, 0, 0])
  })
})

describe.each(['/info', '/models/info'])('GET %s', (path) => {
  const upstreams = { up: openai({ apiKey: 'k' }) }
  const ask = (models: object, query = '') => {
    const { gateway } = setUp({}, { upstreams, models } as object)
    return gateway.fetch(`http://gw${path}?api-version=2024-05-01-preview${query}`, { headers })
  }

  it.each([
    ['gpt-5', 'chat_completion'],
    ['text-embedding-3-small', 'embeddings'],
    ['gpt-image-1', 'image_generation'],
    ['gpt-4o-mini-tts', 'audio_generation'],
  ])('describes the only model, %s', async (name, type) => {
    const reply = await ask({ [name]: 'up' })
    expect(await reply.json()).toEqual({ model_name: name, model_type: type, model_provider_name: 'modelgate' })
  })

  it('requires a name if there are several models', async () => {
    const several = { 'gpt-5': 'up', 'text-embedding-3-small': 'up' }
    const reply = await ask(several)
    expect([reply.status, (await reply.json()).error.param]).toEqual([400, 'model'])
    expect(await (await ask(several, '&model=text-embedding-3-small')).json()).toMatchObject({
      model_type: 'embeddings',
    })
    expect((await ask(several, '&model=other')).status).toBe(404)
  })

  it('shows no model that the caller may not use', async () => {
    const { gateway } = setUp({}, {
      upstreams,
      models: { 'gpt-5': 'up', secret: 'up' },
      auth: () => ({ id: 'me', models: ['gpt-5'] }),
    } as object)
    const info = async (query: string) => gateway.fetch(`http://gw${path}${query}`, { headers })
    expect(await (await info('')).json()).toMatchObject({ model_name: 'gpt-5' })
    expect((await info('?model=secret')).status).toBe(404)
  })
})
