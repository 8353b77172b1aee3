import { invalidRequest } from '../../wire/errors.ts'
import { dataPiece } from '../../wire/piece.ts'
import { checkOpenaiKey } from '../credentials.ts'
import type { Dialect } from '../dialect.ts'
import { openai } from '../openai/conventions.ts'
import { openaiHeaders } from '../response-head.ts'
import { createSealStyle } from '../seals.ts'
import { checkChat } from './check.ts'
import { readChat } from './read.ts'
import { chatBody, chatEvents } from './render.ts'

/** OpenAI's Chat Completions. */
export const chat: Dialect = {
  ...openai,
  sealStyle: createSealStyle('chat', {}),
  createResponseHead: (ids, _now, model) => openaiHeaders(ids, model),
  authenticate: checkOpenaiKey,
  check: (body) => checkChat(body),
  read: (body) => readChat(body),
  unknownModelError: (model) =>
    invalidRequest(404, `The model \`${model}\` does not exist or you do not have access to it.`, {
      code: 'model_not_found',
    }),
  sealedText: (thought) => thought,
  answerId: (ids) => ids.completion(),
  callId: (ids) => ids.call(),
  tokenCountBody: (tokens) => ({ input_tokens: tokens }),
  render: ({ answer, prompt, reasoningField }) => ({
    body: () => chatBody(answer, prompt, { reasoningField }),
    events: () => chatEvents(answer, prompt, { reasoningField }),
  }),
  failurePiece: (error) => dataPiece(openai.errorBody(error)),
}
