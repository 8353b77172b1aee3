import type { JsonObject } from '../base/json.ts'
import { type Field, pdf, png, schema, user } from './field-case.ts'

const weather = { type: 'function', function: { name: 'get_weather', description: 'Weather', parameters: schema } }

/** A complete tool loop, as chat clients send it. */
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

/** Fields of chat clients with an upstream of the Messages format. */
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
  // Anthropic requires a limit; the client's missing limit is not a loss.
  { name: 'no max_tokens', give: {}, arrives: { '/max_tokens': 8192 } },
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
  { name: 'an unknown field', give: { brand_new: { a: 1 } }, lost: '/brand_new' },
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
    name: 'an image by URL',
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
    name: 'an unknown part',
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
    name: 'arguments that are not JSON',
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
    name: 'deprecated functions and function_call',
    give: { functions: [weather.function], function_call: { name: 'get_weather' } },
    arrives: { '/tools/0/name': 'get_weather', '/tool_choice/name': 'get_weather' },
  },
]
