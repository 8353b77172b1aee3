import {
  createReport,
  encodeAllSse,
  type ModelEvent,
  type ModelRequest,
  type Part,
  responsesCodec,
} from '@modelgate/core/test-support'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../base/json.ts'

/**
 * Context for streams that no fake provider sends: overlapping parts, citations, summaries in pieces. `responses.ts`
 * covers all other streams on every server.
 */

function contextOf(request: Partial<ModelRequest> = {}) {
  let ids = 0
  return {
    report: createReport(),
    newId: (prefix: string) => `${prefix}${++ids}`,
    now: () => 1_800_000_000,
    request: { model: 'demo', turns: [], stream: true, at: responsesCodec.fieldPointers, ...request },
    target: { model: 'demo', quirks: {} },
  }
}

/** Creates a client whose calls all receive this body. */
const clientOf = (body: string, type = 'text/event-stream'): OpenAI =>
  new OpenAI({
    apiKey: 'none',
    baseURL: 'http://gateway.invalid/v1',
    maxRetries: 0,
    fetch: async () => new Response(body, { headers: { 'content-type': type } }),
  })

const usage: ModelEvent = {
  type: 'usage',
  usage: { input: { total: 10, cacheRead: 4 }, output: { total: 5, reasoning: 2 } },
}
const start: ModelEvent = { type: 'response-start', id: 'r', model: 'demo', created: 1 }
const ended = (reason: 'stop' | 'length' | 'tool-calls' | 'content-filter'): ModelEvent[] => [
  { type: 'choice-end', choice: 0, finish: { reason } },
  usage,
  { type: 'response-end' },
]

/** Returns the events of overlapping parts: all begin before any ends. */
function overlapping(parts: readonly Part[], first = 0): ModelEvent[] {
  const numbered = parts.map((value, index) => ({ value, part: first + index }))
  const begun = numbered.map(({ value, part }): ModelEvent => {
    return { type: 'part-start', choice: 0, part, value: { ...value, ...(emptied(value) as object) } }
  })
  const output = numbered.flatMap(({ value, part }) =>
    halves(textOf(value)).map((text): ModelEvent => {
      return { type: 'part-delta', choice: 0, part, delta: { type: deltaOf(value), text } }
    }),
  )
  return [...begun, ...output, ...numbered.map(({ part }): ModelEvent => ({ type: 'part-end', choice: 0, part }))]
}
const emptied = (part: Part): Partial<Part> => (part.type === 'tool-call' ? { input: '' } : { text: '' })
const textOf = (part: Part): string => (part.type === 'tool-call' ? part.input : 'text' in part ? part.text : '')
const deltaOf = (part: Part) =>
  part.type === 'tool-call' ? 'input' : part.type === 'reasoning' || part.type === 'refusal' ? part.type : 'text'
const halves = (text: string): string[] => [text.slice(0, text.length >> 1), text.slice(text.length >> 1)]

function write(events: readonly ModelEvent[], heartbeats = false, request: Partial<ModelRequest> = {}): string {
  const encoder = responsesCodec.encodeStream(contextOf(request))
  const out = heartbeats ? encoder.heartbeat() : []
  for (const event of events) {
    out.push(...encoder.push(event))
    if (heartbeats) out.push(...encoder.heartbeat())
  }
  return encodeAllSse([...out, ...encoder.end()])
}

const parts: Part[] = [
  { type: 'reasoning', text: 'First think.', seal: { issuer: 'messages', data: 'sig' } },
  { type: 'text', text: 'Hello there' },
  { type: 'tool-call', id: 'call_1', name: 'get_weather', input: '{"city":"Paris"}' },
  { type: 'tool-call', id: 'call_2', name: 'get_time', input: '' },
  { type: 'tool-call', id: 'call_3', name: 'patch', input: '*** Begin', custom: true },
]

describe('stream helper of the OpenAI SDK', () => {
  test.each([false, true])('accepts overlapping parts with heartbeats between the events: %s', async (heartbeats) => {
    const body = write([start, ...overlapping(parts), ...ended('tool-calls')], heartbeats)
    const stream = clientOf(body).responses.stream({ model: 'demo', input: 'hi' })
    const texts: string[] = []
    stream.on('response.output_text.delta', ({ delta }) => texts.push(delta))
    const inputs: string[] = []
    stream.on('response.function_call_arguments.delta', ({ snapshot }) => inputs.push(snapshot))
    const response = await stream.finalResponse()
    expect(texts.join('')).toBe('Hello there')
    expect(inputs).toContain('{"city":"Paris"}')
    expect(response.status).toBe('completed')
    expect(response.output_text).toBe('Hello there')
    expect(response.usage).toMatchObject({ input_tokens: 10, output_tokens: 5, total_tokens: 15 })
    expect(response.output.map(({ type }) => type)).toEqual([
      'reasoning',
      'message',
      'function_call',
      'function_call',
      'custom_tool_call',
    ])
    const calls = response.output.filter((item) => item.type === 'function_call')
    expect(calls.map((call) => [call.call_id, call.name, JSON.parse(call.arguments)])).toEqual([
      ['call_1', 'get_weather', { city: 'Paris' }],
      ['call_2', 'get_time', {}],
    ])
    expect(response.output.at(-1)).toMatchObject({ input: '*** Begin', name: 'patch', call_id: 'call_3' })
    expect(response.output[0]).toMatchObject({ summary: [{ type: 'summary_text', text: 'First think.' }] })
  })

  test('accepts refusals, citations and pieces of a summary', async () => {
    const events: ModelEvent[] = [
      start,
      ...overlapping([
        { type: 'reasoning', text: 'One', summary: true },
        { type: 'reasoning', text: 'Two', summary: true },
      ]),
      { type: 'part-start', choice: 0, part: 2, value: { type: 'text', text: 'Cited' } },
      { type: 'part-delta', choice: 0, part: 2, delta: { type: 'citation', citation: { url: 'https://e.example' } } },
      { type: 'part-end', choice: 0, part: 2 },
      { type: 'part-start', choice: 0, part: 3, value: { type: 'refusal', text: '' } },
      { type: 'part-delta', choice: 0, part: 3, delta: { type: 'refusal', text: 'No.' } },
      { type: 'part-end', choice: 0, part: 3 },
      ...ended('stop'),
    ]
    const response = await clientOf(write(events)).responses.stream({ model: 'demo', input: 'hi' }).finalResponse()
    expect(response.output).toMatchObject([
      { type: 'reasoning', summary: [{ text: 'One' }, { text: 'Two' }] },
      {
        type: 'message',
        content: [
          {
            type: 'output_text',
            text: 'Cited',
            annotations: [{ url: 'https://e.example', start_index: 0, end_index: 5 }],
          },
          { type: 'refusal', refusal: 'No.' },
        ],
      },
    ])
  })
})

describe('broken Responses stream', () => {
  const broken = write([
    start,
    { type: 'part-start', choice: 0, part: 0, value: { type: 'text', text: 'Hel' } },
    { type: 'error', error: { kind: 'rate_limited', status: 429, message: 'Slow down.', code: 'slow' } },
  ])

  test('reports the error in both events, with the id of its start', () => {
    const events = [...broken.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data) as JsonObject)
    const [error, failed] = events.slice(-2)
    expect(error).toMatchObject({
      type: 'error',
      message: 'Slow down.',
      code: 'rate_limit_exceeded',
      error: { message: 'Slow down.' },
    })
    expect(failed).toMatchObject({
      type: 'response.failed',
      response: { id: 'r', status: 'failed', error: { code: 'rate_limit_exceeded', message: 'Slow down.' } },
    })
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, number) => number))
  })
})
