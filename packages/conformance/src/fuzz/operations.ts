import type { ClientFormat } from '../base/client-formats.ts'
import type { JsonObject } from '../base/json.ts'
import { bodies } from './bodies.ts'

/** A JSON call of an operation other than generation. */
export interface OperationCall {
  /** `{model}` is replaced by the model's name; without it, the name goes into the body. */
  readonly path: string
  readonly dialect: ClientFormat
  /** Names of models that serve the operation in the fuzz gateway. */
  readonly models: readonly string[]
  readonly body: JsonObject
}

const textParts = (text: string): JsonObject => ({ parts: [{ text }] })
const generating = ['chat', 'messages', 'gemini', 'responses']
const ranking = { query: 'q', documents: ['one', { text: 'two' }, 'three'], top_n: 2, return_documents: true }

export const operationCalls: readonly OperationCall[] = [
  {
    path: '/v1/messages/count_tokens',
    dialect: 'messages',
    models: generating,
    body: bodies.messages[2] as JsonObject,
  },
  {
    path: '/v1/responses/input_tokens',
    dialect: 'responses',
    models: generating,
    body: bodies.responses[2] as JsonObject,
  },
  {
    path: '/v1beta/models/{model}:countTokens',
    dialect: 'gemini',
    models: generating,
    body: bodies.gemini[1] as JsonObject,
  },
  {
    path: '/model/{model}/count-tokens',
    dialect: 'converse',
    models: generating,
    body: { input: { converse: bodies.converse[0] as JsonObject } },
  },
  {
    path: '/v1/completions',
    dialect: 'chat',
    models: generating,
    body: {
      prompt: ['one', 'two'],
      max_tokens: 5,
      stream: true,
      stop: 'a',
      logprobs: 1,
      echo: false,
      suffix: 's',
      n: 1,
    },
  },
  {
    path: '/v1/embeddings',
    dialect: 'chat',
    models: ['chat', 'gemini', 'cohere', 'jina', 'voyage'],
    body: { input: ['one', 'two'], encoding_format: 'base64', dimensions: 8, user: 'u1' },
  },
  {
    path: '/v1beta/models/{model}:embedContent',
    dialect: 'gemini',
    models: ['gemini', 'chat'],
    body: { content: textParts('one'), taskType: 'RETRIEVAL_QUERY', outputDimensionality: 8 },
  },
  {
    path: '/v1beta/models/{model}:batchEmbedContents',
    dialect: 'gemini',
    models: ['gemini', 'chat'],
    body: {
      requests: [
        { model: 'models/{model}', content: textParts('one') },
        { model: 'models/{model}', content: textParts('two') },
      ],
    },
  },
  { path: '/v1/rerank', dialect: 'chat', models: ['jina', 'cohere'], body: ranking },
  {
    path: '/v2/rerank',
    dialect: 'chat',
    models: ['jina', 'cohere'],
    body: { query: 'q', documents: ['one', 'two'], top_n: 1 },
  },
  {
    path: '/v1/moderations',
    dialect: 'chat',
    models: ['chat'],
    body: {
      input: [
        { type: 'text', text: 'one' },
        { type: 'image_url', image_url: { url: 'https://files.example/a.png' } },
      ],
    },
  },
  {
    path: '/v1/images/generations',
    dialect: 'chat',
    models: ['chat', 'gemini'],
    body: { prompt: 'a cat', n: 1, size: '1024x1024', quality: 'low', response_format: 'b64_json', user: 'u1' },
  },
  {
    path: '/v1beta/models/{model}:predict',
    dialect: 'gemini',
    models: ['gemini', 'chat'],
    body: { instances: [{ prompt: 'a cat' }], parameters: { sampleCount: 1, aspectRatio: '1:1' } },
  },
  {
    path: '/v1/audio/speech',
    dialect: 'chat',
    models: ['chat', 'gemini'],
    body: { input: 'hello', voice: 'alloy', response_format: 'mp3', speed: 1, instructions: 'softly' },
  },
  {
    path: '/v1/realtime/client_secrets',
    dialect: 'chat',
    models: ['chat'],
    body: {
      expires_after: { anchor: 'created_at', seconds: 600 },
      session: { type: 'realtime', model: '{model}', audio: {} },
    },
  },
  {
    path: '/v1/realtime/sessions',
    dialect: 'chat',
    models: ['chat'],
    body: { voice: 'alloy', modalities: ['text'], turn_detection: { type: 'server_vad' } },
  },
  {
    path: '/api/generate',
    dialect: 'ollama',
    models: generating,
    body: {
      prompt: 'hello',
      system: 'Be brief.',
      images: ['iVBORw0KGgo='],
      stream: false,
      think: true,
      raw: false,
      template: 't',
      context: [1, 2],
      options: { seed: 1, stop: ['a'] },
    },
  },
  { path: '/api/generate', dialect: 'ollama', models: ['chat'], body: { prompt: 'a', suffix: 'c', stream: true } },
  {
    path: '/api/embed',
    dialect: 'ollama',
    models: ['chat', 'gemini', 'cohere', 'jina', 'voyage'],
    body: { input: ['one', 'two'], truncate: true, dimensions: 8, keep_alive: 0, options: { num_ctx: 1 } },
  },
  { path: '/api/embeddings', dialect: 'ollama', models: ['chat', 'gemini'], body: { prompt: 'one', keep_alive: '5m' } },
]
