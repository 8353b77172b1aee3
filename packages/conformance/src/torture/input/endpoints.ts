import type { Format } from '../../base/recorded-traffic.ts'
import type { Field } from './malformed-fields.ts'
import type { FormField, Part } from './malformed-forms.ts'

/** Endpoints with a body: a valid body and invalid fields. */
export type Endpoint = {
  /** Returns the path, with the model's name if the path has one. */
  path(model: string): string
  readonly name: string
  /** Format of its errors. */
  readonly format: Format
} & (
  | { readonly fields: readonly Field[]; good(model: string): Record<string, unknown> }
  | { readonly form: readonly FormField[]; parts(model: string): readonly Part[] }
)

const model: Field = { at: 'model', kind: 'text', required: true, also: [''] }
const stream: Field = { at: 'stream', kind: 'boolean' }
const user: Field = { at: 'user', kind: 'text' }
const temperature = (max: number): Field => ({ at: 'temperature', kind: 'number', min: 0, max })
const topP: Field = { at: 'top_p', kind: 'number', min: 0, max: 1 }
const text = [{ role: 'user', content: 'hi' }]

const chatFields: readonly Field[] = [
  model,
  { at: 'messages', kind: 'list', required: true, also: [[], 'hi', [null], [[]], [5], [{}], [{ role: 'boss' }]] },
  { at: 'messages.0.role', kind: 'text', also: ['boss', ''] },
  { at: 'messages.0.content', kind: 'texts', required: true, also: [[{ type: 'text' }], [{ type: 'image_url' }]] },
  stream,
  temperature(2),
  topP,
  { at: 'n', kind: 'integer', min: 1 },
  { at: 'max_tokens', kind: 'integer', min: 1 },
  { at: 'presence_penalty', kind: 'number', min: -2, max: 2 },
  { at: 'tools', kind: 'list', also: ['a', [5], [{}], [{ type: 'function' }]] },
  { at: 'stop', kind: 'texts' },
]

const messagesFields: readonly Field[] = [
  model,
  { at: 'messages', kind: 'list', required: true, also: [[], 'hi', [null], [[]], [5], [{}], [{ role: 'boss' }]] },
  { at: 'messages.0.role', kind: 'text', also: ['boss', 'tool', ''] },
  { at: 'messages.0.content', kind: 'texts', required: true, also: [[{ type: 'text' }], [{ type: 'image' }]] },
  { at: 'system', kind: 'texts' },
  temperature(1),
  { at: 'top_p', kind: 'number' },
  { at: 'top_k', kind: 'integer' },
  { at: 'stop_sequences', kind: 'list', also: ['a', [5]] },
  { at: 'tools', kind: 'list', also: ['a', [5], [{}], [{ name: 'a' }]] },
  { at: 'metadata', kind: 'object' },
]

const geminiFields: readonly Field[] = [
  { at: 'contents', kind: 'list', required: true, also: [[], [{}], [{ role: 'boss', parts: [{ text: 'a' }] }]] },
  { at: 'contents.0.role', kind: 'text', also: ['boss'] },
  { at: 'contents.0.parts', kind: 'list', required: true, also: [[], [{}], [5], [{ text: 5 }], [{ inlineData: {} }]] },
  { at: 'systemInstruction', kind: 'list', also: [{ parts: [{ text: 5 }] }, { parts: 5 }] },
  { at: 'generationConfig', kind: 'object' },
  { at: 'generationConfig.temperature', kind: 'number', min: 0, max: 2 },
  { at: 'generationConfig.topP', kind: 'number', min: 0, max: 1 },
  { at: 'generationConfig.candidateCount', kind: 'integer', min: 1, max: 8 },
  { at: 'generationConfig.maxOutputTokens', kind: 'integer', min: 1 },
  { at: 'generationConfig.stopSequences', kind: 'list', also: [[5]] },
  { at: 'tools', kind: 'list', also: [[{ functionDeclarations: [{}] }], [{ functionDeclarations: [5] }]] },
]

const responsesFields: readonly Field[] = [
  model,
  { at: 'input', kind: 'list', required: true, also: [[null], [[]], [5], [{}], [{ role: 'boss', content: 'a' }]] },
  stream,
  temperature(2),
  topP,
  user,
  { at: 'instructions', kind: 'text' },
  { at: 'max_output_tokens', kind: 'integer', min: 1 },
  { at: 'top_logprobs', kind: 'integer', min: 0, max: 20 },
  { at: 'tools', kind: 'list', also: ['a', [5], [{}], [{ type: 'function' }]] },
  { at: 'text', kind: 'object', also: [{ format: {} }, { format: { type: 'json_schema' } }] },
  { at: 'truncation', kind: 'text', also: ['maybe'] },
]

const completionsFields: readonly Field[] = [
  model,
  { at: 'prompt', kind: 'list', also: [{}, [{}], [null], ['a', 5], [['a']]] },
  stream,
  temperature(2),
  topP,
  user,
  { at: 'n', kind: 'integer', min: 1 },
  { at: 'max_tokens', kind: 'integer', min: 0 },
  { at: 'stop', kind: 'texts' },
  { at: 'presence_penalty', kind: 'number', min: -2, max: 2 },
  { at: 'logprobs', kind: 'integer', min: 0 },
  { at: 'echo', kind: 'boolean' },
]

const embeddingsFields: readonly Field[] = [
  { ...model, also: ['', 5.5, false, 0] },
  {
    at: 'input',
    kind: 'list',
    required: true,
    also: ['', [], {}, [null], [{}], ['a', 5], [5, 'a'], [[]], [['a']], [-1], [1.5], [true], [[1], 2], ['a', null]],
  },
  { at: 'dimensions', kind: 'integer', min: 1, also: [-5, '8', 1e300 + 0.5] },
  { at: 'encoding_format', kind: 'text', also: ['hex', '', 'FLOAT'] },
  user,
]

const imagesFields: readonly Field[] = [
  model,
  { at: 'prompt', kind: 'text', required: true, also: [''] },
  stream,
  user,
  { at: 'n', kind: 'integer', min: 1 },
  { at: 'size', kind: 'text' },
  { at: 'quality', kind: 'text' },
  { at: 'output_compression', kind: 'integer', min: 0, max: 100 },
]

const speechFields: readonly Field[] = [
  { ...model, also: ['', false, 0] },
  { at: 'input', kind: 'text', required: true, also: ['', false, 0, [['a']]] },
  { at: 'voice', kind: 'voice', required: true, also: [''] },
  { at: 'speed', kind: 'number', min: 0, max: 4, also: ['1'] },
  { at: 'response_format', kind: 'text' },
  { at: 'instructions', kind: 'text' },
  { at: 'stream_format', kind: 'text' },
]

const rerankFields: readonly Field[] = [
  { ...model, also: ['', false] },
  { at: 'query', kind: 'text', required: true },
  { at: 'documents', kind: 'list', required: true, also: [[], 'a', {}, [5], [null], [['a']], ['a', 5], [true]] },
  { at: 'top_n', kind: 'integer', min: 1, also: [-5] },
  { at: 'return_documents', kind: 'boolean' },
  { at: 'max_chunks_per_doc', kind: 'integer', min: 1 },
]

const moderationsFields: readonly Field[] = [
  { at: 'model', kind: 'text', also: [null, false, 0, [['a']], { a: 1 }, [5], [null], -1, 1.5] },
  {
    at: 'input',
    kind: 'list',
    required: true,
    also: [
      [],
      {},
      false,
      [5],
      [null],
      [true],
      [[]],
      [['a']],
      [{}],
      [{ type: 5 }],
      [{ type: null }],
      [{ type: [] }],
      ['a', 5],
      ['a', null],
      ['a', {}],
      [{ type: 'text', text: 'a' }, 'a'],
      { type: 'text' },
      0,
      1.5,
      -1,
    ],
  },
]

const generic = (fields: readonly Field[], good: (model: string) => Record<string, unknown>) => ({ fields, good })
const chatErrors = (name: string) => ({ name, path: () => `/v1/${name}`, format: 'chat' as const })
const file: Part = { name: 'file', value: 'RIFF', filename: 'a.wav' }

/** All endpoints with a body, without aliases. */
export const endpoints: readonly Endpoint[] = [
  { ...chatErrors('chat/completions'), ...generic(chatFields, (name) => ({ model: name, messages: text })) },
  {
    name: 'messages',
    path: () => '/v1/messages',
    format: 'messages',
    ...generic([...messagesFields, stream, { at: 'max_tokens', kind: 'integer', required: true, min: 1 }], (name) => ({
      model: name,
      messages: text,
      max_tokens: 10,
    })),
  },
  {
    name: 'generateContent',
    path: (name) => `/v1beta/models/${name}:generateContent`,
    format: 'gemini',
    ...generic(geminiFields, () => ({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }], generationConfig: {} })),
  },
  {
    name: 'responses',
    path: () => '/v1/responses',
    format: 'responses',
    ...generic(responsesFields, (name) => ({ model: name, input: 'hi' })),
  },
  {
    name: 'messages/count_tokens',
    path: () => '/v1/messages/count_tokens',
    format: 'messages',
    ...generic(messagesFields, (name) => ({ model: name, messages: text })),
  },
  { ...chatErrors('completions'), ...generic(completionsFields, (name) => ({ model: name, prompt: 'hi' })) },
  { ...chatErrors('embeddings'), ...generic(embeddingsFields, (name) => ({ model: name, input: 'hi' })) },
  { ...chatErrors('images/generations'), ...generic(imagesFields, (name) => ({ model: name, prompt: 'a cat' })) },
  { ...chatErrors('audio/speech'), ...generic(speechFields, (name) => ({ model: name, input: 'hi', voice: 'a' })) },
  {
    ...chatErrors('rerank'),
    ...generic(rerankFields, (name) => ({ model: name, query: 'a', documents: ['b', 'c'] })),
  },
  { ...chatErrors('moderations'), ...generic(moderationsFields, (name) => ({ model: name, input: 'hi' })) },
  {
    ...chatErrors('audio/transcriptions'),
    form: [
      { at: 'file', kind: 'file', required: true },
      { at: 'model', kind: 'text', required: true, also: [''] },
      { at: 'temperature', kind: 'number', also: ['-1', '2'] },
      { at: 'prompt', kind: 'text' },
      { at: 'language', kind: 'text' },
      { at: 'response_format', kind: 'text' },
      { at: 'stream', kind: 'boolean' },
      ...(['include', 'timestamp_granularities', 'keywords', 'languages'] as const).map(
        (at): FormField => ({ at, kind: 'texts' }),
      ),
    ],
    parts: (name) => [{ name: 'model', value: name }, file],
  },
  {
    ...chatErrors('images/edits'),
    form: [
      { at: 'image', kind: 'files', required: true },
      { at: 'model', kind: 'text', required: true, also: [''] },
      { at: 'prompt', kind: 'text', required: true, also: [''] },
      { at: 'mask', kind: 'file' },
      { at: 'n', kind: 'number', also: ['0', '1.5', '-1'] },
      { at: 'size', kind: 'text' },
      { at: 'quality', kind: 'text' },
      { at: 'output_compression', kind: 'number', also: ['101', '-1'] },
      { at: 'stream', kind: 'boolean' },
    ],
    parts: (name) => [
      { name: 'model', value: name },
      { name: 'prompt', value: 'a cat' },
      { name: 'image', value: 'PNG', filename: 'a.png' },
    ],
  },
]
