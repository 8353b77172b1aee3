import { describe, expect, it, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import type { SharedFormat } from '../../base/names.ts'
import { asStream, setUp } from '../../gateway/create-gateway.test-support.ts'
import { gemini } from '../../upstreams/gemini.ts'
import { openai } from '../../upstreams/openai.ts'
import { codecOf, codecs } from '../codecs.ts'
import type { ModelEvent } from '../ir.ts'
import { createReport } from '../loss-report.ts'
import { reportUsage, responseReport } from './response-losses.ts'

function lossesOf(from: SharedFormat, to: SharedFormat, value: JsonObject): string[] {
  const report = createReport()
  const usage = { input: { total: 1 }, output: { total: 1 }, raw: { format: from, value } }
  reportUsage(usage, codecOf(from), codecOf(to), report)
  expect(report.losses.every(({ severity, kind }) => severity === 'note' && kind === 'unsupported')).toBe(true)
  return report.losses.map(({ path }) => path)
}

describe('usage that the client format cannot express', () => {
  const common: { readonly [F in SharedFormat]: JsonObject } = {
    chat: {
      prompt_tokens: 19,
      completion_tokens: 10,
      total_tokens: 29,
      prompt_tokens_details: { cached_tokens: 4, audio_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: 3,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    },
    messages: {
      input_tokens: 3,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 7,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
      output_tokens: 6,
      server_tool_use: null,
      service_tier: 'standard',
      inference_geo: 'not_available',
    },
    gemini: {
      promptTokenCount: 4,
      candidatesTokenCount: 7,
      thoughtsTokenCount: 5,
      totalTokenCount: 16,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: 4 }],
    },
    responses: {
      input_tokens: 36,
      input_tokens_details: { cached_tokens: 2 },
      output_tokens: 87,
      output_tokens_details: { reasoning_tokens: 1 },
      total_tokens: 123,
    },
    converse: {
      inputTokens: 3,
      outputTokens: 1,
      totalTokens: 14,
      cacheReadInputTokens: 10,
      cacheWriteInputTokens: 0,
      serverToolUsage: {},
    },
  }
  /** Usage of Converse does not count reasoning separately. */
  const reasoningTokens: { readonly [F in SharedFormat]?: string[] } = {
    chat: ['/usage/completion_tokens_details/reasoning_tokens'],
    gemini: ['/usage/thoughtsTokenCount'],
    responses: ['/usage/output_tokens_details/reasoning_tokens'],
  }
  test.each(codecs.flatMap((from) => codecs.map((to) => [from.format, to.format] as const)))(
    'is absent from common usage: %s → %s',
    (from, to) => {
      expect(lossesOf(from, to, common[from])).toEqual((to === 'converse' && reasoningTokens[from]) || [])
    },
  )

  test.each<[SharedFormat, SharedFormat, JsonObject, string[]]>([
    ['messages', 'chat', { speed: 'fast', inference_geo: 'eu' }, ['/usage/speed', '/usage/inference_geo']],
    ['messages', 'gemini', { server_tool_use: { web_search_requests: 2 } }, ['/usage/server_tool_use']],
    ['messages', 'responses', { iterations: [{ type: 'message', input_tokens: 2 }] }, ['/usage/iterations']],
    [
      'messages',
      'chat',
      { cache_creation_input_tokens: 5, cache_creation: { ephemeral_1h_input_tokens: 5 } },
      ['/usage/cache_creation/ephemeral_1h_input_tokens'],
    ],
    [
      'chat',
      'responses',
      { completion_tokens_details: { accepted_prediction_tokens: 4, reasoning_tokens: 1 } },
      ['/usage/completion_tokens_details/accepted_prediction_tokens'],
    ],
    [
      'chat',
      'messages',
      { prompt_tokens_details: { audio_tokens: 4 }, cost: 0.25 },
      ['/usage/prompt_tokens_details/audio_tokens', '/usage/cost'],
    ],
    ['gemini', 'chat', { promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 4 }] }, []],
    [
      'gemini',
      'messages',
      { promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 4 }] },
      ['/usage/promptTokensDetails'],
    ],
    ['gemini', 'chat', { promptTokensDetails: [{ modality: 3, tokenCount: 4 }] }, ['/usage/promptTokensDetails']],
    ['gemini', 'chat', { cacheTokensDetails: [{ modality: 'IMAGE', tokenCount: 4 }] }, ['/usage/cacheTokensDetails']],
    ['gemini', 'chat', { toolUsePromptTokenCount: 4 }, ['/usage/toolUsePromptTokenCount']],
    ['gemini', 'gemini', { tomorrow: 4 }, []],
  ])('is reported: %s → %s, %j', (from, to, usage, paths) => {
    expect(lossesOf(from, to, usage)).toEqual(paths)
  })
})

const long = 'm'.repeat(100_000)
const deltas = 400

const geminiEvents = (frame: object): string[] =>
  Array.from({ length: deltas }, (_, at) => ({
    candidates: [
      {
        index: 0,
        content: { role: 'model', parts: [{ text: 'word ' }] },
        ...(at === deltas - 1 ? { finishReason: 'STOP' } : {}),
      },
    ],
    ...(at === 0 ? frame : {}),
  })).map((event) => `data: ${JSON.stringify(event)}\n\n`)
const chatEvents = (frame: object): string[] => [
  ...Array.from({ length: deltas }, (_, at) => ({
    choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: at === deltas - 1 ? 'stop' : null }],
    ...(at === 0 ? frame : {}),
  })).map((event) => `data: ${JSON.stringify(event)}\n\n`),
  'data: [DONE]\n\n',
]

const gatewayTo = (events: readonly string[]) =>
  setUp({ g: asStream([...events]), c: asStream([...events]) }, {
    upstreams: {
      g: gemini({ apiKey: 'sk-canary-gggggggg', baseURL: 'http://g' }),
      c: openai({ apiKey: 'sk-canary-cccccccc', baseURL: 'http://c/v1', formats: ['chat'] }),
    },
    models: { g: 'g', c: 'c' },
  } as never)

const chat = ['/v1/chat/completions', { messages: [{ role: 'user', content: 'x' }], stream: true }] as const
const completions = ['/v1/completions', { prompt: 'x', stream: true }] as const

describe('the frame of a translated stream', () => {
  it.each([
    ['the model', 'g', chat, geminiEvents({ modelVersion: long })],
    ['the id', 'g', chat, geminiEvents({ responseId: long })],
    [
      'the id and the model',
      'c',
      ['/v1beta/models/c:streamGenerateContent?alt=sse', { contents: [{ parts: [{ text: 'x' }] }] }],
      chatEvents({ id: long, model: long }),
    ],
    ['the id', 'g', completions, geminiEvents({ responseId: long })],
  ] as const)(
    'does not repeat %s of an upstream in each event if it is long, to a client of model %s',
    async (_, model, [path, body], events) => {
      const set = gatewayTo(events)
      const reply = await set.post(path, { model, ...body } as never)
      const text = await reply.text()
      expect(reply.status).toBe(200)
      expect(text.match(/word /g)).toHaveLength(deltas)
      // Without the limit, the text would hold the 100,000 characters 400 times.
      expect(text.length).toBeLessThan(2 * long.length + 400 * deltas)
      expect(JSON.stringify(set.finished[0]?.losses)).toContain('it is longer than 1024 characters')
    },
  )
})

const thought = (signature: string): JsonObject => ({ type: 'thinking', thinking: 'hm', signature })
const item = (id: string, sealed: string): JsonObject => ({
  type: 'reasoning',
  id,
  summary: [{ type: 'summary_text', text: 'hm' }],
  encrypted_content: sealed,
})
/** Conversations with one assistant turn, whose reasoning Anthropic or OpenAI sealed. */
const requests = {
  messages: (seals: string[]): JsonObject => ({
    model: 'm',
    max_tokens: 99,
    messages: [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: [...seals.map(thought), { type: 'text', text: 'b' }] },
      { role: 'user', content: 'c' },
    ],
  }),
  responses: (seals: string[]): JsonObject => ({
    model: 'm',
    input: [
      { role: 'user', content: 'a' },
      ...seals.map((sealed, index) => item(`rs_${index}`, sealed)),
      { role: 'assistant', content: 'b' },
      { role: 'user', content: 'c' },
    ],
  }),
  chat: (): JsonObject => ({ model: 'm', messages: [{ role: 'user', content: 'a' }] }),
  gemini: (): JsonObject => ({ model: 'm', contents: [{ role: 'user', parts: [{ text: 'a' }] }] }),
}
const message = (checks: JsonObject[] | undefined): JsonObject => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'd' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
  ...(checks === undefined ? {} : { input_transformations: checks }),
})
const response = (checks: JsonObject[] | undefined, status = 'completed'): JsonObject => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: 'm',
  status,
  output: [
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'd', annotations: [] }],
    },
  ],
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  ...(checks === undefined ? {} : { input_transformations: checks }),
})
const dropped = (path: string, reason = 'model_binding_mismatch', type = 'thinking_dropped'): JsonObject => ({
  type,
  path,
  reason,
})
const removed = (id: string, reason = 'model_mismatch'): JsonObject => ({
  type: 'reasoning',
  action: 'removed',
  id,
  reason,
})

function open(client: SharedFormat, upstream: SharedFormat, body: JsonObject) {
  const requestReport = createReport(body)
  const base = { newId: () => 'x', now: () => 1, upstream, target: { model: 'claude-opus-5', quirks: {} } }
  const request = codecOf(client).decodeRequest(structuredClone(body), { ...base, report: requestReport })
  request.at = { ...codecOf(client).fieldPointers, ...request.at }
  const report = responseReport(createReport(body), codecOf(upstream).responsePointers)
  return { ...base, request, report, losses: () => report.losses.map(({ severity, path }) => `${severity} ${path}`) }
}

/** Returns the checks of an upstream response that the client receives, and the losses. */
function whole(client: SharedFormat, upstream: SharedFormat, body: JsonObject, answer: JsonObject) {
  const context = open(client, upstream, body)
  const decoded = codecOf(upstream).decodeResponse(structuredClone(answer), context)
  const shown = codecOf(client).encodeResponse(decoded, context)
  return { shown: shown.input_transformations, losses: context.losses() }
}

/** Returns the events with checks that the client receives for an upstream stream, and the losses. */
function streamed(client: SharedFormat, upstream: SharedFormat, body: JsonObject, events: JsonObject[]) {
  const context = open(client, upstream, body)
  const decoder = codecOf(upstream).decodeStream(context)
  const encoder = codecOf(client).encodeStream(context)
  const read: ModelEvent[] = events.flatMap((event) =>
    decoder.push({ event: String(event.type), data: JSON.stringify(event) }),
  )
  const sent = read.flatMap((event) => encoder.push(event)).filter(({ data }) => data.startsWith('{'))
  const shown = sent
    .map(({ data }) => JSON.parse(data) as JsonObject)
    .flatMap((event) => {
      const { input_transformations: checks } = {
        ...event,
        ...(event.message as JsonObject),
        ...(event.response as JsonObject),
      }
      return checks === undefined ? [] : [{ type: event.type, checks }]
    })
  return { shown, losses: context.losses() }
}

const messageEvents = (atStart: JsonObject[] | undefined, atEnd: JsonObject[] | undefined): JsonObject[] => [
  { type: 'message_start', message: { ...message(atStart), content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'd' } },
  { type: 'content_block_stop', index: 0 },
  {
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: 1 },
    ...(atEnd === undefined ? {} : { input_transformations: atEnd }),
  },
  { type: 'message_stop' },
]
const responseEvents = (checks: JsonObject[]): JsonObject[] => [
  {
    type: 'response.created',
    sequence_number: 0,
    response: { ...response(undefined, 'in_progress'), output: [], usage: null },
  },
  { type: 'response.completed', sequence_number: 1, response: response(checks) },
]

describe('reasoning that the upstream removed from the input', () => {
  it('is mapped from a message to the item of a responses client', () => {
    const body = requests.responses(['mgs1.messages.AA', 'mgs1.messages.BB'])
    const answer = message([dropped('messages.1.content.1')])
    expect(whole('responses', 'messages', body, answer)).toEqual({ shown: [removed('rs_1')], losses: [] })
  })

  it('is mapped from a response to the block of a messages client', () => {
    const body = requests.messages(['mgs1.responses.AA', 'mgs1.responses.BB'])
    const answer = response([removed('rs_8'), removed('rs_9', 'prefix_mismatch')])
    expect(whole('messages', 'responses', body, answer)).toEqual({
      shown: [dropped('messages.1.content.0'), dropped('messages.1.content.1', 'prefix_binding_mismatch')],
      losses: [],
    })
  })

  it('is reported if the block is ambiguous', () => {
    const body = requests.messages(['mgs1.responses.AA', 'mgs1.responses.BB'])
    const { shown, losses } = whole('messages', 'responses', body, response([removed('rs_9')]))
    expect(shown).toBeUndefined()
    expect(losses).toContain('warn /input_transformations/0')
  })

  it('is reported if the other format has no value for the reason or the type', () => {
    const turn = whole(
      'messages',
      'responses',
      requests.messages(['mgs1.responses.AA']),
      response([removed('x', 'turn_boundary')]),
    )
    expect(turn).toEqual({ shown: undefined, losses: ['warn /input_transformations/0'] })
    const shown = dropped('messages.1.content.0', 'prefix_binding_mismatch', 'thinking_mismatch_allowed')
    expect(whole('responses', 'messages', requests.responses(['mgs1.messages.AA']), message([shown]))).toEqual({
      shown: undefined,
      losses: ['note /input_transformations/0'],
    })
  })

  it('is kept with an unknown type in its own format and reported in others', () => {
    const news = [{ type: 'thinking_of_tomorrow', path: 'messages.1.content.0' }]
    expect(whole('messages', 'messages', requests.messages(['AA']), message(news)).shown).toEqual(news)
    expect(whole('responses', 'messages', requests.responses([]), message(news)).losses).toEqual([
      'warn /input_transformations',
    ])
  })

  it.each([
    {
      format: 'messages' as const,
      body: requests.messages(['AA']),
      answer: message([dropped('messages.1.content.0')]),
    },
    { format: 'responses' as const, body: requests.responses(['AA']), answer: response([removed('rs_0')]) },
  ])('stays unchanged between a client and an upstream of $format', ({ format, body, answer }) => {
    expect(whole(format, format, body, answer)).toEqual({ shown: answer.input_transformations, losses: [] })
  })

  it.each(['chat', 'gemini'] as const)('is reported to clients of %s in whole and streamed responses', (client) => {
    const checks = [dropped('messages.1.content.0')]
    const body = requests[client]()
    expect(whole(client, 'messages', body, message(checks)).losses).toContain('warn /input_transformations/0')
    expect(streamed(client, 'messages', body, messageEvents(checks, undefined)).losses).toContain(
      'warn /input_transformations/0',
    )
    expect(streamed(client, 'messages', body, messageEvents(undefined, checks)).losses).toContain(
      'warn /input_transformations/0',
    )
    expect(streamed(client, 'responses', body, responseEvents([removed('x')])).losses).toContain(
      'warn /input_transformations/0',
    )
  })

  it('is sent at the start and the end of a responses stream', () => {
    const body = requests.responses(['mgs1.messages.AA'])
    const checks = [dropped('messages.1.content.0')]
    const { shown, losses } = streamed('responses', 'messages', body, messageEvents(checks, undefined))
    expect(shown.map(({ type }) => type)).toEqual(['response.created', 'response.in_progress', 'response.completed'])
    expect(shown.at(-1)?.checks).toEqual([removed('rs_0')])
    expect(losses).toEqual([])
  })

  it('is sent from the last event of a stream instead of the first', () => {
    const body = requests.responses(['mgs1.messages.AA'])
    const events = messageEvents([], [dropped('messages.1.content.0')])
    expect(streamed('responses', 'messages', body, events).shown.at(-1)?.checks).toEqual([removed('rs_0')])
  })

  it('is sent with message_delta for a stream of a responses upstream', () => {
    const body = requests.messages(['mgs1.responses.AA'])
    const { shown } = streamed('messages', 'responses', body, responseEvents([removed('rs_9')]))
    expect(shown).toEqual([{ type: 'message_delta', checks: [dropped('messages.1.content.0')] }])
  })

  it('keeps its place in a stream between a messages client and upstream', () => {
    const checks = [dropped('messages.1.content.0')]
    const { shown } = streamed('messages', 'messages', requests.messages(['AA']), messageEvents([], checks))
    expect(shown).toEqual([
      { type: 'message_start', checks: [] },
      { type: 'message_delta', checks },
    ])
  })
})
