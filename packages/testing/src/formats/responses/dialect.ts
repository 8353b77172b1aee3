import { invalidRequest } from '../../wire/errors.ts'
import { eventPiece } from '../../wire/piece.ts'
import { checkOpenaiKey } from '../credentials.ts'
import type { Dialect } from '../dialect.ts'
import { openai } from '../openai/conventions.ts'
import { openaiHeaders } from '../response-head.ts'
import { checkResponses } from './check.ts'
import { openaiSealStyle } from './check-items.ts'
import { readResponses } from './read.ts'
import { renderResponses } from './render.ts'

/** OpenAI's Responses. */
export const responses: Dialect = {
  ...openai,
  sealStyle: openaiSealStyle,
  createResponseHead: (ids, _now, model) => openaiHeaders(ids, model),
  authenticate: checkOpenaiKey,
  check: checkResponses,
  read: (body, _destination, memory) => readResponses(body, memory),
  // Chat Completions returns 404 for the same error.
  unknownModelError: (model) =>
    invalidRequest(400, `The requested model '${model}' does not exist.`, { param: 'model', code: 'model_not_found' }),
  failurePiece: (error) =>
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
  sealedText: () => '',
  answerId: (ids) => ids.item('resp'),
  callId: (ids) => ids.call(),
  tokenCountBody: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
  render: renderResponses,
}
