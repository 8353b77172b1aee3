import type { JsonObject } from '@modelgate/core/test-support'
import { objectOf } from '../base/json.ts'
import type { Schemas } from './schema.ts'
import { schemaWith } from './values.ts'
import type { Walk } from './walk.ts'

// The requests of Ollama's clients. Its published document lacks fields that its clients send and its server reads, so the fields are listed here.

const text: JsonObject = { type: 'string' }
const flag: JsonObject = { type: 'boolean' }
const number: JsonObject = { type: 'number' }
const count: JsonObject = { type: 'integer' }
const listOf = (items: JsonObject): JsonObject => ({ type: 'array', items })
const objectWith = (properties: JsonObject, required: string[] = []): JsonObject => ({
  type: 'object',
  properties,
  required,
})
const ref = (name: string): JsonObject => ({ $ref: `#/${name}` })
const fields = (names: string, schema: JsonObject): JsonObject =>
  Object.fromEntries(names.split(' ').map((name) => [name, schema]))

const settings: JsonObject = {
  model: text,
  stream: flag,
  format: { oneOf: [{ type: 'string', enum: ['json'] }, { type: 'object' }] },
  think: { oneOf: [flag, { type: 'string', enum: ['low', 'medium', 'high', 'max'] }] },
  keep_alive: { oneOf: [text, number] },
  options: ref('Options'),
  logprobs: flag,
  top_logprobs: { type: 'integer', maximum: 20 },
  truncate: flag,
  shift: flag,
}

const schemas: Schemas = {
  Options: objectWith({
    ...fields('temperature top_p', { type: 'number', minimum: 0, maximum: 1 }),
    ...fields(
      'min_p typical_p tfs_z repeat_penalty presence_penalty frequency_penalty mirostat_tau mirostat_eta',
      number,
    ),
    ...fields(
      'seed top_k num_predict num_keep repeat_last_n mirostat num_ctx num_batch num_gpu main_gpu num_thread',
      count,
    ),
    ...fields('penalize_newline numa low_vram f16_kv logits_all vocab_only use_mmap use_mlock', flag),
    stop: { oneOf: [text, listOf(text)] },
  }),
  ToolCall: objectWith(
    { id: text, function: objectWith({ index: count, name: text, arguments: { type: 'object' } }, ['name']) },
    ['function'],
  ),
  Tool: objectWith(
    {
      type: { type: 'string', enum: ['function'] },
      function: objectWith({ name: text, description: text, parameters: { type: 'object' }, strict: flag }, ['name']),
    },
    ['type', 'function'],
  ),
  Message: {
    oneOf: [
      objectWith({ role: { type: 'string', enum: ['system'] }, content: text }, ['role', 'content']),
      objectWith({ role: { type: 'string', enum: ['user'] }, content: text, images: listOf(text) }, [
        'role',
        'content',
      ]),
      objectWith(
        {
          role: { type: 'string', enum: ['assistant'] },
          content: text,
          thinking: text,
          tool_calls: listOf(ref('ToolCall')),
        },
        ['role', 'content'],
      ),
      objectWith(
        {
          role: { type: 'string', enum: ['tool'] },
          content: text,
          tool_name: text,
          tool_call_id: text,
          images: listOf(text),
        },
        ['role', 'content'],
      ),
    ],
  },
  ChatRequest: objectWith({ ...settings, messages: listOf(ref('Message')), tools: listOf(ref('Tool')) }, [
    'model',
    'messages',
  ]),
  GenerateRequest: objectWith(
    {
      ...settings,
      ...fields('prompt suffix system template', text),
      raw: flag,
      images: listOf(text),
      context: listOf(count),
      ...fields('width height steps', count),
    },
    ['model', 'prompt'],
  ),
}

const calls: JsonObject = {
  role: 'assistant',
  content: '',
  tool_calls: ['call_a', 'call_b'].map((id) => ({ id, function: { name: id.replace('call', 'look'), arguments: {} } })),
}

const shared = {
  schemas,
  consumed: ['model', 'stream'],
  values: [
    { at: /(^\/format\[object\]|\/parameters)$/, give: (token: string) => [schemaWith(token)] },
    // The first bytes of a PNG, and the text as further ones.
    { at: /\/images\/\*$/, give: (token: string) => [`iVBORw0KGgoAAAAN${token}`] },
    { at: /\/tool_name$/, give: () => ['look_a', 'look_b'] },
    { at: /\/tool_call_id$/, give: () => ['call_a', 'call_b'] },
    { at: /\/mirostat$/, give: () => [2] },
  ],
  required: {},
  beside: {},
} as const satisfies Partial<Walk>

/** Puts a conversation in front of the tested message: calls before their result, and turns of alternating roles. */
function withHistory(body: JsonObject): JsonObject {
  const [first = null, tested = null] = Array.isArray(body.messages) ? body.messages : []
  const { role } = objectOf(tested)
  if (role === 'tool') return { ...body, messages: [first, calls, tested] }
  if (role === 'user') return { ...body, messages: [first, { role: 'assistant', content: 'well' }, tested] }
  return body
}

const withLogprobs = { at: /^\/top_logprobs/, add: (body: JsonObject): JsonObject => ({ ...body, logprobs: true }) }

/** The fields of `/api/chat`. */
export const chatWalk: Walk = {
  ...shared,
  root: 'ChatRequest',
  smallest: { model: 'probed', messages: [{ role: 'user', content: 'hello' }] },
  around: [withLogprobs, { at: /^\/messages/, add: withHistory }],
}

/** The fields of `/api/generate`. */
export const generateWalk: Walk = {
  ...shared,
  root: 'GenerateRequest',
  smallest: { model: 'probed', prompt: 'hello' },
  around: [withLogprobs],
}
