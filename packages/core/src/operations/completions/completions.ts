import type { JsonObject } from '../../base/json/json.ts'
import { comment } from '../../formats/chat/chunk.ts'
import { chatCodec } from '../../formats/chat/codec.ts'
import { errorWithin, tapResponse, tapStream } from '../../formats/chat/wire.ts'
import type { ClientCodec, StreamTap } from '../../formats/codec.ts'
import type { Dialect, Operation } from '../operation.ts'
import { decodeRequest, echoOf, fieldPointers, validateRequest } from './request.ts'
import { encodeResponse } from './response.ts'
import { encodeStream } from './stream.ts'

/**
 * Returns a codec that reads and writes completions for clients and speaks chat to upstreams: completions replace the client half of the
 * chat codec.
 */
function completionsCodec(body: JsonObject): ClientCodec {
  const echo = echoOf(body)
  return {
    ...chatCodec,
    validateRequest,
    decodeRequest,
    encodeResponse: (response, context) => encodeResponse(response, context, echo),
    encodeStream: (context) => encodeStream(context, echo),
    fieldPointers,
  }
}

/** Taps a stream like chat's: chunks are framed and counted alike, and only the texts have another place. */
function tap(request: JsonObject): StreamTap {
  const choices = { n: choicesIn(request) }
  const inner = tapStream({ withholdUsage: false, target: { model: '', quirks: {} }, request: choices })
  // Clients of completions would read the text of a chat chunk as undefined.
  return Object.assign(inner, { heartbeat: () => [comment] })
}

/** Returns the number of choices: `n` for each prompt of a list. A list of numbers is one prompt of tokens. */
function choicesIn({ n, prompt }: JsonObject): number {
  const each = typeof n === 'number' ? n : 1
  return Array.isArray(prompt) && typeof prompt[0] !== 'number' ? each * prompt.length : each
}

const openai: Dialect<never, never> = {
  name: 'openai',
  errors: 'chat',
  validate: validateRequest,
  isResponse: ({ choices }) => Array.isArray(choices) && choices.length > 0,
  errorWithin,
  tapResponse,
  tapStream: tap,
}

/** OpenAI's legacy text completions. If an upstream has none, the call is translated to chat. */
export const completions: Operation<never, never> = {
  name: 'completions',
  dialects: [openai],
  counted: {
    output: { fields: ['max_tokens'], countFields: ['n', 'best_of'] },
    textFields: { response: ['text'], event: ['text'] },
  },
  viaChat: completionsCodec,
}
