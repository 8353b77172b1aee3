import type { JsonObject } from '../../base/json.ts'
import { pieceOf } from '../../wire/piece.ts'
import { checkGoogleKey } from '../credentials.ts'
import type { Dialect } from '../dialect.ts'
import { googleHeaders } from '../response-head.ts'
import { checkGemini, googleSealStyle } from './check.ts'
import { geminiErrorBody, geminiErrorTable } from './errors.ts'
import { readGemini } from './read.ts'
import { renderGemini } from './render.ts'

/** Models before the third generation give their calls no ids. */
const modelsWithoutCallIds = /^(models\/)?gemini-[12]/

const shortModelName = (model: string): string => model.replace(/^models\//, '')

const modelEntry = (model: string): JsonObject => ({
  name: `models/${shortModelName(model)}`,
  version: '001',
  displayName: shortModelName(model),
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
  errorTable: geminiErrorTable,
  defaultStreamErrorType: 'UNAVAILABLE',
  indent: 2,
  jsonType: 'application/json; charset=UTF-8',
  streamType: 'text/event-stream',
  sealStyle: googleSealStyle,
  cachesAutomatically: true,
  alwaysSeals: true,
  notJsonError: {
    status: 400,
    type: 'INVALID_ARGUMENT',
    message: 'Invalid JSON payload received. Unexpected token.\n\n^',
  },
  createResponseHead: (ids) => googleHeaders(ids),
  unknownPathError: ({ path }) => ({
    status: 404,
    type: 'NOT_FOUND',
    message: `The requested URL ${path} was not found on this server.`,
  }),
  wrongMethodError: ({ path }) => ({
    status: 404,
    type: 'NOT_FOUND',
    message: `The requested URL ${path} was not found on this server.`,
  }),
  authenticate: checkGoogleKey,
  check: checkGemini,
  read: readGemini,
  unknownModelError: (model, route) => ({
    status: 404,
    type: 'NOT_FOUND',
    message: `models/${shortModelName(model)} is not found for API version ${route?.version ?? 'v1beta'}, or is not supported for ${
      route?.action ?? 'generateContent'
    }. Call ListModels to see the list of available models and their supported methods.`,
  }),
  errorBody: (error, _requestId, headers) => geminiErrorBody(error, headers),
  errorHeaders: () => ({}),
  failurePiece: (error) => pieceOf(`${JSON.stringify(geminiErrorBody(error), null, 2)}\n`),
  // A seal on a call is valid for that call's tool only.
  sealedText: (_thought, calls) => calls[0]?.name ?? '',
  answerId: (ids) => ids.letters(23),
  callId: (ids, prompt) => (modelsWithoutCallIds.test(prompt.model) ? '' : ids.lower(8)),
  tokenCountBody: (tokens) => ({
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
