import { createGateway, type FinishEvent, gemini, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { describe, expect, it } from 'vitest'
import { gatewayTo } from '../base/gateways.ts'
import { anthropicClient, googleClient, openaiClient } from '../base/sdk-clients.ts'

const hello = [{ role: 'user' as const, content: 'hello' }]
const at = (gateway: { readonly fetch: typeof fetch }) => ({
  origin: 'http://gateway.test',
  fetch: gateway.fetch,
  token: 'any',
})

/** Creates a gateway with a fake Gemini upstream. */
function geminiBehind(breaker: false | undefined = false) {
  const fake = createFakeProvider()
  const finished: FinishEvent[] = []
  const gateway = createGateway({
    auth: 'none',
    upstreams: { up: gemini({ apiKey: 'key', baseURL: 'http://fake.test' }) },
    models: { '*': 'up' },
    fetch: fake.fetch,
    plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
    logger: false,
    retry: false,
    ...(breaker === false ? { breaker } : {}),
  })
  return { fake, finished, openai: openaiClient(at(gateway)), anthropic: anthropicClient(at(gateway)) }
}

const paused = JSON.stringify({
  candidates: [
    {
      content: { role: 'model', parts: [{ text: 'One moment' }] },
      finishReason: 'CONTINUATION',
      continuationToken: 'dG9rZW4=',
      index: 0,
    },
  ],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
  modelVersion: 'gemini-3.7-flash',
  responseId: 'r1',
})

describe('Gemini response that ends with CONTINUATION', () => {
  it('reaches the Anthropic SDK as pause_turn, unstreamed and streamed, and the token is reported', async () => {
    const { fake, finished, anthropic } = geminiBehind()
    const body = { model: 'gemini-3.7-flash', max_tokens: 99, messages: hello }
    fake.reply({ raw: { body: paused } }, { raw: { body: `data: ${paused}\r\n\r\n` } })
    const whole = await anthropic.messages.create(body)
    const streamed = await anthropic.messages.stream(body).finalMessage()
    for (const message of [whole, streamed]) {
      expect(message.stop_reason).toBe('pause_turn')
      expect(message.content).toMatchObject([{ type: 'text', text: 'One moment' }])
    }
    await expect.poll(() => finished.length).toBe(2)
    for (const { losses } of finished)
      expect(losses.map(({ path }) => path)).toContainEqual(expect.stringContaining('continuationToken'))
  })

  it('reaches the OpenAI SDK as stop, with a note that the response only paused', async () => {
    const { fake, finished, openai: client } = geminiBehind()
    fake.reply({ raw: { body: paused } })
    const completion = await client.chat.completions.create({ model: 'gemini-3.7-flash', messages: hello })
    expect(completion.choices[0]?.finish_reason).toBe('stop')
    expect(finished[0]?.losses.map(({ detail }) => detail)).toContainEqual(expect.stringContaining('only paused'))
  })
})

describe('Gemini error without a meaningful status name', () => {
  it.each([
    [402, 429],
    [408, 504],
    [409, 409],
    [413, 413],
    [422, 400],
    [529, 503],
  ])('and with the status %i reaches the OpenAI SDK with the status %i', async (status, reported) => {
    for (const word of ['UNKNOWN', 'INTERNAL', 'WORD_OF_TOMORROW']) {
      const { fake, openai: client } = geminiBehind()
      const error = { code: status, message: 'It did not work.', status: word }
      fake.reply({ raw: { status, body: JSON.stringify({ error }) } })
      const call = client.chat.completions.create({ model: 'gemini-3', messages: hello })
      await expect(call).rejects.toMatchObject({ status: reported })
    }
  })

  it('does not open the circuit breaker if the request is invalid', async () => {
    const { fake, openai: client } = geminiBehind(undefined)
    const error = { code: 422, message: 'It did not work.', status: 'UNKNOWN' }
    const refusal = { raw: { status: 422, body: JSON.stringify({ error }) } }
    fake.reply(...Array.from({ length: 30 }, () => refusal))
    for (let call = 0; call < 30; call++)
      await client.chat.completions.create({ model: 'gemini-3', messages: hello }).catch(() => undefined)
    const { choices } = await client.chat.completions.create({ model: 'gemini-3', messages: hello })
    expect(choices).toHaveLength(1)
  })
})

it('keeps the meaning of the status of an Anthropic error of the type api_error', async () => {
  const fake = createFakeProvider()
  const client = openaiClient(at(gatewayTo('messages', { fetch: fake.fetch })))
  const error = { type: 'error', error: { type: 'api_error', message: 'It did not work.' } }
  fake.reply({ raw: { status: 422, body: JSON.stringify(error) } })
  const call = client.chat.completions.create({ model: 'claude-opus-5', messages: hello })
  await expect(call).rejects.toMatchObject({ status: 400 })
})

it.each([
  ['XHIGH', 'xhigh'],
  ['max', 'max'],
])('translates the thinking level %s of a Gemini client to the effort %s', async (thinkingLevel, effort) => {
  const fake = createFakeProvider()
  const upstream = openai({ apiKey: 'key', baseURL: 'http://fake.test/v1', formats: ['responses'] })
  const google = googleClient(at(gatewayTo('responses', { upstream, fetch: fake.fetch })))
  await google.models.generateContent({
    model: 'gpt-5.6',
    contents: 'hello',
    config: { thinkingConfig: { thinkingLevel: thinkingLevel as never } },
  })
  expect(fake.requests.at(-1)?.body).toMatchObject({ reasoning: { effort } })
})
