import { cohere, createGateway, openai } from '@modelgate/core'
import { describe, expect, it } from 'vitest'
import { createTokens } from '../create-tokens.ts'
import type { Price } from '../prices/price-table.ts'
import { memoryStorage } from '../storage/memory/memory-storage.ts'

/** Creates a provider that responds to every operation and counts its calls. */
function provider(usage?: object) {
  let calls = 0
  const fetch = async (input: unknown, init?: RequestInit): Promise<Response> => {
    calls++
    const { pathname } = new URL(String(input))
    if (pathname.endsWith('/speech')) return new Response('sound', { headers: { 'content-type': 'audio/mpeg' } })
    if (pathname.endsWith('/rerank')) return Response.json({ results: [{ index: 0, relevance_score: 1 }] })
    if (pathname.endsWith('/transcriptions'))
      return Response.json({ text: 'Hi', usage: { type: 'duration', seconds: 60 } })
    const { n = 1 } = JSON.parse(
      String(init?.body instanceof Uint8Array ? new TextDecoder().decode(init.body) : init?.body),
    )
    return Response.json({ created: 1, data: Array.from({ length: n }, () => ({ b64_json: 'aGk=' })), ...usage })
  }
  return { fetch: fetch as typeof globalThis.fetch, calls: () => calls }
}

async function setUp(price: Price, money: number, usage?: object) {
  const { fetch, calls } = provider(usage)
  const tokens = createTokens({ storage: memoryStorage(), prices: { models: { m: price } }, logger: false })
  const gateway = createGateway({
    auth: tokens.authenticate,
    upstreams: {
      up: openai({ apiKey: 'k', baseURL: 'http://up/v1' }),
      ranker: cohere({ apiKey: 'k', baseURL: 'http://ranker' }),
    },
    models: { m: 'up', ranking: { upstream: 'ranker', model: 'm' } },
    fetch,
    logger: false,
  })
  const { secret } = await tokens.issue({ budget: { money, period: 'total' } })
  const authorization = `Bearer ${secret}`
  const post = async (path: string, body: object | FormData): Promise<number> => {
    const form = body instanceof FormData
    const response = await gateway.fetch(`http://gate${path}`, {
      method: 'POST',
      headers: form ? { authorization } : { authorization, 'content-type': 'application/json' },
      body: form ? body : JSON.stringify({ model: 'm', ...body }),
    })
    await response.arrayBuffer()
    return response.status
  }
  /** Returns how many of 100 concurrent calls are accepted. */
  const accepted = async (path: string, body: object): Promise<number> => {
    const statuses = await Promise.all(Array.from({ length: 100 }, () => post(path, body)))
    return statuses.filter((status) => status === 200).length
  }
  return { post, accepted, calls }
}

describe('a budget in money', () => {
  const speech = { input: 'x'.repeat(4000), voice: 'alloy' } // $0.06 at $15 per million characters

  it('rejects speech that costs more than the remainder, however many calls arrive at once', async () => {
    const { accepted, calls } = await setUp({ characters: 15 }, 0.05)
    expect(await accepted('/v1/audio/speech', speech)).toBe(0)
    expect(calls()).toBe(0)
  })
  it('accepts only as many concurrent speech calls as it covers', async () => {
    const { accepted, calls } = await setUp({ characters: 15 }, 0.2)
    expect(await accepted('/v1/audio/speech', speech)).toBe(3)
    expect(calls()).toBe(3)
  })
  it('counts every image that is requested', async () => {
    const { post, accepted } = await setUp({ image: 0.04 }, 0.1)
    expect(await post('/v1/images/generations', { prompt: 'a cat', n: 10 })).toBe(429)
    expect(await accepted('/v1/images/generations', { prompt: 'a cat', n: 2 })).toBe(1)
  })
  it('reserves the price per image if the model also has token prices', async () => {
    const { accepted } = await setUp({ image: 0.04, input: 0, output: 0 }, 0.1)
    expect(await accepted('/v1/images/generations', { prompt: 'a cat' })).toBe(2)
  })
  it.each([
    ['low', 4],
    ['high', 1],
  ])('reserves the tokens of images in %s quality where only tokens have a price', async (quality, most) => {
    // At $100 per million tokens, 408 and 6,240 tokens: $0.0408 and $0.624. The smallest image takes $0.0272.
    const usage = { usage: { input_tokens: 10, output_tokens: 408, total_tokens: 418 } }
    const { accepted } = await setUp({ input: 0, output: 100 }, 0.16, usage)
    expect(await accepted('/v1/images/generations', { prompt: 'a cat', quality })).toBe(most)
  })
  it('reserves one search for every 100 documents to rerank', async () => {
    const documents = Array.from({ length: 250 }, (_, index) => `document ${index}`)
    const ask = { model: 'ranking', query: 'q', documents }
    const { accepted } = await setUp({ search: 0.002 }, 0.01)
    expect(await accepted('/v2/rerank', { ...ask, documents: documents.slice(0, 100) })).toBe(5)
    expect(await (await setUp({ search: 0.002 }, 0.005)).post('/v2/rerank', ask)).toBe(429)
    expect(await (await setUp({ search: 0.002 }, 0.006)).post('/v2/rerank', ask)).toBe(200)
  })
  it('does not require a price per search for reranking', async () => {
    const ask = { model: 'ranking', query: 'q', documents: ['a', 'b'] }
    expect(await (await setUp({ request: 0.002 }, 0.01)).accepted('/v2/rerank', ask)).toBe(5)
    expect(await (await setUp({ input: 1 }, 0.01)).post('/v2/rerank', ask)).toBe(200)
  })
  it('reserves the minutes of an audio upload according to its size', async () => {
    const form = (bytes: number): FormData => {
      const body = new FormData()
      body.set('model', 'm')
      body.set('file', new Blob([new Uint8Array(bytes)]), 'speech.mp3')
      return body
    }
    // 12 MB of audio last between 62 s and 100 minutes: at $0.06 per minute, $0.0625 to $6.
    const { post } = await setUp({ minute: 0.06 }, 0.05)
    expect(await post('/v1/audio/transcriptions', form(12_000_000))).toBe(429)
    expect(await post('/v1/audio/transcriptions', form(100_000))).toBe(200)
  })
})
