import { expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import { messagesCodec } from './index.ts'
import { contextFor, target } from './recorded.test-support.ts'
import { decode } from './request.test-support.ts'

/** A request with every field of the format. */
const rich: JsonObject = {
  model: 'claude-opus-4-8',
  system: [
    { type: 'text', text: 'x-anthropic-billing-header: cc_version=1; cch=abc;' },
    { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } },
  ],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Look.', cache_control: { type: 'ephemeral' } },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0=' } },
        { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
        { type: 'image', source: { type: 'file', file_id: 'file_1' }, cache_control: { type: 'ephemeral' } },
        {
          type: 'document',
          source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
          title: 'Report',
          context: 'From 2020',
          citations: { enabled: true },
        },
        { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Plain.' } },
        { type: 'document', source: { type: 'file', file_id: 'file_2' } },
        {
          type: 'document',
          source: {
            type: 'content',
            content: [
              { type: 'text', text: 'Chunk 1' },
              { type: 'text', text: 'Chunk 2' },
            ],
          },
          title: 'Chunks',
        },
        {
          type: 'search_result',
          source: 'https://example.com',
          title: 'Found',
          content: [{ type: 'text', text: 'Something' }],
          citations: { enabled: true },
        },
        { type: 'container_upload', file_id: 'file_3' },
      ],
    },
    { role: 'system', content: 'Now in French.' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: '', signature: 'sig-1' },
        { type: 'redacted_thinking', data: 'secret' },
        {
          type: 'text',
          text: 'Cited.',
          citations: [
            {
              type: 'char_location',
              cited_text: 'a',
              document_index: 0,
              document_title: 'Report',
              start_char_index: 0,
              end_char_index: 1,
            },
            {
              type: 'web_search_result_location',
              cited_text: 'b',
              url: 'https://example.com',
              title: 'T',
              encrypted_index: 'enc',
            },
          ],
        },
        { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
        { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
        { type: 'tool_use', id: 'toolu_1', name: 'look', input: { a: [1, { b: null }] }, caller: { type: 'direct' } },
        { type: 'tool_use', id: 'toolu_2', name: 'free', input: {}, cache_control: { type: 'ephemeral' } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_2', content: 'plain', is_error: true },
        {
          type: 'tool_result',
          tool_use_id: 'toolu_1',
          content: [
            { type: 'text', text: 'A picture:' },
            { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: '/9j/4A==' } },
            { type: 'tool_reference', tool_name: 'later' },
          ],
          is_error: false,
          cache_control: { type: 'ephemeral', ttl: '5m' },
        },
        { type: 'text', text: 'Go on.' },
      ],
    },
    { role: 'assistant', content: 'The answer is' },
  ],
  max_tokens: 4000,
  stop_sequences: ['END'],
  stream: true,
  tools: [
    {
      name: 'look',
      description: 'Looks.',
      input_schema: { type: 'object', properties: { a: {} }, $defs: {} },
      strict: true,
      defer_loading: true,
      cache_control: { type: 'ephemeral' },
    },
    { name: 'free', input_schema: { type: 'object' }, eager_input_streaming: true },
    { type: 'web_search_20250305', name: 'web_search', max_uses: 3, cache_control: { type: 'ephemeral' } },
  ],
  tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  thinking: { type: 'adaptive', display: 'summarized' },
  output_config: {
    effort: 'xhigh',
    format: { type: 'json_schema', schema: { type: 'object' } },
    task_budget: { type: 'tokens', total: 9 },
  },
  metadata: { user_id: 'u1', trace: 't' },
  service_tier: 'standard_only',
  cache_control: { type: 'ephemeral' },
  context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
  container: 'c1',
  mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'm' }],
  invented_last_week: { yes: true },
}

test('encodes a decoded request unchanged and reports no losses', () => {
  const context = contextFor()
  const request = messagesCodec.decodeRequest(structuredClone(rich), context)
  const out = messagesCodec.encodeRequest(request, { ...context, target: target('claude-opus-4-8') })
  expect(out).toEqual(rich)
  expect(context.report.losses).toEqual([])
})

test('decodes a request to the IR', () => {
  const request = decode({ ...rich, temperature: 0.5, top_p: 0.9, top_k: 7 })
  expect(request).toMatchObject({
    model: 'claude-opus-4-8',
    stream: true,
    sampling: { maxTokens: 4000, temperature: 0.5, topP: 0.9, topK: 7, stop: ['END'] },
    tools: { choice: 'auto', parallel: false },
    reasoning: { adaptive: true, effort: 'xhigh', summary: 'auto' },
    output: { format: { type: 'json', schema: { type: 'object' } } },
    user: { id: 'u1' },
    serviceTier: 'default',
  })
  expect(Object.keys(request.extra?.messages ?? {}).sort()).toEqual([
    'container',
    'context_management',
    'invented_last_week',
    'mcp_servers',
    'metadata',
    'output_config',
  ])
  expect(request.turns.map(({ role, at }) => `${role} ${at}`)).toEqual([
    'system /system',
    'user /messages/0',
    'system /messages/1',
    'assistant /messages/2',
    'user /messages/3',
    'assistant /messages/4',
  ])
  expect(request.turns[0]?.parts).toEqual([
    {
      type: 'native',
      format: 'messages',
      value: { type: 'text', text: expect.any(String) },
      at: '/system/0',
      incidental: true,
    },
    { type: 'text', text: 'Be brief.', cache: { ttl: '1h' }, at: '/system/1' },
  ])
  expect(
    request.turns[1]?.parts.map((part) => (part.type === 'media' ? `${part.kind} ${part.source.type}` : part.type)),
  ).toEqual([
    'text',
    'image base64',
    'image url',
    'image file',
    'document base64',
    'document url',
    'document text',
    'document file',
    'document text',
    'document text',
    'native',
  ])
  const answer = request.turns[3]?.parts ?? []
  expect(answer.map(({ type }) => type)).toEqual([
    'reasoning',
    'reasoning',
    'text',
    'native',
    'native',
    'tool-call',
    'tool-call',
  ])
  expect(answer[0]).toMatchObject({ text: '', seal: { issuer: 'messages', data: 'sig-1' } })
  expect(answer[1]).toMatchObject({ redacted: true, seal: { issuer: 'messages', data: 'secret' } })
  expect(answer[2]).toMatchObject({
    citations: [
      { title: 'Report', text: 'a' },
      { title: 'T', text: 'b', url: 'https://example.com' },
    ],
  })
  expect(answer[5]).toMatchObject({ input: '{"a":[1,{"b":null}]}' })
  expect(request.turns[4]?.parts[0]).toMatchObject({ type: 'tool-result', callId: 'toolu_2', isError: true })
})

test('decodes the beta name of the output format and records its place', () => {
  const request = decode({ ...rich, output_config: null, output_format: { type: 'json_schema', schema: {} } })
  expect(request.output?.format).toEqual({ type: 'json', schema: {}, strict: true })
  expect(request.at).toEqual({ 'output.format': '/output_format' })
})
