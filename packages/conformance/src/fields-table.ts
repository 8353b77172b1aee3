import type { Json, JsonObject } from './json.ts'

/** One thing a client can write, and what must become of it when the upstream speaks the other format. */
export interface Field {
  readonly name: string
  /** Merged over the smallest request of the format. */
  readonly give: JsonObject
  /** JSON Pointers into the upstream's request with what must stand there. */
  readonly arrives?: { readonly [pointer: string]: Json }
  /** JSON Pointer into the client's body that the loss report must name. */
  readonly lost?: string
  /** The loss is no reason to refuse the call, not even with `onLoss: 'reject'`. */
  readonly harmless?: boolean
  /** What is lost would make the answer meaningless: the call is refused whatever `onLoss` says. */
  readonly refused?: boolean
}

const user = (...content: Json[]): JsonObject => ({ messages: [{ role: 'user', content }] })
const png = 'iVBORw0KGgo='
const pdf = 'JVBERi0='
const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const weather = { type: 'function', function: { name: 'get_weather', description: 'Weather', parameters: schema } }
const weatherTool = { name: 'get_weather', description: 'Weather', input_schema: schema }

/** A finished tool loop, as chat clients send it. */
const chatLoop = (call: JsonObject, result: JsonObject): JsonObject => ({
  tools: [weather],
  messages: [
    { role: 'user', content: 'go' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' }, ...call },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'cold', ...result },
  ],
})
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

export const chatFields: readonly Field[] = [
  { name: 'temperature', give: { temperature: 0.5 }, arrives: { '/temperature': 0.5 } },
  { name: 'a temperature beyond 1', give: { temperature: 1.5 }, arrives: { '/temperature': 1 }, lost: '/temperature' },
  { name: 'top_p', give: { top_p: 0.25 }, arrives: { '/top_p': 0.25 } },
  { name: 'n', give: { n: 3 }, lost: '/n', refused: true },
  { name: 'stream', give: { stream: true }, arrives: { '/stream': true } },
  { name: 'stop as text', give: { stop: 'END' }, arrives: { '/stop_sequences': ['END'] } },
  { name: 'stop as a list', give: { stop: ['END', 'FIN'] }, arrives: { '/stop_sequences': ['END', 'FIN'] } },
  { name: 'a blank stop', give: { stop: ['\n', 'END'] }, arrives: { '/stop_sequences': ['END'] }, lost: '/stop' },
  { name: 'max_tokens', give: { max_tokens: 77 }, arrives: { '/max_tokens': 77 } },
  { name: 'max_completion_tokens', give: { max_completion_tokens: 78 }, arrives: { '/max_tokens': 78 } },
  { name: 'no max_tokens', give: {}, lost: '/max_completion_tokens', harmless: true },
  { name: 'presence_penalty', give: { presence_penalty: 1 }, lost: '/presence_penalty' },
  { name: 'frequency_penalty', give: { frequency_penalty: 1 }, lost: '/frequency_penalty' },
  { name: 'logit_bias', give: { logit_bias: { '50256': -100 } }, lost: '/logit_bias' },
  { name: 'logprobs', give: { logprobs: true, top_logprobs: 3 }, lost: '/logprobs' },
  { name: 'seed', give: { seed: 42 }, lost: '/seed' },
  { name: 'user', give: { user: 'u-1' }, arrives: { '/metadata/user_id': 'u-1' } },
  { name: 'safety_identifier', give: { safety_identifier: 's-1' }, arrives: { '/metadata/user_id': 's-1' } },
  { name: 'metadata', give: { metadata: { order: '7' } }, lost: '/metadata', harmless: true },
  { name: 'store', give: { store: true }, lost: '/store', harmless: true },
  { name: 'prompt_cache_key', give: { prompt_cache_key: 'k' }, lost: '/prompt_cache_key', harmless: true },
  { name: 'service_tier', give: { service_tier: 'flex' }, lost: '/service_tier' },
  {
    name: 'modalities',
    give: { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'mp3' } },
    lost: '/modalities',
  },
  { name: 'audio', give: { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'mp3' } }, lost: '/audio' },
  { name: 'verbosity', give: { verbosity: 'low' }, lost: '/verbosity' },
  { name: 'prediction', give: { prediction: { type: 'content', content: 'x' } }, lost: '/prediction' },
  { name: 'web_search_options', give: { web_search_options: {} }, lost: '/web_search_options' },
  { name: 'a field nobody knows', give: { brand_new: { a: 1 } }, lost: '/brand_new' },
  {
    name: 'reasoning_effort',
    give: { reasoning_effort: 'high', max_tokens: 64_000 },
    arrives: { '/thinking/type': 'enabled' },
  },
  { name: 'reasoning_effort none', give: { reasoning_effort: 'none' }, arrives: { '/thinking/type': 'disabled' } },
  {
    name: 'response_format json_schema',
    give: { response_format: { type: 'json_schema', json_schema: { name: 'place', schema } } },
    arrives: { '/output_config/format/schema': schema, '/output_config/format/type': 'json_schema' },
  },
  { name: 'response_format json_object', give: { response_format: { type: 'json_object' } }, lost: '/response_format' },
  {
    name: 'tools',
    give: { tools: [weather] },
    arrives: { '/tools/0/name': 'get_weather', '/tools/0/description': 'Weather', '/tools/0/input_schema': schema },
  },
  {
    name: 'a strict tool',
    give: { tools: [{ type: 'function', function: { ...weather.function, strict: true } }] },
    arrives: { '/tools/0/strict': true },
  },
  {
    name: 'a custom tool',
    give: { tools: [weather, { type: 'custom', custom: { name: 'sql', description: 'SQL' } }] },
    lost: '/tools/1',
  },
  {
    name: 'tool_choice auto',
    give: { tools: [weather], tool_choice: 'auto' },
    arrives: { '/tool_choice/type': 'auto' },
  },
  {
    name: 'tool_choice none',
    give: { tools: [weather], tool_choice: 'none' },
    arrives: { '/tool_choice/type': 'none' },
  },
  {
    name: 'tool_choice required',
    give: { tools: [weather], tool_choice: 'required' },
    arrives: { '/tool_choice/type': 'any' },
  },
  {
    name: 'tool_choice by name',
    give: { tools: [weather], tool_choice: { type: 'function', function: { name: 'get_weather' } } },
    arrives: { '/tool_choice': { type: 'tool', name: 'get_weather' } },
  },
  {
    name: 'tool_choice allowed_tools',
    give: {
      tools: [weather, { type: 'function', function: { name: 'other' } }],
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'get_weather' } }] },
      },
    },
    arrives: { '/tool_choice/type': 'any' },
    lost: '/tool_choice',
    harmless: true,
  },
  {
    name: 'parallel_tool_calls',
    give: { tools: [weather], parallel_tool_calls: false },
    arrives: { '/tool_choice': { type: 'auto', disable_parallel_tool_use: true } },
  },
  {
    name: 'system and developer messages',
    give: {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'developer', content: 'Be kind.' },
        { role: 'user', content: 'hello' },
      ],
    },
    arrives: { '/messages/0/role': 'user' },
  },
  {
    name: 'a text part',
    give: user({ type: 'text', text: 'hello' }),
    arrives: { '/messages/0/content/0/text': 'hello' },
  },
  {
    name: 'a name on a message',
    give: { messages: [{ role: 'user', name: 'Ann', content: 'hello' }] },
    lost: '/messages/0/name',
  },
  {
    name: 'an image as data',
    give: user({ type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } }),
    arrives: {
      '/messages/0/content/0': { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
    },
  },
  {
    name: 'an image by address',
    give: user({ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }),
    arrives: { '/messages/0/content/0': { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } } },
  },
  {
    name: 'the detail of an image',
    give: user({ type: 'image_url', image_url: { url: `data:image/png;base64,${png}`, detail: 'low' } }),
    lost: '/messages/0/content/0',
    harmless: true,
  },
  {
    name: 'audio input',
    give: user({ type: 'text', text: 'hear' }, { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }),
    lost: '/messages/0/content/1',
    refused: true,
  },
  {
    name: 'a PDF',
    give: user({ type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` } }),
    arrives: {
      '/messages/0/content/0/source': { type: 'base64', media_type: 'application/pdf', data: pdf },
      '/messages/0/content/0/title': 'a.pdf',
    },
  },
  {
    name: 'a file by id',
    give: user({ type: 'text', text: 'read' }, { type: 'file', file: { file_id: 'file-1' } }),
    lost: '/messages/0/content/1',
    refused: true,
  },
  {
    name: 'a part nobody knows',
    give: user({ type: 'text', text: 'see' }, { type: 'hologram', data: 'x' }),
    lost: '/messages/0/content/1',
  },
  {
    name: 'cache_control on a part',
    give: user({ type: 'text', text: 'long', cache_control: { type: 'ephemeral', ttl: '1h' } }),
    arrives: { '/messages/0/content/0/cache_control': { type: 'ephemeral', ttl: '1h' } },
  },
  {
    name: 'tool calls and results',
    give: chatLoop({}, {}),
    arrives: {
      '/messages/1/content/0/type': 'tool_use',
      '/messages/1/content/0/name': 'get_weather',
      '/messages/1/content/0/input': { city: 'Oslo' },
      '/messages/2/role': 'user',
      '/messages/2/content/0/type': 'tool_result',
    },
  },
  {
    name: 'arguments that are no JSON',
    give: chatLoop({ function: { name: 'get_weather', arguments: '{"city": ' } }, {}),
    lost: '/messages/1/tool_calls/0',
  },
  {
    name: 'a tool result in parts',
    give: chatLoop(
      {},
      {
        content: [
          { type: 'text', text: 'very' },
          { type: 'text', text: 'cold' },
        ],
      },
    ),
    arrives: { '/messages/2/content/0/content/1/text': 'cold' },
  },
  {
    name: 'an assistant’s refusal',
    give: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: null, refusal: 'I will not.' },
        { role: 'user', content: 'b' },
      ],
    },
    arrives: { '/messages/1/content': 'I will not.' },
  },
  {
    name: 'an assistant’s audio',
    give: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'said', audio: { id: 'audio_1' } },
        { role: 'user', content: 'b' },
      ],
    },
    lost: '/messages/1/audio',
  },
  {
    name: 'an assistant’s reasoning of another vendor',
    give: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b', reasoning_content: 'hm' },
        { role: 'user', content: 'c' },
      ],
    },
    lost: '/messages/1/reasoning_content',
    harmless: true,
  },
  {
    name: 'functions and function_call, the old way',
    give: { functions: [weather.function], function_call: { name: 'get_weather' } },
    arrives: { '/tools/0/name': 'get_weather', '/tool_choice/name': 'get_weather' },
  },
]

export const messagesFields: readonly Field[] = [
  { name: 'max_tokens', give: { max_tokens: 77 }, arrives: { '/max_completion_tokens': 77 } },
  { name: 'temperature', give: { temperature: 0.5 }, arrives: { '/temperature': 0.5 } },
  { name: 'top_p', give: { top_p: 0.25 }, arrives: { '/top_p': 0.25 } },
  { name: 'top_k', give: { top_k: 5 }, lost: '/top_k' },
  { name: 'stream', give: { stream: true }, arrives: { '/stream': true, '/stream_options/include_usage': true } },
  { name: 'stop_sequences', give: { stop_sequences: ['END'] }, arrives: { '/stop': ['END'] } },
  {
    name: 'more stop sequences than chat takes',
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
  { name: 'a field nobody knows', give: { brand_new: 1 }, lost: '/brand_new' },
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
    name: 'an image by address',
    give: user({ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }),
    arrives: { '/messages/0/content/0/image_url/url': 'https://example.com/a.png' },
  },
  {
    name: 'an image by file id',
    give: user({ type: 'text', text: 'see' }, { type: 'image', source: { type: 'file', file_id: 'file_1' } }),
    lost: '/messages/0/content/1',
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
  },
  {
    name: 'a tool reference',
    give: loop({}, { content: [{ type: 'tool_reference', tool_name: 'x' }] }),
    lost: '/messages/2/content/0/content/0',
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
