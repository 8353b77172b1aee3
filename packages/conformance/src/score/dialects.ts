import { type JsonObject, objectOf } from '../base/json.ts'
import type { Format } from '../base/recorded-traffic.ts'
import { type Dialect, longPrompt, shortPrompt } from './dialect.ts'
import type { Rejection } from './rejection.ts'

const openaiErrors = {
  token: { thrown: 'AuthenticationError', statuses: [401] },
  // Several providers return 400 for an unknown model.
  model: { thrown: 'NotFoundError BadRequestError', statuses: [404, 400] },
  value: { thrown: 'BadRequestError UnprocessableEntityError', statuses: [400, 422] },
} as const

const googleErrors = {
  // Google returns 400 for an invalid key.
  token: { thrown: 'ApiError', statuses: [400, 401, 403] },
  model: { thrown: 'ApiError', statuses: [404, 400] },
  value: { thrown: 'ApiError', statuses: [400] },
} as const

function openaiLacks({ body }: Rejection): string | undefined {
  const { error } = body
  if (typeof error !== 'object' || error === null || Array.isArray(error)) return 'an object `error`'
  if (typeof error.message !== 'string') return 'a text `error.message`'
  if (typeof error.type !== 'string') return 'a text `error.type`'
  const missing = ['param', 'code'].find((key) => !(key in error))
  return missing === undefined ? undefined : `\`error.${missing}\` (null if absent)`
}

function anthropicLacks({ body }: Rejection): string | undefined {
  if (body.type !== 'error') return '`type: "error"`'
  const error = objectOf(body.error)
  if (typeof error.type !== 'string') return 'a text `error.type`'
  return typeof error.message === 'string' ? undefined : 'a text `error.message`'
}

function googleLacks({ body, status }: Rejection): string | undefined {
  const error = objectOf(body.error)
  if (error.code !== status) return `\`error.code\`, the status ${status}`
  if (typeof error.message !== 'string') return 'a text `error.message`'
  return /^[A-Z_]+$/.test(String(error.status)) ? undefined : '`error.status`, a word such as INVALID_ARGUMENT'
}

const chat: Dialect = {
  format: 'chat',
  ends: { stop: 'stop', length: 'length', tools: 'tool_calls', sequence: 'stop' },
  fields: {
    force: { tool_choice: 'required' },
    never: { tool_choice: 'none' },
    stop: (word) => ({ stop: [word] }),
    stopName: 'stop',
    schema: (schema) => ({
      response_format: { type: 'json_schema', json_schema: { name: 'place', schema, strict: true } },
    }),
    think: [{ reasoning_effort: 'low' }],
    thinkNames: ['reasoning_effort', 'reasoning'],
    sampling: { temperature: 0.5, top_p: 0.9 },
    samplingNames: ['temperature', 'top_p'],
  },
  path: () => '/v1/chat/completions',
  body: (model) => ({ model, messages: [{ role: 'user', content: shortPrompt }] }),
  essential: 'messages',
  ask: ({ openai }, model, temperature) =>
    openai.chat.completions.create({
      model,
      messages: [{ role: 'user', content: shortPrompt }],
      ...(temperature === undefined ? {} : { temperature }),
    }),
  async leave({ openai }, model) {
    const messages = [{ role: 'user' as const, content: longPrompt }]
    const stream = await openai.chat.completions.create({ model, messages, stream: true })
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break
  },
  errors: openaiErrors,
  errorLacks: openaiLacks,
  idHeader: 'x-request-id',
  cacheDetail: ({ usage }) => objectOf(objectOf(usage).prompt_tokens_details).cached_tokens,
}

const messages: Dialect = {
  format: 'messages',
  ends: { stop: 'end_turn', length: 'max_tokens', tools: 'tool_use', sequence: 'stop_sequence' },
  fields: {
    force: { tool_choice: { type: 'any' } },
    never: { tool_choice: { type: 'none' } },
    stop: (word) => ({ stop_sequences: [word] }),
    stopName: 'stop_sequences',
    schema: (schema) => ({ output_config: { format: { type: 'json_schema', schema } } }),
    think: [{ thinking: { type: 'enabled', budget_tokens: 1024 } }, { thinking: { type: 'adaptive' } }],
    thinkNames: ['thinking'],
    sampling: { temperature: 0.5, top_k: 20 },
    samplingNames: ['temperature', 'top_k'],
  },
  wantsLimit: true,
  path: () => '/v1/messages',
  body: (model) => ({ model, max_tokens: 256, messages: [{ role: 'user', content: shortPrompt }] }),
  essential: 'messages',
  ask: ({ anthropic }, model, temperature) =>
    anthropic.messages.create({
      model,
      max_tokens: 256,
      messages: [{ role: 'user', content: shortPrompt }],
      ...(temperature === undefined ? {} : { temperature }),
    }),
  async leave({ anthropic }, model) {
    const stream = await anthropic.messages.create({
      model,
      max_tokens: 2048,
      messages: [{ role: 'user', content: longPrompt }],
      stream: true,
    })
    for await (const event of stream) if (event.type === 'content_block_delta') break
  },
  errors: openaiErrors,
  errorLacks: anthropicLacks,
  idHeader: 'request-id',
  cacheDetail: ({ usage }) => objectOf(usage).cache_read_input_tokens,
}

const gemini: Dialect = {
  format: 'gemini',
  ends: { stop: 'STOP', length: 'MAX_TOKENS', tools: 'STOP', sequence: 'STOP' },
  fields: {
    force: { toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
    never: { toolConfig: { functionCallingConfig: { mode: 'NONE' } } },
    stop: (word) => ({ stopSequences: [word] }),
    stopName: 'stopSequences',
    schema: (schema) => ({ responseMimeType: 'application/json', responseJsonSchema: schema }),
    think: [
      { thinkingConfig: { includeThoughts: true, thinkingBudget: 512 } },
      { thinkingConfig: { includeThoughts: true, thinkingLevel: 'LOW' } },
    ],
    thinkNames: ['thinking', 'thought'],
    sampling: { temperature: 0.5, topP: 0.9, topK: 20 },
    samplingNames: ['temperature', 'topP', 'topK'],
  },
  path: (model) => `/v1beta/models/${encodeURIComponent(model)}:generateContent`,
  body: () => ({ contents: [{ role: 'user', parts: [{ text: shortPrompt }] }] }),
  essential: 'contents',
  ask: ({ google }, model, temperature) =>
    google.models.generateContent({
      model,
      contents: shortPrompt,
      ...(temperature === undefined ? {} : { config: { temperature } }),
    }),
  async leave({ google }, model) {
    const leaving = new AbortController()
    const stream = await google.models.generateContentStream({
      model,
      contents: longPrompt,
      config: { abortSignal: leaving.signal },
    })
    try {
      for await (const chunk of stream) if (chunk.text) leaving.abort()
    } catch (error) {
      if (!leaving.signal.aborted) throw error
    }
  },
  errors: googleErrors,
  errorLacks: googleLacks,
  idHeader: undefined,
  cacheDetail: undefined,
}

const responses: Dialect = {
  format: 'responses',
  ends: { stop: 'completed', length: 'max_output_tokens', tools: 'completed', sequence: undefined },
  fields: {
    force: { tool_choice: 'required' },
    never: { tool_choice: 'none' },
    stop: () => ({}),
    stopName: '',
    schema: (schema) => ({ text: { format: { type: 'json_schema', name: 'place', schema, strict: true } } }),
    think: [{ reasoning: { effort: 'low', summary: 'auto' }, include: ['reasoning.encrypted_content'] }],
    thinkNames: ['reasoning', 'encrypted'],
    sampling: { temperature: 0.5, top_p: 0.9 },
    samplingNames: ['temperature', 'top_p'],
  },
  path: () => '/v1/responses',
  body: (model) => ({ model, input: shortPrompt, store: false }),
  essential: 'input',
  ask: ({ openai }, model, temperature) =>
    openai.responses.create({
      model,
      input: shortPrompt,
      store: false,
      ...(temperature === undefined ? {} : { temperature }),
    }),
  async leave({ openai }, model) {
    const stream = await openai.responses.create({ model, input: longPrompt, store: false, stream: true })
    for await (const event of stream) if (event.type === 'response.output_text.delta') break
  },
  errors: openaiErrors,
  errorLacks: openaiLacks,
  idHeader: 'x-request-id',
  cacheDetail: ({ usage }) => objectOf(objectOf(usage).input_tokens_details).cached_tokens,
}

/** Dialects of the four generation formats. */
export const dialects: Readonly<Record<Format, Dialect>> = { chat, messages, gemini, responses }

/** Returns the smallest request body with fields added, or removed if undefined. */
export const bodyWith = (dialect: Dialect, model: string, more: JsonObject): JsonObject => ({
  ...dialect.body(model),
  ...more,
})
