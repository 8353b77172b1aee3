import type { JsonObject } from '../../base/json.ts'
import { pieceOf } from '../../wire/piece.ts'
import { checkGoogleKey } from '../credentials.ts'
import type { Dialect } from '../dialect.ts'
import { googleHeaders } from '../response-headers.ts'
import { checkGemini } from './check.ts'
import { googleDress } from './check-contents.ts'
import { geminiErrorBody, geminiWords } from './errors.ts'
import { readGemini } from './read.ts'
import { renderGemini } from './render.ts'

/** Models before the third generation give their calls no ids. */
const nameless = /^(models\/)?gemini-[12]/

const bare = (model: string): string => model.replace(/^models\//, '')

const modelEntry = (model: string): JsonObject => ({
  name: `models/${bare(model)}`,
  version: '001',
  displayName: bare(model),
  description: 'A small demo model that runs without any key.',
  inputTokenLimit: 1_048_576,
  outputTokenLimit: 65_536,
  supportedGenerationMethods: /embedding/.test(model)
    ? ['embedContent', 'batchEmbedContents']
    : ['generateContent', 'countTokens'],
  temperature: 1,
  topP: 0.95,
  topK: 64,
  maxTemperature: 2,
  thinking: true,
})

/** Google's generateContent. */
export const gemini: Dialect = {
  words: geminiWords,
  breakdown: 'UNAVAILABLE',
  indent: 2,
  jsonType: 'application/json; charset=UTF-8',
  streamType: 'text/event-stream',
  dress: googleDress,
  cachesUnasked: true,
  sealsAlways: true,
  notJson: {
    status: 400,
    type: 'INVALID_ARGUMENT',
    message: 'Invalid JSON payload received. Unexpected token.\n\n^',
  },
  sign: (ids) => googleHeaders(ids),
  noRoute: ({ path }) => ({
    status: 404,
    type: 'NOT_FOUND',
    message: `The requested URL ${path} was not found on this server.`,
  }),
  wrongMethod: ({ path }) => ({
    status: 404,
    type: 'NOT_FOUND',
    message: `The requested URL ${path} was not found on this server.`,
  }),
  admit: checkGoogleKey,
  check: checkGemini,
  read: readGemini,
  unknownModel: (model, route) => ({
    status: 404,
    type: 'NOT_FOUND',
    message: `models/${bare(model)} is not found for API version ${route?.version ?? 'v1beta'}, or is not supported for ${
      route?.action ?? 'generateContent'
    }. Call ListModels to see the list of available models and their supported methods.`,
  }),
  errorBody: (error, _requestId, headers) => geminiErrorBody(error, headers),
  errorHeaders: () => ({}),
  failure: (error) => pieceOf(`${JSON.stringify(geminiErrorBody(error), null, 2)}\n`),
  // A seal on a call is valid for that call's tool only.
  sealed: (_thought, calls) => calls[0]?.name ?? '',
  answerId: (ids) => ids.letters(23),
  callId: (ids, prompt) => (nameless.test(prompt.model) ? '' : ids.lower(8)),
  counted: (tokens) => ({
    totalTokens: tokens,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: tokens }],
  }),
  render: renderGemini,
  listModels(models, query) {
    const from = Number(query.get('pageToken') ?? 0)
    const to = from + Number(query.get('pageSize') ?? 50)
    const page = { models: models.slice(from, to).map(modelEntry) }
    return to < models.length ? { ...page, nextPageToken: String(to) } : page
  },
  modelEntry,
}
