import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import type { ModelRequest, Part } from '../ir.ts'
import { responsesCodec } from './codec.ts'
import { contextFor } from './recorded.test-support.ts'

const decode = (fields: JsonObject, upstream?: 'chat' | 'responses') => {
  const { upstream: _, ...context } = contextFor({}, false)
  const request = responsesCodec.decodeRequest(
    { model: 'm', input: 'hi', ...fields },
    upstream === undefined ? context : { ...context, upstream },
  )
  return { request, losses: context.report.losses }
}
describe('a request', () => {
  test.each<[string, JsonObject, Partial<ModelRequest>]>([
    [
      'input that is a string',
      { input: 'hello' },
      { turns: [{ role: 'user', parts: [{ type: 'text', text: 'hello', at: '/input' }], at: '/input' }] },
    ],
    ['stream', { stream: true }, { stream: true }],
    [
      'sampling',
      { temperature: 0.5, top_p: 0.9, max_output_tokens: 50 },
      { sampling: { temperature: 0.5, topP: 0.9, maxTokens: 50 } },
    ],
    [
      'reasoning',
      { reasoning: { effort: 'xhigh', summary: 'detailed' } },
      { reasoning: { effort: 'xhigh', summary: 'detailed' } },
    ],
    [
      'the old name of the summary',
      { reasoning: { generate_summary: 'concise' } },
      { reasoning: { summary: 'concise' } },
    ],
    [
      'plain text',
      { text: { format: { type: 'text' }, verbosity: 'low' } },
      { output: { format: { type: 'text' }, verbosity: 'low' } },
    ],
    ['any JSON', { text: { format: { type: 'json_object' } } }, { output: { format: { type: 'json' } } }],
    [
      'JSON with a schema',
      {
        text: {
          format: { type: 'json_schema', name: 'x', description: 'd', strict: true, schema: { type: 'object' } },
        },
      },
      { output: { format: { type: 'json', name: 'x', description: 'd', strict: true, schema: { type: 'object' } } } },
    ],
    ['log probabilities', { include: ['message.output_text.logprobs'], top_logprobs: 3 }, { output: { logprobs: 3 } }],
    [
      'user ids',
      { user: 'u', prompt_cache_key: 'k', safety_identifier: 's' },
      { user: { id: 'u', cacheKey: 'k', safetyId: 's' } },
    ],
    [
      'metadata and tier',
      { metadata: { a: 'b' }, service_tier: 'flex' },
      { metadata: { a: 'b' }, serviceTier: 'flex' },
    ],
    [
      'the tool choice',
      { tool_choice: 'required', parallel_tool_calls: false },
      { tools: { list: [], choice: 'required', parallel: false } },
    ],
    [
      'allowed tools',
      {
        tool_choice: {
          type: 'allowed_tools',
          mode: 'required',
          tools: [
            { type: 'function', name: 'a' },
            { type: 'custom', name: 'b' },
          ],
        },
      },
      { tools: { list: [], choice: { allowed: ['a', 'b'], mode: 'required' } } },
    ],
    [
      'fields that only this format knows',
      { truncation: 'auto', max_tool_calls: 2, invented: [1] },
      { extra: { responses: { truncation: 'auto', max_tool_calls: 2, invented: [1] } } },
    ],
    [
      'a tool choice that only this format knows',
      { tool_choice: { type: 'mcp', server_label: 'x' } },
      { extra: { responses: { tool_choice: { type: 'mcp', server_label: 'x' } } } },
    ],
  ])('decodes and encodes %s', (_name, fields, expected) => {
    expect(decode(fields).request).toMatchObject(expected)
  })

  test('decodes default values to an empty request', () => {
    const { request } = decode({
      background: false,
      truncation: 'disabled',
      include: [],
      tools: [],
      previous_response_id: null,
      top_logprobs: 0,
      text: {},
      reasoning: null,
    })
    expect(request).toEqual({
      model: 'm',
      stream: false,
      turns: request.turns,
      tools: { list: [] },
      at: { turns: '/input' },
    })
  })

  test('has its instructions as the first turn, with the role system', () => {
    const { request } = decode({ instructions: 'Be brief.', input: [{ role: 'developer', content: 'x' }] })
    expect(request.turns.map(({ role, at }) => [role, at])).toEqual([
      ['system', '/instructions'],
      ['developer', '/input/0'],
    ])
  })
})

describe('a conversation', () => {
  const input: JsonObject[] = [
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'a' },
        { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'low' },
      ],
    },
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [
        { type: 'summary_text', text: 's1' },
        { type: 'summary_text', text: 's2' },
      ],
      encrypted_content: 'E',
    },
    {
      type: 'message',
      role: 'assistant',
      id: 'msg_1',
      status: 'completed',
      phase: 'commentary',
      content: [{ type: 'output_text', text: 'b', annotations: [] }],
    },
    { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'f', arguments: '{}', status: 'completed' },
    { type: 'custom_tool_call', call_id: 'c2', name: 'g', input: 'raw' },
    {
      type: 'function_call_output',
      call_id: 'c1',
      output: [
        { type: 'input_text', text: 'r1' },
        { type: 'input_image', image_url: 'https://e.example/i.png' },
      ],
    },
    { type: 'custom_tool_call_output', call_id: 'c2', output: 'r2' },
    { role: 'user', content: 'c' },
    { role: 'assistant', content: 'd' },
    { role: 'assistant', content: 'e' },
  ]

  test('joins adjacent items of the assistant to one turn, and adjacent tool results too', () => {
    const { request } = decode({ input })
    expect(request.turns.map(({ role, parts }) => [role, parts.map(({ type }) => type)])).toEqual([
      ['user', ['text', 'media']],
      ['assistant', ['reasoning', 'reasoning', 'text', 'tool-call', 'tool-call']],
      ['user', ['tool-result', 'tool-result']],
      ['user', ['text']],
      ['assistant', ['text']],
      ['assistant', ['text']],
    ])
    const [, assistant, results] = request.turns
    expect(assistant?.parts[1]).toMatchObject({ text: 's2', summary: true, seal: { issuer: 'responses', data: 'E' } })
    expect(assistant?.parts[0]).not.toHaveProperty('seal')
    expect(assistant?.parts[4]).toMatchObject({ id: 'c2', name: 'g', input: 'raw', custom: true })
    expect(results?.parts[0]).toMatchObject({ callId: 'c1', parts: [{ text: 'r1' }, { type: 'media', kind: 'image' }] })
  })

  test.each<[string, JsonObject, Partial<Part>]>([
    [
      'an image URL',
      { type: 'input_image', image_url: 'https://e.example' },
      { kind: 'image', source: { type: 'url', url: 'https://e.example' } } as Partial<Part>,
    ],
    [
      'a stored image',
      { type: 'input_image', file_id: 'f1' },
      { kind: 'image', source: { type: 'file', seal: { issuer: 'responses', data: 'f1' } } } as Partial<Part>,
    ],
    [
      'a file',
      { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,QQ==' },
      {
        kind: 'document',
        name: 'a.pdf',
        mediaType: 'application/pdf',
        source: { type: 'base64', data: 'QQ==' },
      } as Partial<Part>,
    ],
    [
      'a file URL',
      { type: 'input_file', file_url: 'https://e.example/a.pdf' },
      { kind: 'document', source: { type: 'url', url: 'https://e.example/a.pdf' } } as Partial<Part>,
    ],
    [
      'audio',
      { type: 'input_audio', input_audio: { data: 'QQ==', format: 'mp3' } },
      { kind: 'audio', mediaType: 'audio/mpeg', source: { type: 'base64', data: 'QQ==' } } as Partial<Part>,
    ],
    ['a refusal', { type: 'refusal', refusal: 'no' }, { type: 'refusal', text: 'no' } as Partial<Part>],
    [
      'an unknown part',
      { type: 'input_smell', smell: 'x' },
      { type: 'native', value: { type: 'input_smell', smell: 'x' } } as Partial<Part>,
    ],
  ])('decodes %s, and encodes it back', (_name, part, expected) => {
    const body = { model: 'm', input: [{ type: 'message', role: 'user', content: [part] }] }
    const request = responsesCodec.decodeRequest(structuredClone(body) as JsonObject, contextFor())
    expect(request.turns[0]?.parts[0]).toMatchObject(expected)
    if (part.type !== 'refusal') expect(responsesCodec.encodeRequest(request, contextFor()).input).toEqual(body.input)
  })

  test('reports ids and states once for upstreams that ignore them', () => {
    const { request, losses } = decode({ input }, 'chat')
    expect(losses.map(({ path, severity }) => [path, severity])).toEqual([
      ['/input/1/id', 'note'],
      ['/input/2/status', 'note'],
      ['/input/2/phase', 'note'],
    ])
    expect(JSON.stringify(request)).not.toMatch(/rs_1|msg_1|fc_1|completed/)
  })
})

describe('a reference to stored state', () => {
  const cases: [string, JsonObject][] = [
    ['/previous_response_id', { previous_response_id: 'resp_1' }],
    ['/conversation', { conversation: 'conv_1' }],
    ['/background', { background: true }],
    ['/prompt', { prompt: { id: 'pmpt_1' } }],
    [
      '/input/1',
      {
        input: [
          { role: 'user', content: 'x' },
          { type: 'item_reference', id: 'msg_1' },
        ],
      },
    ],
    ['/input/0', { input: [{ id: 'msg_1' }] }],
    ['/input/0', { input: [{ type: 'compaction', encrypted_content: 'x' }] }],
    ['/input/0', { input: [{ type: 'compaction_trigger' }] }],
  ]
  test.each(cases)('is reported as fatal with its place: %s', (path, fields) => {
    const { losses } = decode(fields, 'chat')
    expect(losses.filter(({ severity }) => severity === 'fatal').map((loss) => loss.path)).toEqual([path])
    expect(decode(fields).losses.filter(({ severity }) => severity === 'fatal')).toHaveLength(1)
  })
  test.each(cases)('is passed to an upstream of the same format: %s', (_path, fields) => {
    const { request, losses } = decode(fields, 'responses')
    expect(losses).toEqual([])
    expect(responsesCodec.encodeRequest(request, contextFor())).toMatchObject(fields)
  })
})

describe('strictness of functions', () => {
  const closed = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }
  test.each<[string, JsonObject, boolean | undefined]>([
    ['a closed schema', { parameters: closed }, true],
    ['an open schema', { parameters: { ...closed, additionalProperties: true } }, undefined],
    ['an optional property', { parameters: { ...closed, required: [] } }, undefined],
    ['a nested open schema', { parameters: { ...closed, properties: { a: { type: 'object' } } } }, undefined],
    ['a keyword that strict mode refuses', { parameters: { ...closed, patternProperties: {} } }, undefined],
    ['no schema', {}, undefined],
    ['an explicit false', { parameters: closed, strict: false }, false],
    ['null', { parameters: closed, strict: null }, true],
  ])('is decoded for %s', (_name, fields, strict) => {
    const { request } = decode({ tools: [{ type: 'function', name: 'f', ...fields }] })
    const [tool] = request.tools?.list ?? []
    expect(tool?.type === 'function' ? [tool.strict] : []).toEqual([strict])
  })
})
