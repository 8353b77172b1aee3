import { createGateway, openai, openaiCompatible } from '@modelgate/core'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { type JsonObject, parseJson } from '../base/json.ts'
import { openaiClient } from '../base/sdk-clients.ts'
import { at, type OperationExchange, recordedOperations, replay, whyNoOperations } from './operation-exchanges.ts'

const path = '/v1/completions'
const exchanges = recordedOperations('completions')
const upstream = openai({ apiKey: 'key', baseURL: 'http://upstream.test/v1' })
const bodyOf = ({ request, stream }: OperationExchange): JsonObject => ({
  ...(request ?? { model: 'recorded', prompt: 'Hello' }),
  ...(stream ? { stream: true } : {}),
})

/** Returns the SDK's reading of a response, or its error. */
async function read(client: OpenAI, body: JsonObject): Promise<unknown> {
  try {
    if (body.stream !== true)
      return await client.completions.create(body as unknown as OpenAI.CompletionCreateParamsNonStreaming)
    const chunks = []
    for await (const chunk of await client.completions.create(
      body as unknown as OpenAI.CompletionCreateParamsStreaming,
    ))
      chunks.push(chunk)
    return chunks
  } catch (error) {
    return error instanceof OpenAI.APIError ? { status: error.status, message: error.message } : error
  }
}

if (exchanges.length === 0) console.log(`completions: ${whyNoOperations}`)

describe.skipIf(exchanges.length === 0)('recorded completions', () => {
  test('pass byte for byte, with the same result in the SDK', async () => {
    let streams = 0
    for (const exchange of exchanges) {
      const body = bodyOf(exchange)
      if (body.model === '') body.model = 'recorded'
      const { post, received, gateway, finished } = replay(exchange, upstream)
      const reply = await post(path, body)
      const text = await reply.text()
      if (exchange.status !== 200) {
        // A rejection has the provider's message, whether the gateway or the provider rejected it.
        expect(reply.status, exchange.path).toBe(exchange.status)
        expect(at(parseJson(text), 'error', 'message'), exchange.path).toBe(
          at(parseJson(exchange.answer), 'error', 'message'),
        )
        continue
      }
      expect(text, exchange.path).toBe(exchange.answer)
      expect(received[0], exchange.path).toBe(JSON.stringify(body))
      expect(finished[0]?.outcome, exchange.path).toBe('finished')
      if (!exchange.stream && exchange.answer.includes('"usage"'))
        expect(finished[0]?.usage?.input.total, exchange.path).toBe(
          at(parseJson(exchange.answer), 'usage', 'prompt_tokens'),
        )
      const through = await read(openaiClient({ fetch: gateway.fetch as typeof fetch }), body)
      const direct = await read(openaiClient({ fetch: replay(exchange, upstream).fetch }), body)
      expect(through, exchange.path).toEqual(direct)
      if (exchange.stream) streams++
    }
    expect(streams).toBeGreaterThan(9)
  })

  test('can be served by a chat model, or are rejected with a reason', async () => {
    const completion = {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'served',
      choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
    }
    let answered = 0
    for (const exchange of exchanges) {
      const body: JsonObject = { ...bodyOf(exchange), stream: false }
      if (body.model === '') body.model = 'recorded'
      const chatty = openaiCompatible({ apiKey: 'key', baseURL: 'http://upstream.test/v1' })
      const set = replay({ ...exchange, stream: false, status: 200, answer: JSON.stringify(completion) }, chatty)
      const reply = await set.post(path, body)
      const reported = parseJson(await reply.text())
      const texts = Array.isArray(body.prompt) ? body.prompt : [body.prompt ?? '']
      const sayable = texts.length === 1 && typeof texts[0] === 'string' && texts[0] !== ''
      if (!sayable || (exchange.status !== 200 && reply.status === 400)) {
        expect(reply.status, exchange.path).toBe(400)
        continue
      }
      expect(at(reported, 'choices', 0, 'text'), `${exchange.path}: ${JSON.stringify(reported)}`).toBe(
        body.echo === true ? `${texts[0]}hello` : 'hello',
      )
      expect(at(parseJson(set.received[0] ?? ''), 'messages', 0, 'content'), exchange.path).toBe(texts[0])
      answered++
    }
    expect(answered).toBeGreaterThan(40)
  })
})

describe('completions with the OpenAI SDK, in process', () => {
  const chunk = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
  const gatewayTo = (answer: string, type: string) =>
    createGateway({
      auth: 'none',
      upstreams: { only: openaiCompatible({ apiKey: 'key', baseURL: 'http://upstream.test/v1' }) },
      models: { '*': 'only' },
      fetch: async () => new Response(answer, { headers: { 'content-type': type } }),
      logger: false,
    })

  test('stream from a chat model', async () => {
    const events = `${chunk({ role: 'assistant', content: 'hel' }, null)}${chunk({ content: 'lo' }, 'stop')}data: [DONE]\n\n`
    const client = openaiClient({ fetch: gatewayTo(events, 'text/event-stream').fetch as typeof fetch })
    let text = ''
    for await (const { choices } of await client.completions.create({
      model: 'm',
      prompt: 'Say hello: ',
      echo: true,
      stream: true,
    }))
      text += choices[0]?.text
    expect(text).toBe('Say hello: hello')
  })

  test('throw the SDK’s own error if a stream breaks', async () => {
    const client = openaiClient({
      fetch: gatewayTo(chunk({ content: 'hel' }, null), 'text/event-stream').fetch as typeof fetch,
    })
    const stream = await client.completions.create({ model: 'm', prompt: 'x', stream: true })
    const reading = async (): Promise<void> => {
      for await (const _ of stream);
    }
    await expect(reading()).rejects.toThrow(OpenAI.APIError)
  })
})
