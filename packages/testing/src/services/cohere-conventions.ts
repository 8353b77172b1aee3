import type { JsonObject } from '../base/json.ts'
import { checkOpenaiKey } from '../formats/credentials.ts'
import type { ProviderConventions } from '../formats/dialect.ts'
import type { ErrorTable, WireError } from '../wire/errors.ts'
import { dataPiece } from '../wire/piece.ts'

const errorText = (message: string): { type: string; code: null; message: string } => ({
  type: '',
  code: null,
  message,
})

const cohereErrorTable: ErrorTable = {
  400: errorText('invalid request'),
  401: errorText('invalid api token'),
  404: errorText('not found'),
  422: errorText('unprocessable entity'),
  429: errorText(
    'Please wait and try again later. You are past the per minute request limit, please wait and try again later.',
  ),
  498: errorText('blocked input or output'),
  500: errorText('internal server error, this has been reported to our developers.'),
  503: errorText('the service is currently unavailable, please try again later'),
}

const errorBody = ({ message }: WireError, requestId: string): JsonObject => ({ id: requestId, message })

export const cohereError = (message: string, status = 400): WireError => ({ status, message })

/** Cohere's conventions: an error has a message only. */
export const cohereConventions: ProviderConventions = {
  errorTable: cohereErrorTable,
  defaultStreamErrorType: '',
  indent: undefined,
  jsonType: 'application/json',
  streamType: 'text/event-stream',
  notJsonError: cohereError('invalid json syntax: invalid character in the request body'),
  createResponseHead(ids) {
    const requestId = uuid(ids.item('').slice(1))
    return { requestId, headers: { 'x-debug-trace-id': requestId.replaceAll('-', '') } }
  },
  unknownPathError: () => cohereError('not found', 404),
  wrongMethodError: () => cohereError('method not allowed', 405),
  authenticate(head, apiKey) {
    const refusal = checkOpenaiKey(head, apiKey)
    if (!refusal) return undefined
    return cohereError(head.headers.authorization === undefined ? 'no api key supplied' : 'invalid api token', 401)
  },
  unknownModelError: (model) =>
    cohereError(`model '${model}' not found, make sure the correct model ID was used and that you have access.`, 404),
  errorBody,
  failurePiece: (error, requestId) => dataPiece(errorBody(error, requestId)),
  errorHeaders: () => ({}),
}

/** Formats at least 32 hex digits as a UUID. */
export const uuid = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
