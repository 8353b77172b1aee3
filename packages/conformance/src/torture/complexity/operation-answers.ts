import type { JsonObject } from '../../base/json.ts'

/** Response to an operation other than generation, by the end of its path. */
export interface OperationAnswer {
  readonly path: RegExp
  /** The endpoints that use it. */
  readonly endpoints: RegExp
  readonly body: JsonObject
}

const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 }
const ranked = [
  { index: 1, relevance_score: 0.9 },
  { index: 0, relevance_score: 0.25 },
]

export const operationAnswers: readonly OperationAnswer[] = [
  { path: /\/count_tokens$/, endpoints: /count_?tokens|input_tokens/i, body: { input_tokens: 3 } },
  {
    path: /\/input_tokens$/,
    endpoints: /count_?tokens|input_tokens/i,
    body: { object: 'response.input_tokens', input_tokens: 3 },
  },
  {
    path: /:countTokens$/,
    endpoints: /count_?tokens|input_tokens/i,
    body: { totalTokens: 3, promptTokensDetails: [{ modality: 'TEXT', tokenCount: 3 }] },
  },
  {
    path: /\/v1\/completions$/,
    endpoints: /v1\/completions/,
    body: {
      id: 'cmpl-1',
      object: 'text_completion',
      created: 1,
      model: 'm',
      choices: [
        {
          index: 0,
          text: 'so',
          finish_reason: 'stop',
          logprobs: { tokens: ['so'], token_logprobs: [-1], top_logprobs: [{ so: -1 }], text_offset: [0] },
        },
      ],
      usage,
    },
  },
  {
    path: /\/v2\/embed$/,
    endpoints: /embed/i,
    body: {
      id: 'e1',
      embeddings: {
        float: [
          [0.1, 0.2],
          [0.3, 0.4],
        ],
      },
      texts: ['one', 'two'],
      meta: { billed_units: { input_tokens: 2 }, warnings: ['w'] },
    },
  },
  {
    path: /\/embeddings$/,
    endpoints: /embed/i,
    body: {
      object: 'list',
      model: 'm',
      data: [
        { object: 'embedding', index: 0, embedding: [0.1, 0.2] },
        { object: 'embedding', index: 1, embedding: [0.3, 0.4] },
      ],
      usage: { prompt_tokens: 2, total_tokens: 2 },
    },
  },
  {
    path: /:embedContent$/,
    endpoints: /embed/i,
    body: { embedding: { values: [0.1, 0.2] }, usageMetadata: { promptTokenCount: 1 } },
  },
  {
    path: /:batchEmbedContents$/,
    endpoints: /embed/i,
    body: { embeddings: [{ values: [0.1, 0.2] }, { values: [0.3, 0.4] }] },
  },
  {
    path: /\/rerank$/,
    endpoints: /rerank/,
    body: {
      id: 'r1',
      model: 'm',
      results: ranked,
      meta: { billed_units: { search_units: 1 } },
      usage: { total_tokens: 9 },
    },
  },
  {
    path: /\/moderations$/,
    endpoints: /moderations/,
    body: {
      id: 'modr-1',
      model: 'm',
      results: [
        {
          flagged: true,
          categories: { violence: true },
          category_scores: { violence: 0.9 },
          category_applied_input_types: { violence: ['text'] },
        },
      ],
    },
  },
  {
    path: /\/images\/\w+$/,
    endpoints: /images|predict/,
    body: {
      created: 1,
      data: [{ b64_json: 'iVBORw0K', revised_prompt: 'a cat' }],
      usage: { input_tokens: 3, output_tokens: 9, total_tokens: 12, input_tokens_details: { image_tokens: 0 } },
    },
  },
  {
    path: /:predict$/,
    endpoints: /images|predict/,
    body: { predictions: [{ bytesBase64Encoded: 'iVBORw0K', mimeType: 'image/png', prompt: 'a cat' }] },
  },
  {
    path: /\/(transcriptions|translations)$/,
    endpoints: /audio/,
    body: {
      text: 'Hello',
      duration: 9,
      language: 'english',
      segments: [{ id: 0, start: 0, end: 1, text: 'Hello', tokens: [1] }],
      words: [{ word: 'Hello', start: 0, end: 1 }],
      logprobs: [{ token: 'Hello', logprob: -1, bytes: [72] }],
      usage: { type: 'duration', seconds: 9 },
    },
  },
  {
    path: /\/realtime\/(translations\/client_secrets|client_secrets|sessions|transcription_sessions)$/,
    endpoints: /realtime/,
    body: {
      value: 'ek_1',
      expires_at: 1,
      client_secret: { value: 'ek_1', expires_at: 1 },
      session: { type: 'realtime', model: 'm', tools: [{ type: 'function', name: 'lookup' }] },
    },
  },
]
