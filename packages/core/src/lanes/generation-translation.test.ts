import { describe, expect, test, vi } from 'vitest'
import type { JsonObject } from '../base/json/json.ts'
import type { SharedFormat } from '../base/names.ts'
import { codecs } from '../formats/codecs.ts'
import { openai } from '../upstreams/openai.ts'
import { redactorOf } from '../upstreams/redaction/redactor.ts'
import { translateLane } from './generation-translation.ts'

const asks: { readonly [F in SharedFormat]: JsonObject } = {
  chat: { model: 'm', messages: [{ role: 'user', content: 'x' }], stream_options: { include_usage: true } },
  messages: { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] },
  gemini: { model: 'm', contents: [{ parts: [{ text: 'x' }] }] },
  responses: { model: 'm', input: 'x' },
  converse: { model: 'm', messages: [{ role: 'user', content: [{ text: 'x' }] }] },
}

function laneOf(client: SharedFormat, upstream: SharedFormat, stream = false) {
  const [theirs, ours] = [client, upstream].map((name) => codecs.find(({ format }) => format === name))
  if (theirs === undefined || ours === undefined) throw new Error('a codec is missing')
  const value = { ...asks[client], stream }
  const text = JSON.stringify(value)
  return translateLane({
    client: theirs,
    upstream: ours,
    request: { value, fields: value, text, bytes: new TextEncoder().encode(text), members: [] },
    target: { model: 'm', quirks: {} },
    newId: (prefix) => `${prefix}1`,
    now: () => 1,
    maxEventChars: 1_000_000,
    maxDepth: 100,
    toClientErrorInfo: (error) => error,
    redactor: redactorOf(openai()),
    reportsLateLosses: true,
  })
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const candidate = { content: { parts: [{ text: 'a' }] }, finishReason: 'OTHER', safetyRatings: [{ category: 'C' }] }
const cached = { promptTokenCount: 9, cacheTokensDetails: [{ modality: 'VIDEO', tokenCount: 9 }] }
const answer = { candidates: [candidate], usageMetadata: { ...cached, serviceTier: 'flex' }, modelVersion: 'm' }
const losses = ['/candidates/0/finishReason', '/candidates/0/safetyRatings', '/usageMetadata/cacheTokensDetails']
const tier = '/usageMetadata/serviceTier'

describe('losses of a response', () => {
  const wanted: [SharedFormat, string[]][] = [
    ['chat', losses],
    ['messages', [...losses, tier]],
    ['responses', losses],
    ['converse', losses],
  ]
  test.each(wanted)('are reported with the paths of the upstream response to a client of %s', (client, paths) => {
    const lane = laneOf(client, 'gemini')
    lane.readResponse(bytes(JSON.stringify(answer)))
    expect(lane.report.losses.filter(({ side }) => side === 'answer').map(({ path }) => path)).toEqual(
      expect.arrayContaining(paths),
    )
    expect(lane.report.losses.map(({ path }) => path).filter((path) => path.startsWith('/choices'))).toEqual([])
  })

  test.each(wanted)('are reported once at the end of a stream to a client of %s', (client, paths) => {
    const lane = laneOf(client, 'gemini', true)
    const stream = lane.openStream()
    const { usageMetadata } = answer
    const piece = { candidates: [{ content: { parts: [{ text: 'a' }] } }], usageMetadata, modelVersion: 'm' }
    for (const chunk of [piece, piece, answer]) stream.push(bytes(`data: ${JSON.stringify(chunk)}\n\n`))
    const during = lane.report.losses.map(({ path }) => path)
    stream.end()
    const lostPaths = lane.report.losses.filter(({ side }) => side === 'answer').map(({ path }) => path)
    expect(lostPaths).toEqual(expect.arrayContaining(paths))
    expect(new Set(lostPaths).size).toBe(lostPaths.length)
    expect(during).not.toContain('/usageMetadata/cacheTokensDetails')
    expect(new TextDecoder().decode(stream.take())).toMatch(/^: modelgate-loss .*"\/candidates\/0\/finishReason"/m)
  })
})

describe('log probabilities of a refusal', () => {
  const token = { token: 'no', logprob: -1, bytes: [110, 111], top_logprobs: [] }
  const logprobs = { content: null, refusal: [token] }
  const frame = { id: 'c', created: 1, model: 'm' }
  const refused = { index: 0, logprobs, finish_reason: 'stop' }
  test.each<SharedFormat>(['gemini', 'responses'])(
    'are reported as lost to a client of %s in complete and streamed responses',
    (client) => {
      const whole = laneOf(client, 'chat')
      const message = { role: 'assistant', content: null, refusal: 'no' }
      whole.readResponse(bytes(JSON.stringify({ ...frame, choices: [{ ...refused, message }] })))
      const streamed = laneOf(client, 'chat', true)
      const stream = streamed.openStream()
      stream.push(
        bytes(`data: ${JSON.stringify({ ...frame, choices: [{ ...refused, delta: message }] })}\n\ndata: [DONE]\n\n`),
      )
      stream.end()
      for (const { report } of [whole, streamed])
        expect(report.losses).toContainEqual(
          expect.objectContaining({ path: '/choices/0/logprobs/refusal', severity: 'warn', side: 'answer' }),
        )
    },
  )
})

test.each<[SharedFormat, string, boolean]>([
  ['messages', 'flex', true],
  ['messages', 'default', false],
  ['messages', 'priority', false],
  ['gemini', 'scale', true],
  ['gemini', 'flex', false],
  ['gemini', 'default', false],
  ['responses', 'scale', false],
])('reports to a client of %s that the service tier %s is lost: %s', (client, service_tier, reported) => {
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  const frame = { id: 'c', created: 1, model: 'm', service_tier, usage }
  const output = { role: 'assistant', content: 'a' }
  const whole = laneOf(client, 'chat')
  whole.readResponse(
    bytes(JSON.stringify({ ...frame, choices: [{ index: 0, message: output, finish_reason: 'stop' }] })),
  )
  const streamed = laneOf(client, 'chat', true)
  const stream = streamed.openStream()
  stream.push(
    bytes(
      `data: ${JSON.stringify({ ...frame, choices: [{ index: 0, delta: output, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`,
    ),
  )
  stream.end()
  for (const { report } of [whole, streamed])
    expect(report.losses.some(({ path, side }) => path === '/service_tier' && side === 'answer')).toBe(reported)
})

describe('an event that is nested too deep', () => {
  const deep = `${'['.repeat(9000)}${']'.repeat(9000)}`
  const started =
    'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[]}}\n\n'
  const ending = `event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1,"x":${deep}}}\n\n`
  test.each(['chat', 'gemini', 'responses'] as const)(
    'fails the stream before it reaches the encoder of %s',
    (client) => {
      const stream = laneOf(client, 'messages', true).openStream()
      stream.push(bytes(started))
      expect(() => stream.push(bytes(ending))).toThrow('nested too deep')
      expect(stream.state.ended).toBe(false)
    },
  )

  test('is not parsed when its tokens are estimated', () => {
    const stream = laneOf('messages', 'gemini', true).openStream()
    stream.push(bytes('data: {"candidates":[{"content":{"parts":[{"text":"one"}],"role":"model"}}]}\n\n'))
    const event = `data: {"candidates":[],"x":${'{"a":'.repeat(100_000)}{}${'}'.repeat(100_000)}}\n\n`
    expect(() => stream.push(bytes(event))).toThrow('nested too deep')
    const parse = vi.spyOn(JSON, 'parse')
    expect(stream.estimatedTokens?.()).toBe(1)
    expect(parse.mock.calls.some(([text]) => text.length > 1000)).toBe(false)
    parse.mockRestore()
  })
})

test('rejects a chat stream without a valid choice even if it ends with [DONE]', () => {
  const stream = laneOf('gemini', 'chat', true).openStream()
  stream.push(bytes('data: {"choices":[1],"usage":{"prompt_tokens":3,"completion_tokens":1}}\n\ndata: [DONE]\n\n'))
  expect(stream.state).toMatchObject({ ended: false, error: { kind: 'upstream_bad_response' } })
})

test('fails a messages stream at an error event with any data', () => {
  const start = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [] }
  const stream = laneOf('chat', 'messages', true).openStream()
  stream.push(bytes(`event: message_start\ndata: ${JSON.stringify({ type: 'message_start', message: start })}\n\n`))
  stream.push(bytes('event: error\ndata: {}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n'))
  expect(stream.state.ended).toBe(false)
  expect(stream.state.error).toBeDefined()
})

test('fails a responses stream at an error in any of its events', () => {
  const stream = laneOf('chat', 'responses', true).openStream()
  stream.push(bytes('data: {"type":"response.created","response":{"id":"r"},"error":{"message":"Boom"}}\n\n'))
  expect(stream.state.error).toMatchObject({ message: 'Boom' })
})
