import { describe, expect, it } from 'vitest'
import { concatBytes } from '../base/bytes.ts'
import type { JsonObject } from '../base/json/json.ts'
import type { Format, SharedFormat, UpstreamFormat } from '../base/names.ts'
import type { Loss } from '../formats/ir.ts'
import { eventFrame } from '../http/frames/frames.test-support.ts'
import { anthropic } from '../upstreams/anthropic.ts'
import { bedrock } from '../upstreams/bedrock.ts'
import { gemini } from '../upstreams/gemini.ts'
import { openai } from '../upstreams/openai.ts'
import { type Answer, setUp } from './create-gateway.test-support.ts'
import {
  answers,
  fillIn,
  placeFor,
  pointersIn,
  pointersOf,
  put,
  readNumbers,
  requests,
  type StreamEvent,
  streams,
  withNumbers,
} from './numbers.test-support.ts'

const shared: readonly SharedFormat[] = ['chat', 'messages', 'gemini', 'responses', 'converse']
const clients: readonly Format[] = [...shared, 'ollama']
const upstreamFormats: readonly UpstreamFormat[] = ['chat', 'messages', 'gemini', 'responses', 'converse']
const pairs = clients.flatMap((client) =>
  upstreamFormats.filter((upstream) => upstream !== client).map((upstream) => [client, upstream] as const),
)

const apiKey = 'upstream-key'
const upstreams = {
  chat: openai({ apiKey, baseURL: 'http://u', formats: ['chat'] }),
  messages: anthropic({ apiKey, baseURL: 'http://u' }),
  gemini: gemini({ apiKey, baseURL: 'http://u' }),
  responses: openai({ apiKey, baseURL: 'http://u', formats: ['responses'] }),
  converse: bedrock({ apiKey, region: 'us-east-1', baseURL: 'http://u' }),
}
const paths: { readonly [F in Format]: (stream: boolean) => string } = {
  chat: () => '/v1/chat/completions',
  messages: () => '/v1/messages',
  gemini: (stream) => `/v1beta/models/m:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  responses: () => '/v1/responses',
  ollama: () => '/api/chat',
  converse: (stream) => `/model/m/${stream ? 'converse-stream' : 'converse'}`,
}

/** Odd integers beyond the precision of doubles. */
const bigInteger = (index: number): string => String(1_234_567_890_123_456_001n + 2n * BigInt(index))
/** The double nearest to them. */
const rounded = '1234567890123456000'

async function call(client: Format, upstream: UpstreamFormat, body: string, answer: Answer, stream = false) {
  const { post, seen, finished } = setUp(
    { u: answer },
    { upstreams, models: { '*': upstream }, retry: false, onLoss: 'warn' },
  )
  const response = await post(paths[client](stream), body, { 'anthropic-version': '2023-06-01' })
  const text = await response.text()
  return { status: response.status, text, sent: seen[0]?.body ?? '', losses: finished[0]?.losses ?? [], finished }
}
const minimalRequest = (client: Format, stream: boolean): string => {
  const least = { messages: [{ role: 'user', content: 'Hello.' }] }
  const bodies = {
    chat: { model: 'm', ...least },
    messages: { model: 'm', max_tokens: 100, ...least },
    gemini: { contents: [{ role: 'user', parts: [{ text: 'Hello.' }] }] },
    responses: { model: 'm', input: 'Hello.' },
    ollama: { model: 'm', stream, ...least },
    converse: { messages: [{ role: 'user', content: [{ text: 'Hello.' }] }] },
  }
  const isInPath = client === 'gemini' || client === 'converse'
  return JSON.stringify({ ...bodies[client], ...(stream && !isInPath ? { stream } : {}) })
}

const whole =
  (text: string): Answer =>
  () =>
    new Response(text, { headers: { 'content-type': 'application/json' } })
/** Placeholder names of call arguments and log probabilities in streams. */
const streamedValues = /^(?:arguments|args|partial|whole|input|logprob)\b/
const asEvents =
  (upstream: UpstreamFormat, events: readonly StreamEvent[]): Answer =>
  () => {
    const { numbers } = withNumbers(events, bigInteger)
    const written = events.map(({ event, data }) => ({ event, text: fillIn(data, numbers) }))
    if (upstream === 'converse') {
      const frames = written.map(({ event = '', text }) => eventFrame(event, JSON.parse(text)))
      return new Response(concatBytes(frames).slice(), {
        headers: { 'content-type': 'application/vnd.amazon.eventstream' },
      })
    }
    const blocks = written.map(
      ({ event, text }) => `${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`,
    )
    const end = upstream === 'chat' ? 'data: [DONE]\n\n' : ''
    return new Response(blocks.join('') + end, { headers: { 'content-type': 'text/event-stream' } })
  }

/** Returns the names of numbers that are neither kept nor reported, and `rounded` if a number was changed. */
function lost(body: JsonObject, numbers: ReadonlyMap<string, string>, out: string, losses: readonly Loss[]): string[] {
  const silent = [...numbers].filter(([name, number]) => {
    if (out.includes(number)) return false
    const at = pointersOf(body, placeFor(name))
    return !losses.some(({ path }) => at.some((pointer) => pointer.startsWith(path)))
  })
  return [...silent.map(([name]) => name), ...(out.includes(rounded) ? ['rounded'] : [])]
}

describe.each(pairs)('numbers between a client of %s and an upstream of %s', (client, upstream) => {
  it('are forwarded unchanged or reported if the gateway does not read them in the request', async () => {
    const { text, numbers } = withNumbers(requests[client], bigInteger)
    const { sent, losses } = await call(client, upstream, text, whole('{}'))
    expect(numbers.size).toBeGreaterThan(40)
    expect(lost(requests[client], numbers, sent, losses)).toEqual([])
  })

  it.each(pointersIn(readNumbers[client]).map((pointer) => [`/${pointer.join('/')}`, pointer] as const))(
    'are rejected or reported if the field at %s cannot represent them',
    async (_name, pointer) => {
      const body = put(readNumbers[client], pointer, placeFor('n')) as JsonObject
      const { text, numbers } = withNumbers(body, bigInteger)
      const { status, sent, losses } = await call(client, upstream, text, whole('{}'))
      if (status !== 400) expect(lost(body, numbers, sent, losses)).toEqual([])
    },
  )

  it('are forwarded unchanged or reported if the gateway does not read them in the response', async () => {
    const { text, numbers } = withNumbers(answers[upstream], bigInteger)
    const { status, text: out, losses } = await call(client, upstream, minimalRequest(client, false), whole(text))
    expect(status).toBe(200)
    expect(numbers.size).toBeGreaterThan(10)
    expect(lost(answers[upstream], numbers, out, losses)).toEqual([])
  })

  it('are forwarded unchanged in the arguments of a streamed call', async () => {
    const { numbers } = withNumbers(streams[upstream], bigInteger)
    const answer = asEvents(upstream, streams[upstream])
    const { status, text: out } = await call(client, upstream, minimalRequest(client, true), answer, true)
    expect(status).toBe(200)
    const lacksLogprobs = client === 'messages' || client === 'converse'
    const kept = [...numbers].filter(([name]) => streamedValues.test(name) && !(lacksLogprobs && name === 'logprob'))
    expect(kept.length).toBeGreaterThan(3)
    expect(kept.filter(([, number]) => !out.includes(number))).toEqual([])
    expect(out).not.toContain(rounded)
  })
})

describe.each(shared)('numbers between a client of %s and an upstream of the same format', (format) => {
  it('are forwarded as written, even if the gateway has to serialize the body again', async () => {
    const { text, numbers } = withNumbers(requests[format], bigInteger)
    for (const body of [text, text.replace('Hello.', 'mgs1.gemini.c2VhbA==')]) {
      const { sent, losses } = await call(format, format, body, whole(withNumbers(answers[format], bigInteger).text))
      expect(lost(requests[format], numbers, sent, losses)).toEqual([])
    }
  })
})

describe('numbers that are not integers', () => {
  const decimals = [
    ['0.1000000000000000055511151231257827', '0.1000000000000000055511151231257827'],
    ['12345678.123456789012', '12345678.123456789012'],
    ['1e400', '1e400'],
    ['-1E-400', '-1E-400'],
    ['-0', '0'],
    ['1.0', '1'],
    ['1E5', '100000'],
    ['0.1', '0.1'],
  ] as const

  it.each(decimals)('%s in the arguments of a call is forwarded as %s', async (number, written) => {
    const body = withNumbers(
      {
        ...answers.messages,
        content: [{ type: 'tool_use', id: 'toolu_1', name: 'find', input: { a: placeFor('n') } }],
      },
      () => number,
    ).text
    const { text } = await call('chat', 'messages', minimalRequest('chat', false), whole(body))
    expect(JSON.parse(text).choices[0].message.tool_calls[0].function.arguments).toBe(`{"a":${written}}`)
    const bodyWithCall = withNumbers(
      {
        model: 'm',
        messages: [
          { role: 'user', content: 'Hello.' },
          {
            role: 'assistant',
            tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'find', arguments: `{"a":"#n#"}` } }],
          },
          { role: 'tool', tool_call_id: 'call_1', content: 'Found.' },
        ],
      },
      () => number,
    ).text
    const { sent } = await call('chat', 'messages', bodyWithCall, whole('{}'))
    expect(sent).toContain(`"input":{"a":${written}}`)
  })

  it('become the nearest double in a field that the format defines as a number', async () => {
    const body = minimalRequest('chat', false).replace('{', '{"temperature":0.69999999999999995559,')
    const { sent, losses } = await call('chat', 'gemini', body, whole('{}'))
    expect(JSON.parse(sent).generationConfig.temperature).toBe(0.7)
    expect(losses).toEqual([])
  })

  it('are passed to plugins as doubles in complete and streamed responses', async () => {
    const usage = '"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":1,"x":1234567890123456789}'
    const text = `{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}],${usage}}`
    const wholeAnswer = await call('chat', 'gemini', minimalRequest('chat', false), () => new Response(text))
    const headers = { 'content-type': 'text/event-stream' }
    const events = () => new Response(`data: ${text}\n\n`, { headers })
    const streamed = await call('chat', 'gemini', minimalRequest('chat', true), events, true)
    for (const { finished } of [wholeAnswer, streamed])
      expect(finished[0]?.usage?.raw?.value.x).toBe(Number('1234567890123456789'))
  })
})
