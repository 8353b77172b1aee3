import type { JsonObject } from '../base/json.ts'
import { checkOpenaiKey } from '../formats/credentials.ts'
import type { Voice } from '../formats/dialect.ts'
import type { ErrorTable, WireError } from '../wire/errors.ts'
import { dataPiece } from '../wire/piece.ts'

const words = (message: string): { type: string; code: null; message: string } => ({ type: '', code: null, message })

const cohereWords: ErrorTable = {
  400: words('invalid request'),
  401: words('invalid api token'),
  404: words('not found'),
  422: words('unprocessable entity'),
  429: words(
    'Please wait and try again later. You are past the per minute request limit, please wait and try again later.',
  ),
  498: words('blocked input or output'),
  500: words('internal server error, this has been reported to our developers.'),
  503: words('the service is currently unavailable, please try again later'),
}

const errorBody = ({ message }: WireError, requestId: string): JsonObject => ({ id: requestId, message })

export const cohereFault = (message: string, status = 400): WireError => ({ status, message })

/** Cohere's conventions: an error has a message only. */
export const cohereVoice: Voice = {
  words: cohereWords,
  breakdown: '',
  indent: undefined,
  jsonType: 'application/json',
  streamType: 'text/event-stream',
  notJson: cohereFault('invalid json syntax: invalid character in the request body'),
  sign(ids) {
    const requestId = uuid(ids.item('').slice(1))
    return { requestId, headers: { 'x-debug-trace-id': requestId.replaceAll('-', '') } }
  },
  noRoute: () => cohereFault('not found', 404),
  wrongMethod: () => cohereFault('method not allowed', 405),
  admit(knock, apiKey) {
    const refusal = checkOpenaiKey(knock, apiKey)
    if (!refusal) return undefined
    return cohereFault(knock.headers.authorization === undefined ? 'no api key supplied' : 'invalid api token', 401)
  },
  unknownModel: (model) =>
    cohereFault(`model '${model}' not found, make sure the correct model ID was used and that you have access.`, 404),
  errorBody,
  failure: (error, requestId) => dataPiece(errorBody(error, requestId)),
  errorHeaders: () => ({}),
}

/** Formats at least 32 hex digits as a UUID. */
export const uuid = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
