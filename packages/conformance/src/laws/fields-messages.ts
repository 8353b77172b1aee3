import type { Json, JsonObject } from '../base/json.ts'
import { type Field, pdf, png, schema, user } from './field-case.ts'

const weatherTool = { name: 'get_weather', description: 'Weather', input_schema: schema }

/** A complete tool loop, as Messages clients send it. */
const loop = (call: JsonObject, result: JsonObject, before: Json[] = []): JsonObject => ({
  tools: [weatherTool],
  messages: [
    { role: 'user', content: 'go' },
    {
      role: 'assistant',
      content: [...before, { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Oslo' }, ...call }],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'cold', ...result }] },
  ],
})

/** Fields of Messages clients with an upstream of the chat format. */
export const messagesFields: readonly Field[] = [
  { name: 'max_tokens', give: { max_tokens: 77 }, arrives: { '/max_completion_tokens': 77 } },
  { name: 'temperature', give: { temperature: 0.5 }, arrives: { '/temperature': 0.5 } },
  { name: 'top_p', give: { top_p: 0.25 }, arrives: { '/top_p': 0.25 } },
  { name: 'top_k', give: { top_k: 5 }, lost: '/top_k' },
  { name: 'stream', give: { stream: true }, arrives: { '/stream': true, '/stream_options/include_usage': true } },
  { name: 'stop_sequences', give: { stop_sequences: ['END'] }, arrives: { '/stop': ['END'] } },
  {
    name: 'more stop sequences than chat accepts',
    give: { stop_sequences: ['a', 'b', 'c', 'd', 'e'] },
    lost: '/stop_sequences',
  },
  {
    name: 'system as text',
    give: { system: 'Be brief.' },
    arrives: { '/messages/0': { role: 'system', content: 'Be brief.' }, '/messages/1/role': 'user' },
  },
  {
    name: 'system as blocks',
    give: { system: [{ type: 'text', text: 'Be brief.' }] },
    arrives: { '/messages/0': { role: 'system', content: 'Be brief.' } },
  },
  {
    name: 'a system message in the middle',
    give: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'system', content: 'Now be brief.' },
        { role: 'user', content: 'b' },
      ],
    },
    arrives: { '/messages/1': { role: 'system', content: 'Now be brief.' }, '/messages/2/content': 'b' },
  },
  {
    name: 'cache_control on a system block',
    give: { system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }] },
    lost: '/system/0/cache_control',
    harmless: true,
  },
  { name: 'metadata.user_id', give: { metadata: { user_id: 'u-1' } }, arrives: { '/user': 'u-1' } },
  { name: 'service_tier', give: { service_tier: 'standard_only' }, arrives: { '/service_tier': 'default' } },
  { name: 'container', give: { container: 'c-1' }, lost: '/container' },
  {
    name: 'mcp_servers',
    give: { mcp_servers: [{ type: 'url', url: 'https://e.com', name: 'm' }] },
    lost: '/mcp_servers',
  },
  {
    name: 'context_management',
    give: { context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] } },
    lost: '/context_management',
    harmless: true,
  },
  { name: 'an unknown field', give: { brand_new: 1 }, lost: '/brand_new' },
  {
    name: 'thinking with a budget',
    give: { max_tokens: 9000, thinking: { type: 'enabled', budget_tokens: 8000 } },
    arrives: { '/reasoning_effort': 'medium' },
    lost: '/thinking/budget_tokens',
  },
  { name: 'adaptive thinking', give: { thinking: { type: 'adaptive' } }, lost: '/thinking', harmless: true },
  { name: 'thinking disabled', give: { thinking: { type: 'disabled' } }, arrives: { '/reasoning_effort': 'none' } },
  { name: 'output_config.effort', give: { output_config: { effort: 'low' } }, arrives: { '/reasoning_effort': 'low' } },
  {
    name: 'output_config.format',
    give: { output_config: { format: { type: 'json_schema', schema } } },
    arrives: { '/response_format/json_schema/schema': schema, '/response_format/type': 'json_schema' },
  },
  {
    name: 'tools',
    give: { tools: [weatherTool] },
    arrives: {
      '/tools/0/function': { name: 'get_weather', description: 'Weather', parameters: schema },
      '/tools/0/type': 'function',
    },
  },
  {
    name: 'a strict tool',
    give: { tools: [{ ...weatherTool, strict: true }] },
    arrives: { '/tools/0/function/strict': true },
  },
  {
    name: 'cache_control on a tool',
    give: { tools: [{ ...weatherTool, cache_control: { type: 'ephemeral' } }] },
    lost: '/tools/0/cache_control',
    harmless: true,
  },
  {
    name: 'defer_loading',
    give: { tools: [{ ...weatherTool, defer_loading: true }] },
    lost: '/tools/0/defer_loading',
    harmless: true,
  },
  {
    name: 'a server tool',
    give: { tools: [weatherTool, { type: 'web_search_20250305', name: 'web_search', max_uses: 2 }] },
    lost: '/tools/1',
  },
  {
    name: 'tool_choice auto',
    give: { tools: [weatherTool], tool_choice: { type: 'auto' } },
    arrives: { '/tool_choice': 'auto' },
  },
  {
    name: 'tool_choice any',
    give: { tools: [weatherTool], tool_choice: { type: 'any' } },
    arrives: { '/tool_choice': 'required' },
  },
  {
    name: 'tool_choice none',
    give: { tools: [weatherTool], tool_choice: { type: 'none' } },
    arrives: { '/tool_choice': 'none' },
  },
  {
    name: 'tool_choice by name',
    give: { tools: [weatherTool], tool_choice: { type: 'tool', name: 'get_weather' } },
    arrives: { '/tool_choice': { type: 'function', function: { name: 'get_weather' } } },
  },
  {
    name: 'disable_parallel_tool_use',
    give: { tools: [weatherTool], tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    arrives: { '/parallel_tool_calls': false },
  },
  {
    name: 'text blocks',
    give: user({ type: 'text', text: 'a' }, { type: 'text', text: 'b' }),
    arrives: { '/messages/0/content/1/text': 'b' },
  },
  {
    name: 'cache_control on a block',
    give: user({ type: 'text', text: 'a', cache_control: { type: 'ephemeral', ttl: '1h' } }),
    lost: '/messages/0/content/0/cache_control',
    harmless: true,
  },
  {
    name: 'an image as data',
    give: user({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }),
    arrives: { '/messages/0/content/0/image_url/url': `data:image/png;base64,${png}` },
  },
  {
    name: 'an image by URL',
    give: user({ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }),
    arrives: { '/messages/0/content/0/image_url/url': 'https://example.com/a.png' },
  },
  {
    name: 'an image by file id',
    give: user({ type: 'text', text: 'see' }, { type: 'image', source: { type: 'file', file_id: 'file_1' } }),
    lost: '/messages/0/content/1',
    refused: true,
  },
  {
    name: 'a PDF',
    give: user({
      type: 'document',
      title: 'a.pdf',
      source: { type: 'base64', media_type: 'application/pdf', data: pdf },
    }),
    arrives: { '/messages/0/content/0/file': { filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` } },
  },
  {
    name: 'a document as text',
    give: user({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'the text of it' } }),
    arrives: { '/messages/0/content': 'the text of it' },
    lost: '/messages/0/content/0',
    harmless: true,
  },
  {
    name: 'the context and citations of a document',
    give: user({
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: pdf },
      context: 'old',
      citations: { enabled: true },
    }),
    lost: '/messages/0/content/0/context',
  },
  {
    name: 'a search result',
    give: user(
      { type: 'text', text: 'see' },
      { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'x' }] },
    ),
    lost: '/messages/0/content/1/source',
  },
  {
    name: 'tool use and results',
    give: loop({}, {}),
    arrives: {
      '/messages/1/tool_calls/0/function/name': 'get_weather',
      '/messages/1/tool_calls/0/id': 'toolu_1',
      '/messages/2': { role: 'tool', tool_call_id: 'toolu_1', content: 'cold' },
    },
  },
  {
    name: 'calls of two assistant turns in a row',
    give: {
      tools: [weatherTool],
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: {} }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_2', name: 'get_weather', input: {} }] },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: 'cold' },
            { type: 'tool_result', tool_use_id: 'toolu_2', content: 'warm' },
          ],
        },
      ],
    },
    arrives: {
      '/messages/1/tool_calls/1/id': 'toolu_2',
      '/messages/2/tool_call_id': 'toolu_1',
      '/messages/3/tool_call_id': 'toolu_2',
    },
  },
  {
    name: 'a failed tool',
    give: loop({}, { is_error: true }),
    arrives: { '/messages/2/content': 'cold' },
    lost: '/messages/2/content/0/is_error',
    harmless: true,
  },
  {
    name: 'an image in a tool result',
    give: loop({}, { content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }] }),
    arrives: { '/messages/3/role': 'user' },
    lost: '/messages/2/content/0/content/0',
    harmless: true,
  },
  {
    name: 'a tool reference',
    give: loop({}, { content: [{ type: 'tool_reference', tool_name: 'x' }] }),
    arrives: { '/messages/2/content': 'Tools found, ready to be called: x' },
  },
  {
    name: 'thinking with its signature',
    give: loop({}, {}, [{ type: 'thinking', thinking: 'hm', signature: 'EsIg' }]),
    lost: '/messages/1/content/0',
    harmless: true,
  },
  {
    name: 'redacted thinking',
    give: loop({}, {}, [{ type: 'redacted_thinking', data: 'EsIg' }]),
    lost: '/messages/1/content/0',
    harmless: true,
  },
  {
    name: 'server tool use',
    give: loop({}, {}, [
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } },
      { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
    ]),
    lost: '/messages/1/content/0',
  },
  {
    name: 'an assistant’s prefill',
    give: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: '{' },
      ],
    },
    arrives: { '/messages/1': { role: 'assistant', content: '{' } },
  },
]
