import type { ClientFormat } from '../../base/client-formats.ts'
import type { Format } from '../../base/recorded-traffic.ts'

/** Placeholders for nested JSON, and for a text with nested JSON. */
const deep = '@deep@'
const deepText = '@deep text@'

type Fields = Readonly<Record<string, unknown>>

const object = { type: 'object', properties: { a: deep } } as const
const user = (text: string): object => ({ role: 'user', content: text })
const blocks = (role: string, ...content: readonly unknown[]): object => ({ role, content })

const schema: Readonly<Record<ClientFormat, Fields>> = {
  chat: { tools: [{ type: 'function', function: { name: 'f', parameters: object } }] },
  messages: { tools: [{ name: 'f', input_schema: object }] },
  gemini: { tools: [{ functionDeclarations: [{ name: 'f', description: 'f', parameters: object }] }] },
  responses: { tools: [{ type: 'function', name: 'f', parameters: object, strict: false }] },
  ollama: { tools: [{ type: 'function', function: { name: 'f', parameters: object } }] },
  converse: { toolConfig: { tools: [{ toolSpec: { name: 'f', inputSchema: { json: object } } }] } },
}
const content: Readonly<Record<ClientFormat, (text: string) => Fields>> = {
  chat: (text) => ({ messages: [user(text), { role: 'user', content: [deep] }] }),
  messages: (text) => ({ messages: [user(text), { role: 'user', content: [deep] }] }),
  gemini: (text) => ({ contents: [{ role: 'user', parts: [{ text }, { inlineData: deep }] }] }),
  responses: (text) => ({ input: [user(text), { role: 'user', content: [deep] }] }),
  // Its contents are texts; a schema of the response nests.
  ollama: (text) => ({ messages: [user(text)], format: { type: 'object', properties: { a: deep } } }),
  converse: (text) => ({ messages: [blocks('user', { text }, deep)] }),
}
const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: deepText } } as const
/** A tool call and its result, one of which is nested. */
const called: Readonly<Record<ClientFormat, (text: string, result: boolean) => Fields>> = {
  chat: (text, result) => ({
    messages: [
      user(text),
      { role: 'assistant', tool_calls: [result ? { ...call, function: { name: 'f', arguments: '{}' } } : call] },
      { role: 'tool', tool_call_id: 'call_1', content: result ? deepText : 'x' },
    ],
  }),
  messages: (text, result) => ({
    messages: [
      user(text),
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'call_1', name: 'f', input: result ? {} : { a: deep } }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: result ? deepText : 'x' }] },
    ],
  }),
  gemini: (text, result) => ({
    contents: [
      { role: 'user', parts: [{ text }] },
      { role: 'model', parts: [{ functionCall: { name: 'f', args: result ? {} : { a: deep } } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'f', response: { a: result ? deep : 'x' } } }] },
    ],
  }),
  responses: (text, result) => ({
    input: [
      user(text),
      { type: 'function_call', call_id: 'call_1', name: 'f', arguments: result ? '{}' : deepText },
      { type: 'function_call_output', call_id: 'call_1', output: result ? deepText : 'x' },
    ],
  }),
  ollama: (text, result) => ({
    messages: [
      user(text),
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ function: { name: 'f', arguments: result ? {} : { a: deep } } }],
      },
      { role: 'tool', tool_name: 'f', content: result ? deepText : 'x' },
    ],
  }),
  converse: (text, result) => ({
    messages: [
      blocks('user', { text }),
      blocks('assistant', { toolUse: { toolUseId: 'call_1', name: 'f', input: result ? {} : { a: deep } } }),
      blocks('user', {
        toolResult: { toolUseId: 'call_1', content: [result ? { json: { a: deep } } : { text: 'x' }] },
      }),
    ],
  }),
}

/** Places at which a request can nest: fields that contain this text. */
export const requestPlaces: Readonly<Record<string, (format: ClientFormat, text: string) => Fields>> = {
  content: (format, text) => content[format](text),
  'tool schema': (format) => schema[format],
  'tool arguments': (format, text) => called[format](text, false),
  'tool result': (format, text) => called[format](text, true),
  'unknown field': () => ({ x_deep: deep }),
}

/** Nesting places of other operations: path, dialect and body. */
export const otherRequests: readonly {
  readonly name: string
  readonly format: Format
  path(model: string): string
  body(model: string): Fields
}[] = [
  {
    name: 'messages/count_tokens',
    format: 'messages',
    path: () => '/v1/messages/count_tokens',
    body: (model) => ({ model, messages: [{ role: 'user', content: [deep] }] }),
  },
  {
    name: 'messages/count_tokens, unknown field',
    format: 'messages',
    path: () => '/v1/messages/count_tokens',
    body: (model) => ({ model, messages: [user('hi')], x_deep: deep }),
  },
  {
    name: 'countTokens',
    format: 'gemini',
    path: (model) => `/v1beta/models/${model}:countTokens`,
    body: () => ({ contents: [{ role: 'user', parts: [{ inlineData: deep }] }] }),
  },
  {
    name: 'embeddings',
    format: 'chat',
    path: () => '/v1/embeddings',
    body: (model) => ({ model, input: [deep] }),
  },
  {
    name: 'embeddings, unknown field',
    format: 'chat',
    path: () => '/v1/embeddings',
    body: (model) => ({ model, input: 'hi', x_deep: deep }),
  },
  {
    name: 'embedContent',
    format: 'gemini',
    path: (model) => `/v1beta/models/${model}:embedContent`,
    body: () => ({ content: { parts: [{ inlineData: deep }] } }),
  },
]

/** Tool call of each format, in place of "one two three". */
export const calling: Readonly<Record<Format, Fields>> = {
  chat: {
    choices: [
      { index: 0, message: { role: 'assistant', content: null, tool_calls: [call] }, finish_reason: 'tool_calls' },
    ],
  },
  messages: { content: [{ type: 'tool_use', id: 'call_1', name: 'f', input: { a: deep } }], stop_reason: 'tool_use' },
  gemini: {
    candidates: [
      {
        content: { role: 'model', parts: [{ functionCall: { name: 'f', args: { a: deep } } }] },
        finishReason: 'STOP',
        index: 0,
      },
    ],
  },
  responses: {
    output: [
      { id: 'fc_1', type: 'function_call', status: 'completed', call_id: 'call_1', name: 'f', arguments: deepText },
    ],
  },
}

const event = (data: Fields): string =>
  `${data.type === undefined ? '' : `event: ${String(data.type)}\n`}data: ${JSON.stringify(data)}\n\n`
const item = { id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'f' } as const
const inItem = { item_id: 'fc_1', output_index: 1 } as const

/** Events of a tool call, for the middle of a good stream. */
export const callEvents: Readonly<Record<Format, string>> = {
  chat: event({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'recorded',
    choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...call }] }, finish_reason: null }],
  }),
  messages: [
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 'call_1', name: 'f', input: {} } },
    { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: deepText } },
    { type: 'content_block_stop', index: 1 },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ]
    .map(event)
    .join(''),
  gemini: event({
    candidates: [{ content: { parts: [{ functionCall: { name: 'f', args: { a: deep } } }], role: 'model' }, index: 0 }],
    modelVersion: 'recorded',
    responseId: 'r1',
  }),
  responses: [
    { type: 'response.output_item.added', output_index: 1, item: { ...item, status: 'in_progress', arguments: '' } },
    { type: 'response.function_call_arguments.delta', ...inItem, delta: deepText },
    { type: 'response.function_call_arguments.done', ...inItem, name: 'f', arguments: deepText },
    { type: 'response.output_item.done', output_index: 1, item: { ...item, status: 'completed', arguments: deepText } },
  ]
    .map((data, place) => event({ ...data, sequence_number: 100 + place }))
    .join(''),
}

/** Returns true for nested JSON in a text, which is irrelevant if it passes as text. */
export const isText = (json: string): boolean => json.includes(deepText)

/** Ways to nest JSON. */
export const nests = {
  objects: { open: '{"a":', close: '}' },
  schemas: { open: '{"items":', close: '}' },
  lists: { open: '[', close: ']' },
} as const
export type Nest = keyof typeof nests

const write = (nest: Nest, levels: number): string => {
  const { open, close } = nests[nest]
  return `${open.repeat(levels)}{}${close.repeat(levels)}`
}

/** Returns the number of levels around the placeholder. */
const levelsAround = (json: string): number => {
  let level = 0
  for (const sign of json.slice(0, json.indexOf(`"${deep}"`)).replace(/"[^"]*"/g, ''))
    level += '{['.includes(sign) ? 1 : ']}'.includes(sign) ? -1 : 0
  return level
}

/** Replaces the placeholder by JSON, so that the whole value, or the JSON in the text, has this many levels. */
export function deepen(json: string, nest: Nest, levels: number): string {
  // The innermost empty object is a level, too; the text has an object around it.
  const inText = JSON.stringify(`{"a":${write(nest, levels - 2)}}`)
  if (isText(json)) return json.replaceAll(`"${deepText}"`, () => inText)
  return json.replaceAll(`"${deep}"`, () => write(nest, levels - levelsAround(json) - 1))
}
