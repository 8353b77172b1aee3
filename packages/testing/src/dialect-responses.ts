import { openaiDress } from './check-items.ts'
import { checkResponses } from './check-responses.ts'
import { checkOpenaiKey } from './credentials.ts'
import type { Dialect } from './dialect.ts'
import { invalidRequest } from './errors.ts'
import { openaiHeaders } from './headers.ts'
import { openai } from './openai-words.ts'
import { eventPiece } from './piece.ts'
import { readResponses } from './read-responses.ts'
import { renderResponses } from './render-responses.ts'

/** OpenAI's Responses. */
export const responses: Dialect = {
  ...openai,
  dress: openaiDress,
  sign: (ids, _now, model) => openaiHeaders(ids, model),
  admit: checkOpenaiKey,
  check: checkResponses,
  read: (body, _destination, memory) => readResponses(body, memory),
  // Chat Completions returns 404 for the same error.
  unknownModel: (model) =>
    invalidRequest(400, `The requested model '${model}' does not exist.`, { param: 'model', code: 'model_not_found' }),
  failure: (error) =>
    eventPiece('error', {
      type: 'error',
      error: {
        type: error.type ?? 'server_error',
        code: error.code ?? null,
        message: error.message,
        param: error.param ?? null,
      },
      sequence_number: 0,
    }),
  // The encrypted content is self-contained: it is valid with or without the summary.
  sealed: () => '',
  answerId: (ids) => ids.item('resp'),
  callId: (ids) => ids.call(),
  counted: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
  render: renderResponses,
}
