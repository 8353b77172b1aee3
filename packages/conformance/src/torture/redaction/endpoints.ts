import { pathOf, queryOf } from '../../base/client-formats.ts'
import { type Format, formats } from '../../base/recorded-traffic.ts'
import { good } from '../../base/streams.ts'
import { wholeResponse } from '../../base/upstream-responses.ts'

/** The upstreams of the matrix: one of each format, and one for rerank. */
export const providers = [...formats, 'cohere'] as const
export type Provider = (typeof providers)[number]

/** One way to call the gateway, and the response of its upstream. */
export interface Endpoint {
  readonly name: string
  readonly provider: Provider
  readonly method: string
  /** `{model}` is a placeholder for the model's name, which selects the upstream's script. */
  readonly path: string
  /** JSON, or the fields of an upload. */
  readonly body?: object | FormData
  /** The client requests events, and the upstream sends them. */
  readonly stream: boolean
  /** The upstream's body reaches the client byte for byte. */
  readonly passes: boolean
  /** JSON or events of a good response. Empty if the response is bytes. */
  readonly answer: object
  readonly events?: readonly string[]
  /** A good response other than JSON. */
  readonly bytes?: { readonly type: string; readonly body: string }
  /** Needs a preceding call whose response the upstream stores. */
  readonly kept?: true
}

const text: Readonly<Record<Format, object>> = {
  chat: { messages: [{ role: 'user', content: 'hello' }], stream_options: { include_usage: true } },
  messages: { messages: [{ role: 'user', content: 'hello' }], max_tokens: 100 },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
  responses: { input: 'hello' },
}

const generation: readonly Endpoint[] = formats.flatMap((client) =>
  formats.flatMap((provider) =>
    [false, true].map((stream): Endpoint => {
      const { stream_options: options, ...fields } = text[client] as { stream_options?: object }
      return {
        name: `${client} to ${provider}`,
        provider,
        method: 'POST',
        path: `${pathOf(client, { model: 'MODEL', stream }).replace('MODEL', '{model}')}${queryOf(client, { stream })}`,
        body: {
          ...fields,
          ...(client === 'gemini' ? {} : { stream }),
          ...(stream && options !== undefined ? { stream_options: options } : {}),
        },
        stream,
        passes: client === provider,
        answer: wholeResponse[provider],
        events: good[provider],
      }
    }),
  ),
)

const completion = {
  id: 'cmpl-1',
  object: 'text_completion',
  created: 1,
  model: 'recorded',
  choices: [{ index: 0, text: 'one two three', finish_reason: 'stop', logprobs: null }],
  usage: { prompt_tokens: 3, completion_tokens: 3, total_tokens: 6 },
}
const embeddings = {
  object: 'list',
  data: [{ object: 'embedding', index: 0, embedding: [0.25, -0.5] }],
  model: 'recorded',
  usage: { prompt_tokens: 3, total_tokens: 3 },
}
const moderation = {
  id: 'modr-1',
  model: 'recorded',
  results: [{ flagged: false, categories: { violence: false }, category_scores: { violence: 0.01 } }],
}
const ranking = {
  id: 'rank-1',
  results: [{ index: 0, relevance_score: 0.9 }],
  meta: { api_version: { version: '2' }, billed_units: { search_units: 1 } },
}
const images = { created: 1, data: [{ b64_json: 'aW1hZ2U=' }] }
const predictions = { predictions: [{ mimeType: 'image/png', bytesBase64Encoded: 'aW1hZ2U=' }] }
const event = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

const form = (fields: Readonly<Record<string, string | Blob>>): FormData => {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields)) data.set(name, value)
  return data
}
const sound = new Blob(['RIFF....WAVE'], { type: 'audio/wav' })
const picture = new Blob(['\x89PNG'], { type: 'image/png' })

const post = (name: string, path: string, body: object, answer: object, more: Partial<Endpoint> = {}): Endpoint => ({
  name,
  provider: 'chat',
  method: 'POST',
  path,
  body,
  stream: false,
  passes: true,
  answer,
  ...more,
})

const spoken = { input: 'hello', voice: 'alloy' }
const transcribed = [
  event('transcript.text.delta', { delta: 'one two three' }),
  event('transcript.text.done', { text: 'one two three' }),
]

const services: readonly Endpoint[] = [
  post('completions', '/v1/completions', { prompt: 'hello' }, completion),
  post('completions', '/v1/completions', { prompt: 'hello', stream: true }, completion, {
    stream: true,
    events: [`data: ${JSON.stringify(completion)}\n\n`, 'data: [DONE]\n\n'],
  }),
  post('completions of a messages upstream', '/v1/completions', { prompt: 'hello' }, wholeResponse.messages, {
    provider: 'messages',
    passes: false,
  }),
  post('embeddings', '/v1/embeddings', { input: 'hello' }, embeddings),
  post(
    'embeddings of a gemini upstream',
    '/v1/embeddings',
    { input: 'hello' },
    { embeddings: [{ values: [0.25] }] },
    { provider: 'gemini', passes: false },
  ),
  post(
    'embedContent',
    '/v1beta/models/{model}:embedContent',
    { content: { parts: [{ text: 'hello' }] } },
    { embedding: { values: [0.25] } },
    { provider: 'gemini' },
  ),
  post('moderations', '/v1/moderations', { input: 'hello' }, moderation),
  post('rerank', '/v1/rerank', { query: 'a', documents: ['b'] }, ranking, { provider: 'cohere' }),
  post('rerank of v2', '/v2/rerank', { query: 'a', documents: ['b'] }, ranking, { provider: 'cohere' }),
  post('images', '/v1/images/generations', { prompt: 'a cat' }, images),
  post('images', '/v1/images/generations', { prompt: 'a cat', stream: true }, images, {
    stream: true,
    events: [event('image_generation.completed', { b64_json: 'aW1hZ2U=' })],
  }),
  post('predict', '/v1beta/models/{model}:predict', { instances: [{ prompt: 'a cat' }] }, predictions, {
    provider: 'gemini',
  }),
  post('image edits', '/v1/images/edits', form({ prompt: 'a cat', image: picture }), images),
  post('image variations', '/v1/images/variations', form({ image: picture }), images),
  post('transcriptions', '/v1/audio/transcriptions', form({ file: sound }), { text: 'one two three' }),
  post(
    'transcriptions',
    '/v1/audio/transcriptions',
    form({ file: sound, stream: 'true' }),
    { text: 'one two three' },
    {
      stream: true,
      events: transcribed,
    },
  ),
  post('transcriptions of a gemini upstream', '/v1/audio/transcriptions', form({ file: sound }), wholeResponse.gemini, {
    provider: 'gemini',
    passes: false,
  }),
  post('translations', '/v1/audio/translations', form({ file: sound }), { text: 'one two three' }),
  post('speech', '/v1/audio/speech', spoken, {}, { bytes: { type: 'audio/mpeg', body: 'one two three' } }),
  post(
    'speech',
    '/v1/audio/speech',
    { ...spoken, stream_format: 'sse' },
    {},
    {
      stream: true,
      events: [event('speech.audio.delta', { audio: 'b25l' }), event('speech.audio.done', {})],
    },
  ),
  post(
    'client secrets',
    '/v1/realtime/client_secrets',
    { session: { type: 'realtime' } },
    {
      value: 'ek_short-lived-1',
      expires_at: 1,
    },
  ),
]

const counted = { input_tokens: 3 }
const counts: readonly Endpoint[] = [
  post('count_tokens', '/v1/messages/count_tokens', text.messages, counted, { provider: 'messages' }),
  post(
    'count_tokens of a gemini upstream',
    '/v1/messages/count_tokens',
    text.messages,
    { totalTokens: 3 },
    {
      provider: 'gemini',
      passes: false,
    },
  ),
  post(
    'input_tokens',
    '/v1/responses/input_tokens',
    text.responses,
    { object: 'response.input_tokens', ...counted },
    {
      provider: 'responses',
    },
  ),
  post('countTokens', '/v1beta/models/{model}:countTokens', text.gemini, { totalTokens: 3 }, { provider: 'gemini' }),
]

const stored: readonly Endpoint[] = (
  [
    ['GET', '', wholeResponse.responses],
    ['DELETE', '', { id: 'resp_1', object: 'response', deleted: false }],
    ['GET', '/input_items', { object: 'list', data: [], has_more: false }],
    ['POST', '/cancel', wholeResponse.responses],
  ] as const
).map(
  ([method, behind, answer]): Endpoint => ({
    name: `${method} of a stored response${behind}`,
    provider: 'responses',
    method,
    path: `/v1/responses/resp_{model}${behind}`,
    stream: false,
    passes: true,
    answer,
    kept: true,
  }),
)

/** Every endpoint over HTTP. */
export const endpoints: readonly Endpoint[] = [...generation, ...services, ...counts, ...stored]
