import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../base/errors.ts'
import type { Json, JsonObject } from '../../base/json/json.ts'
import type { Choice, Finish, ModelResponse, Part, Usage } from '../ir.ts'
import { messagesCodec } from './index.ts'
import { contextFor } from './recorded.test-support.ts'

const answer = (fields: JsonObject = {}): JsonObject => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [{ type: 'text', text: 'Hi' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 2 },
  ...fields,
})
const decode = (body: Json): ModelResponse => messagesCodec.decodeResponse(body, contextFor())
function encode(choice: Partial<Choice>, rest: Partial<ModelResponse> = {}) {
  const context = contextFor()
  const whole: Choice = { parts: [{ type: 'text', text: 'Hi' }], finish: { reason: 'stop' }, ...choice }
  const out = messagesCodec.encodeResponse({ id: 'x', model: 'm', created: 5, choices: [whole], ...rest }, context)
  return { out, losses: context.report.losses.map(({ path, severity }) => `${path} ${severity}`) }
}
const toolCall: Part = { type: 'tool-call', id: 'c', name: 'f', input: '{}' }

describe('finish reasons', () => {
  test.each<[Json, Finish['reason'], string]>([
    ['end_turn', 'stop', 'end_turn'],
    ['max_tokens', 'length', 'max_tokens'],
    ['stop_sequence', 'stop-sequence', 'stop_sequence'],
    ['tool_use', 'tool-calls', 'tool_use'],
    ['pause_turn', 'pause', 'pause_turn'],
    ['refusal', 'refusal', 'refusal'],
    ['model_context_window_exceeded', 'context-length', 'model_context_window_exceeded'],
    ['compaction', 'pause', 'compaction'],
    ['a_word_of_next_year', 'other', 'end_turn'],
    ['toString', 'other', 'end_turn'],
    [null, 'other', 'end_turn'],
    [7, 'other', 'end_turn'],
  ])('decodes the stop reason %s as %s and encodes it as %s', (word, reason, written) => {
    const response = decode(answer({ stop_reason: word }))
    expect(response.choices[0]?.finish.reason).toBe(reason)
    expect(messagesCodec.encodeResponse(response, contextFor()).stop_reason).toBe(written)
  })

  test.each<[Finish, Part[], JsonObject]>([
    [{ reason: 'stop' }, [], { stop_reason: 'end_turn', stop_sequence: null }],
    [{ reason: 'stop' }, [toolCall], { stop_reason: 'tool_use' }],
    [{ reason: 'other', raw: { format: 'chat', value: '' } }, [toolCall], { stop_reason: 'tool_use' }],
    [{ reason: 'tool-calls' }, [toolCall], { stop_reason: 'tool_use' }],
    [{ reason: 'tool-calls' }, [], { stop_reason: 'end_turn' }],
    [{ reason: 'stop-sequence', sequence: 'END' }, [], { stop_reason: 'stop_sequence', stop_sequence: 'END' }],
    [{ reason: 'stop-sequence' }, [], { stop_reason: 'end_turn' }],
    [{ reason: 'length' }, [toolCall], { stop_reason: 'max_tokens' }],
    [{ reason: 'context-length' }, [], { stop_reason: 'model_context_window_exceeded' }],
    [{ reason: 'content-filter' }, [], { stop_reason: 'refusal' }],
    [
      { reason: 'stop' },
      [{ type: 'refusal', text: 'No.' }],
      { stop_reason: 'refusal', content: [{ type: 'text', text: 'No.' }] },
    ],
    [
      { reason: 'refusal', explanation: 'why' },
      [],
      { stop_reason: 'refusal', stop_details: { type: 'refusal', category: null, explanation: 'why' } },
    ],
    [{ reason: 'pause' }, [], { stop_reason: 'pause_turn' }],
    [
      { reason: 'other', raw: { format: 'chat', value: 'weird' } },
      [{ type: 'text', text: 'Yes.' }],
      { stop_reason: 'end_turn' },
    ],
  ])('encodes the finish %j of another format with the parts %j', (finish, parts, wire) => {
    expect(encode({ finish, parts }).out).toMatchObject(wire)
  })

  test('throws for a response that ended in an error', () => {
    expect(() => encode({ finish: { reason: 'error', explanation: 'Broken call.' } })).toThrow('Broken call.')
  })

  test('throws for an empty response that ended for an unknown reason', () => {
    const finish: Finish = {
      reason: 'other',
      raw: { format: 'gemini', value: 'OTHER' },
      explanation: 'Internal error.',
    }
    expect(() => encode({ finish, parts: [] })).toThrow('Internal error.')
  })

  test('keeps stop_details unchanged', () => {
    const details = { type: 'refusal', category: 'bio', explanation: 'because', recommended_model: 'm' }
    const response = decode(answer({ stop_reason: 'refusal', stop_details: details }))
    expect(response.choices[0]?.finish.explanation).toBe('because')
    expect(messagesCodec.encodeResponse(response, contextFor()).stop_details).toEqual(details)
  })
})

describe('usage', () => {
  const full = {
    input_tokens: 10,
    cache_read_input_tokens: 20,
    cache_creation_input_tokens: 30,
    cache_creation: { ephemeral_5m_input_tokens: 25, ephemeral_1h_input_tokens: 5 },
    output_tokens: 40,
    output_tokens_details: { thinking_tokens: 15 },
    server_tool_use: { web_search_requests: 1 },
    service_tier: 'priority',
  }
  test('adds cached tokens to the total when decoding and subtracts them when encoding', () => {
    const response = decode(answer({ usage: full }))
    expect(response.usage).toMatchObject({
      input: { total: 60, cacheRead: 20, cacheWrite: 30, cacheWrite1h: 5 },
      output: { total: 40, reasoning: 15 },
    })
    expect(response.serviceTier).toBe('priority')
    expect(messagesCodec.encodeResponse(response, contextFor()).usage).toEqual(full)
  })

  test.each<[Usage | undefined, string | undefined, JsonObject]>([
    [
      undefined,
      undefined,
      { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 },
    ],
    [
      {
        input: { total: 100, cacheRead: 60, audio: 3 },
        output: { total: 7, reasoning: 2 },
        raw: { format: 'chat', value: { prompt_tokens: 100 } },
      },
      'default',
      {
        input_tokens: 40,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 60,
        output_tokens: 7,
        output_tokens_details: { thinking_tokens: 2 },
        service_tier: 'standard',
      },
    ],
    [
      { input: { total: 5, cacheRead: 9 }, output: { total: 0 } },
      'flex',
      { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 9, output_tokens: 0 },
    ],
  ])('encodes the usage %j of another format', (usage, serviceTier, wire) => {
    expect(encode({}, { ...(usage && { usage }), ...(serviceTier && { serviceTier }) }).out.usage).toEqual(wire)
  })

  test('decodes no usage from an object without counts', () => {
    for (const usage of [null, {}, { input_tokens: 'many' }]) expect(decode(answer({ usage })).usage).toBeUndefined()
  })
})

describe('content of responses', () => {
  test('encodes a citation with a URL as a search result and recognises it as foreign when it comes back', () => {
    const citation = { url: 'https://example.com', title: 'T', start: 0, end: 2 }
    const { out, losses } = encode({ parts: [{ type: 'text', text: 'Hi', citations: [citation, { title: 'lost' }] }] })
    expect(losses).toEqual([' note', ' warn'])
    const [block] = out.content as JsonObject[]
    expect(block?.citations).toEqual([
      {
        type: 'web_search_result_location',
        url: 'https://example.com',
        title: 'T',
        cited_text: '',
        encrypted_index: 'mgs1.chat.',
      },
    ])
    const context = contextFor()
    const request = messagesCodec.decodeRequest(
      {
        model: 'm',
        max_tokens: 9,
        messages: [
          { role: 'user', content: 'a' },
          { role: 'assistant', content: [block ?? null] },
          { role: 'user', content: 'b' },
        ],
      },
      context,
    )
    const back = messagesCodec.encodeRequest(request, { ...context, target: { model: 'm', quirks: {} } })
    expect(JSON.stringify(back)).not.toContain('mgs1')
    expect(context.report.losses).toMatchObject([{ path: '/messages/1/content/0/citations', severity: 'note' }])
  })

  test('reports other choices, media, log probabilities, foreign blocks and fields', () => {
    const other: Choice = { parts: [], finish: { reason: 'stop' } }
    const first: Choice = {
      parts: [
        { type: 'media', kind: 'audio', source: { type: 'base64', data: 'x' }, at: '/choices/0/message/audio' },
        { type: 'native', format: 'chat', value: { type: 'odd' }, at: '/odd' },
        { type: 'text', text: 'Hi' },
      ],
      finish: { reason: 'stop' },
      logprobs: [],
    }
    const { out, losses } = encode({}, { choices: [first, other], extra: { chat: { citations: [] } } })
    expect(out.content).toEqual([{ type: 'text', text: 'Hi' }])
    expect(losses.sort()).toEqual([
      '/choices/0/logprobs warn',
      '/choices/0/message/audio warn',
      '/choices/1 warn',
      '/citations warn',
      '/odd warn',
    ])
  })

  test('creates the id and fills in the model if the upstream sent none', () => {
    const { out } = encode({ parts: [{ ...toolCall, id: '' } as Part] }, { id: '', model: '' })
    expect(out).toMatchObject({ id: 'msg_1', model: 'm', type: 'message', role: 'assistant' })
    expect(out.content).toEqual([{ type: 'tool_use', id: 'toolu_2', name: 'f', input: {} }])
  })

  test.each<[string, Json, string]>([
    [
      'an error under a 200',
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      'overloaded',
    ],
    ["another vendor's error", { error: { message: 'no' } }, 'upstream_error'],
    ['a chat response', { choices: [] }, 'upstream_bad_response'],
    ['a text', 'hello', 'upstream_bad_response'],
    ['null', null, 'upstream_bad_response'],
  ])('rejects %s', (_, body, kind) => {
    let caught: unknown
    try {
      decode(body)
    } catch (error) {
      caught = error
    }
    expect(caught).toBeInstanceOf(GatewayError)
    expect((caught as GatewayError).info.kind).toBe(kind)
  })
})
