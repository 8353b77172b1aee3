import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../base/json/json.ts'
import { createReport } from '../loss-report.ts'
import { cohere } from './cohere.ts'

const { generate = {} } = cohere

/** Returns a request as the format gets it, and the losses. */
function edited(body: JsonObject) {
  const { set = {}, drop = [], losses = [] } = generate.editRequest?.(body) ?? {}
  const out: JsonObject = { ...body, ...set }
  for (const name of drop) if (!Object.hasOwn(set, name)) delete out[name]
  return { out, losses: losses.map(({ path, severity }) => `${severity} ${path}`) }
}

const frame = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }
const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
  ...frame,
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const usage = { prompt_tokens: 3, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 2 } }
const cohereUsage = {
  billed_units: { input_tokens: 3, output_tokens: 1 },
  tokens: { input_tokens: 3, output_tokens: 1 },
  cached_tokens: 2,
}

/** Returns the events of a stream with their data. */
function events(chunks: readonly (JsonObject | '[DONE]')[], report = createReport({})) {
  const editor = generate.openEvents?.(report)
  const all = chunks.flatMap((one) => editor?.push({ data: one === '[DONE]' ? one : JSON.stringify(one) }) ?? [])
  return [...all, ...(editor?.end() ?? [])].map(({ event, data }) => {
    if (data === '[DONE]') return data
    const { type, ...members } = JSON.parse(data) as JsonObject
    expect(type).toBe(event)
    return [type, members]
  })
}

describe('a request of Cohere’s clients', () => {
  it.each<[name: string, sent: JsonObject, got: JsonObject, losses?: readonly string[]]>([
    ['p, k and stop_sequences', { p: 0.5, k: 3, stop_sequences: ['x'] }, { top_p: 0.5, top_k: 3, stop: ['x'] }],
    ['a k of 0, which has no effect', { k: 0 }, {}],
    ['tool_choice', { tool_choice: 'REQUIRED' }, { tool_choice: 'required' }],
    ['thinking that is disabled', { thinking: { type: 'disabled' } }, { reasoning_effort: 'none' }],
    [
      'a budget of thinking',
      { thinking: { type: 'enabled', token_budget: 9 } },
      { reasoning_effort: 'high' },
      ['warn /thinking/token_budget'],
    ],
    [
      'a schema',
      { response_format: { type: 'json_object', json_schema: { type: 'object' } } },
      { response_format: { type: 'json_schema', json_schema: { name: 'response', schema: { type: 'object' } } } },
    ],
    [
      'JSON without a schema',
      { response_format: { type: 'json_object' } },
      { response_format: { type: 'json_object' } },
    ],
    [
      'strict tools',
      { strict_tools: true, tools: [{ type: 'function', function: { name: 'f' } }] },
      { tools: [{ type: 'function', function: { name: 'f', strict: true } }] },
    ],
    ['documents', { documents: ['x'] }, {}, ['fatal /documents']],
    ['no documents', { documents: [] }, {}],
    ['a raw prompt', { raw_prompting: true }, {}, ['fatal /raw_prompting']],
    [
      'safety and citation settings',
      { safety_mode: 'STRICT', citation_options: { mode: 'FAST' } },
      {},
      ['note /citation_options', 'warn /safety_mode'],
    ],
    ['an unknown field', { new_field: 1 }, { new_field: 1 }],
    ['a stream', { stream: true }, { stream: true, stream_options: { include_usage: true } }],
  ])('with %s becomes a chat request', (_name, sent, got, losses = []) => {
    expect(edited({ model: 'm', ...sent })).toEqual({ out: { model: 'm', ...got }, losses })
  })

  it('keeps messages, with plans, thoughts and documents of tools as the format has them', () => {
    const user = { role: 'user', content: [{ type: 'text', text: 'hi' }] }
    const calls = [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }]
    const { out, losses } = edited({
      messages: [
        user,
        { role: 'assistant', tool_plan: 'I call f.', tool_calls: calls },
        {
          role: 'tool',
          tool_call_id: 'a',
          content: [
            { type: 'document', document: { data: 'plain' } },
            { type: 'document', document: { id: '1', data: { x: 1 } } },
          ],
        },
        { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: 'done' }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm' },
            { type: 'text', text: 'one' },
          ],
          citations: [{ start: 0 }],
        },
      ],
    })
    expect(out.messages).toEqual([
      user,
      { role: 'assistant', content: 'I call f.', tool_calls: calls },
      {
        role: 'tool',
        tool_call_id: 'a',
        content: [
          { type: 'text', text: 'plain' },
          { type: 'text', text: '{"id":"1","data":{"x":1}}' },
        ],
      },
      { role: 'tool', tool_call_id: 'b', content: 'done' },
      { role: 'assistant', reasoning_content: 'hm', content: 'one' },
    ])
    expect(losses).toEqual(['note /messages/4/citations'])
  })
})

describe('a response for Cohere’s clients', () => {
  const respond = (message: JsonObject, finish: string, report = createReport({})): Json =>
    generate.editResponse?.(
      { ...frame, choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }], usage },
      report,
    ) ?? null

  it('has thoughts, text, calls and usage in Cohere’s form', () => {
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
    expect(respond({ content: 'hello', reasoning_content: 'hm', tool_calls: [call] }, 'tool_calls')).toEqual({
      id: 'c',
      finish_reason: 'TOOL_CALL',
      message: {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm' },
          { type: 'text', text: 'hello' },
        ],
        tool_calls: [call],
      },
      usage: cohereUsage,
    })
  })

  it.each([
    ['stop', 'COMPLETE'],
    ['length', 'MAX_TOKENS'],
    ['content_filter', 'ERROR'],
    ['new_reason', 'COMPLETE'],
  ])('with the finish reason %s has %s', (finish, expected) => {
    expect(respond({ content: 'x' }, finish)).toMatchObject({ finish_reason: expected })
  })

  it('reports what Cohere’s form cannot hold, whole and streamed', () => {
    const annotations = [{ type: 'url_citation' }]
    const [whole, streamed] = [createReport({}), createReport({})]
    respond({ content: 'x', refusal: null, annotations, audio: null }, 'stop', whole)
    events([chunk({ content: 'x' }), chunk({ annotations }), chunk({ annotations }), chunk({}, 'stop')], streamed)
    expect(whole.losses).toMatchObject([{ path: '/choices/0/message/annotations', side: 'answer' }])
    expect(streamed.losses).toMatchObject([{ path: '/choices/0/delta/annotations', side: 'answer' }])
  })
})

describe('a stream for Cohere’s clients', () => {
  const call = (index: number, id: string | undefined, written: string): JsonObject => ({
    tool_calls: [
      {
        index,
        ...(id === undefined ? {} : { id }),
        function: { ...(id === undefined ? {} : { name: 'f' }), arguments: written },
      },
    ],
  })
  const start = ['message-start', { id: 'c', delta: { message: { role: 'assistant' } } }]
  const content = (index: number, member: JsonObject) => ({ index, delta: { message: { content: member } } })
  const toolCall = (index: number, member: JsonObject) => ({ index, delta: { message: { tool_calls: member } } })

  it('consists of the events of a message, of its parts and of its calls', () => {
    expect(
      events([
        chunk({ role: 'assistant', content: '' }),
        chunk({ reasoning_content: 'hm' }),
        chunk({ content: 'a' }),
        chunk({ content: 'b' }),
        chunk(call(0, 'one', '')),
        chunk(call(0, undefined, '{}')),
        chunk(call(1, 'two', '{"a":1}')),
        chunk({}, 'tool_calls'),
        { ...frame, choices: [], usage },
        '[DONE]',
      ]),
    ).toEqual([
      start,
      ['content-start', content(0, { type: 'thinking', thinking: '' })],
      ['content-delta', content(0, { thinking: 'hm' })],
      ['content-end', { index: 0 }],
      ['content-start', content(1, { type: 'text', text: '' })],
      ['content-delta', content(1, { text: 'a' })],
      ['content-delta', content(1, { text: 'b' })],
      ['content-end', { index: 1 }],
      ['tool-call-start', toolCall(0, { id: 'one', type: 'function', function: { name: 'f', arguments: '' } })],
      ['tool-call-delta', toolCall(0, { function: { arguments: '{}' } })],
      ['tool-call-end', { index: 0 }],
      ['tool-call-start', toolCall(1, { id: 'two', type: 'function', function: { name: 'f', arguments: '' } })],
      ['tool-call-delta', toolCall(1, { function: { arguments: '{"a":1}' } })],
      ['tool-call-end', { index: 1 }],
      ['message-end', { id: 'c', delta: { finish_reason: 'TOOL_CALL', usage: cohereUsage } }],
      '[DONE]',
    ])
  })

  it('that fails ends with an error, and with no other end', () => {
    const error = { message: 'cut', type: 'server_error', param: null, code: null }
    expect(events([chunk({ content: 'a' }), chunk({}, 'stop'), { error }]).slice(-1)).toEqual([
      ['message-end', { id: 'c', delta: { finish_reason: 'ERROR', error: 'cut' } }],
    ])
  })

  it('that ends without a finish reason has no end', () => {
    expect(events([chunk({ content: 'a' })]).map(([type]) => type)).toEqual([
      'message-start',
      'content-start',
      'content-delta',
    ])
  })
})
