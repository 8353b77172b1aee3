import type { JsonObject } from '../../base/json.ts'
import { modelsCreated } from '../../contract/options.ts'
import { type ErrorTable, errorTextFor, invalidRequest, type WireError } from '../../wire/errors.ts'
import type { RequestHead } from '../dialect.ts'

/** OpenAI's error texts by status, for all its formats. */
const openaiErrorTable: ErrorTable = {
  400: { type: 'invalid_request_error', code: null, message: 'Invalid request.' },
  401: { type: 'invalid_request_error', code: 'invalid_api_key', message: 'Incorrect API key provided.' },
  403: {
    type: 'invalid_request_error',
    code: 'unsupported_country_region_territory',
    message: 'Country, region, or territory not supported',
  },
  404: {
    type: 'invalid_request_error',
    code: 'model_not_found',
    message: 'The model does not exist or you do not have access to it.',
  },
  429: {
    type: 'requests',
    code: 'rate_limit_exceeded',
    message:
      'Rate limit reached for requests. Limit: 500 / min. Please try again later. Visit https://platform.openai.com/account/rate-limits to learn more.',
  },
  500: {
    type: 'server_error',
    code: null,
    message: 'The server had an error while processing your request. Sorry about that!',
  },
  503: {
    type: 'server_error',
    code: null,
    message: 'The server is currently overloaded with other requests. Sorry about that! You can retry your request.',
  },
}

/** Conventions shared by OpenAI's two formats. */
export const openai = {
  errorTable: openaiErrorTable,
  defaultStreamErrorType: 'server_error',
  indent: 2,
  jsonType: 'application/json',
  streamType: 'text/event-stream; charset=utf-8',
  cachesAutomatically: true,
  alwaysSeals: false,
  notJsonError: invalidRequest(
    400,
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON. If you have trouble figuring out how to fix this, please contact us through our help center at help.openai.com.)",
  ),
  unknownPathError: ({ method, path }: RequestHead): WireError =>
    invalidRequest(404, `Invalid URL (${method} ${path})`),
  wrongMethodError: ({ method, path }: RequestHead): WireError =>
    invalidRequest(
      405,
      `Not allowed to ${method} on ${path} (HINT: Perhaps you meant to use a different HTTP method?)`,
      { code: 'method_not_supported' },
    ),
  errorBody: (error: WireError): JsonObject => {
    const type = error.type ?? errorTextFor(openaiErrorTable, error.status).type
    return { error: { message: error.message, type, param: error.param ?? null, code: error.code ?? null } }
  },
  errorHeaders: () => ({}),
  listModels: (models: readonly string[]): JsonObject => ({ object: 'list', data: models.map(modelEntry) }),
  modelEntry,
}

function modelEntry(id: string): JsonObject {
  return { id, object: 'model', created: modelsCreated, owned_by: 'modelgate-testing' }
}
