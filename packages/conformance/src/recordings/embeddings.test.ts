import { cohere, gemini, openai, type Upstream, voyage } from '@modelgate/core'
import { describe, expect, test } from 'vitest'
import { type Json, type JsonObject, listOf, objectOf, parseJson } from '../base/json.ts'
import { openaiClient } from '../base/sdk-clients.ts'
import { at, type OperationExchange, recordedOperations, replay, whyNoOperations } from './operation-exchanges.ts'

const upstreams: Readonly<Record<string, Upstream>> = {
  openai: openai({ apiKey: 'key', baseURL: 'http://upstream.test/v1' }),
  voyage: voyage({ apiKey: 'key', baseURL: 'http://upstream.test/v1' }),
  cohere: cohere({ apiKey: 'key', baseURL: 'http://upstream.test' }),
  gemini: gemini({ apiKey: 'key', baseURL: 'http://upstream.test' }),
}
const of = (name: string): Upstream => upstreams[name] as Upstream

/** One vendor returns bytes in base64 instead of floats; only its own clients can read them. */
const bytesOnly = new Set(['perplexity'])

const floats = (value: Json | undefined): Float32Array =>
  typeof value === 'string'
    ? new Float32Array(new Uint8Array(Buffer.from(value, 'base64')).buffer)
    : Float32Array.from(listOf(value) as number[])

/** Returns the vectors of a response in any dialect, in the order of the inputs. */
function vectorsOf(answer: string): Float32Array[] {
  const body = objectOf(parseJson(answer))
  if (Array.isArray(body.data))
    return [...body.data]
      .sort((a, b) => Number(at(a, 'index')) - Number(at(b, 'index')))
      .map((item) => floats(at(item, 'embedding')))
  if (body.embedding !== undefined) return [floats(at(body, 'embedding', 'values'))]
  const lists = listOf(at(body, 'embeddings', 'float') ?? body.embeddings)
  return lists.map((item) => floats(at(item, 'values') ?? item))
}

const tokensOf = (answer: string): Json | undefined => {
  const body = parseJson(answer)
  return (
    at(body, 'usage', 'prompt_tokens') ??
    at(body, 'usage', 'total_tokens') ??
    at(body, 'usageMetadata', 'promptTokenCount') ??
    at(body, 'meta', 'billed_units', 'input_tokens')
  )
}

// A documentation example is abbreviated with dots and therefore not JSON.
const openaiExchanges = recordedOperations('embeddings').filter(
  ({ vendor, answer }) => vendor !== 'voyage' && parseJson(answer) !== undefined,
)
const good = ({ status, vendor }: OperationExchange): boolean => status === 200 && !bytesOnly.has(vendor)
const foreign: [string, OperationExchange][] = [
  ...recordedOperations('embeddings')
    .filter(({ vendor }) => vendor === 'voyage')
    .map((one): [string, OperationExchange] => ['voyage', one]),
  ...recordedOperations('embeddings-cohere').map((one): [string, OperationExchange] => ['cohere', one]),
  ...recordedOperations('gemini-embeddings')
    .filter(({ url }) => url.includes(':batchEmbedContents'))
    .map((one): [string, OperationExchange] => ['gemini', one]),
]

if (openaiExchanges.length === 0) console.log(`embeddings: ${whyNoOperations}`)

describe.skipIf(openaiExchanges.length === 0)('recorded embeddings', () => {
  test('pass byte for byte, with the same result in the SDK', async () => {
    for (const exchange of openaiExchanges) {
      const body = { ...(exchange.request ?? { input: ['a', 'b', 'c'] }), model: exchange.request?.model || 'recorded' }
      const { post, received, gateway, finished } = replay(exchange, of('openai'))
      const reply = await post('/v1/embeddings', body)
      expect([reply.status, received[0]], exchange.path).toEqual([exchange.status, JSON.stringify(body)])
      const text = await reply.text()
      if (exchange.status !== 200) {
        expect(at(parseJson(text), 'error', 'message'), exchange.path).toBe(
          at(parseJson(exchange.answer), 'error', 'message'),
        )
        continue
      }
      expect(text, exchange.path).toBe(exchange.answer)
      expect(finished[0]?.usage?.input.total, exchange.path).toBe(tokensOf(exchange.answer))
      const ask = (fetch: typeof globalThis.fetch) => openaiClient({ fetch }).embeddings.create(body as never)
      expect(await ask(gateway.fetch as typeof fetch), exchange.path).toEqual(
        await ask(replay(exchange, of('openai')).fetch),
      )
    }
    expect(openaiExchanges.length).toBeGreaterThan(60)
  })

  test('reach a client of Google’s with identical numbers', async () => {
    for (const exchange of openaiExchanges.filter(good)) {
      const vectors = vectorsOf(exchange.answer)
      const requests = vectors.map((_, index) => ({ content: { parts: [{ text: `text ${index}` }] } }))
      const reply = await replay(exchange, of('openai')).post('/v1beta/models/m:batchEmbedContents', { requests })
      const text = await reply.text()
      expect(vectorsOf(text), exchange.path).toEqual(vectors)
      expect(tokensOf(text), exchange.path).toBe(tokensOf(exchange.answer))
    }
  })

  test.each(['base64', 'float'])(
    'of another provider reach the OpenAI SDK with identical numbers as %s',
    async (encoding) => {
      for (const [name, exchange] of foreign) {
        const { gateway } = replay(exchange, of(name))
        const vectors = exchange.status === 200 ? vectorsOf(exchange.answer) : [0]
        const asking = openaiClient({ fetch: gateway.fetch as typeof fetch }).embeddings.create({
          model: 'm',
          input: vectors.map((_, index) => `text ${index}`),
          // The SDK requests base64 by default and decodes it.
          ...(encoding === 'float' ? { encoding_format: 'float' } : {}),
        })
        if (exchange.status !== 200) {
          const { message, detail } = objectOf(parseJson(exchange.answer))
          await expect(asking, exchange.path).rejects.toThrow(String(message ?? detail))
          continue
        }
        const { data, usage } = await asking
        expect(
          data.map(({ embedding }) => Float32Array.from(embedding)),
          exchange.path,
        ).toEqual(vectors)
        expect(usage.prompt_tokens, exchange.path).toBe(tokensOf(exchange.answer) ?? 0)
      }
      expect(foreign.length).toBeGreaterThan(15)
    },
  )

  test('are requested of another provider like by its own clients', async () => {
    let compared = 0
    for (const [name, { request, ...exchange }] of foreign) {
      if (request === undefined) continue
      const first = objectOf(listOf(request.requests)[0])
      const texts = listOf(request.texts ?? request.input ?? [at(first, 'content', 'parts', 0, 'text') ?? ''])
      // Two parts of one content, one of them an image: OpenAI clients cannot express this.
      if (listOf(at(first, 'content', 'parts')).length > 1) continue
      const client: JsonObject = {
        model: String(request.model ?? at(first, 'model')).replace('models/', ''),
        input: texts,
      }
      const dimensions = request.output_dimension ?? first.outputDimensionality
      if (typeof dimensions === 'number') client.dimensions = dimensions
      if (typeof request.input_type === 'string') client.input_type = request.input_type
      if (request.encoding_format === 'base64') client.encoding_format = 'base64'
      const set = replay({ ...exchange, request }, of(name))
      await set.post('/v1/embeddings', client)
      const { truncate, truncation, ...sent } = objectOf(parseJson(set.received[0] ?? ''))
      // The provider rejects a text that is too long, unless the client requested truncation.
      expect([undefined, 'NONE'], exchange.path).toContain(truncate)
      expect([undefined, false], exchange.path).toContain(truncation)
      const theirs = Object.entries(request).filter(
        ([key, value]) => value !== null && key !== 'truncate' && key !== 'truncation',
      )
      const always = name === 'cohere' ? { input_type: 'search_document', embedding_types: ['float'] } : {}
      expect(sent, exchange.path).toEqual({ ...always, ...Object.fromEntries(theirs) })
      compared++
    }
    expect(compared).toBeGreaterThan(12)
  })

  test('of Google pass byte for byte to its own clients', async () => {
    const exchanges = recordedOperations('gemini-embeddings')
    for (const exchange of exchanges) {
      const [model = '', action] = (exchange.url.split('/models/')[1] ?? '').split(':')
      const { post, received, finished } = replay(exchange, of('gemini'))
      const body = exchange.request ?? {}
      const reply = await post(`/v1beta/models/${model}:${action}`, body)
      expect(await reply.text(), exchange.path).toBe(exchange.answer)
      expect(received[0], exchange.path).toBe(JSON.stringify(body))
      // Some of its models report no usage, which is then estimated.
      const counted = tokensOf(exchange.answer)
      expect(finished[0]?.basis, exchange.path).toBe(counted === undefined ? 'estimated' : 'reported')
      if (counted !== undefined) expect(finished[0]?.usage?.input.total, exchange.path).toBe(counted)
    }
    expect(exchanges.length).toBeGreaterThan(5)
  })
})
