import type { JsonObject } from '../../base/json/types.ts'
import { comment } from '../../formats/chat/chunk.ts'
import { chatCodec } from '../../formats/chat/codec.ts'
import { errorWithin } from '../../formats/chat/error.ts'
import { tapResponse, tapStream } from '../../formats/chat/wire.ts'
import type { Codec, StreamTap } from '../../formats/codec.ts'
import type { Dialect, Operation } from '../operation.ts'
import { decodeRequest, echoOf, fieldPointers, validateRequest } from './request.ts'
import { encodeResponse } from './response.ts'
import { encodeStream } from './stream.ts'

/**
 * Completions as a chat format's clients would write them: the client's half of a codec. No upstream is ever spoken to with
 * it, and the other half is chat's.
 */
export function completionsCodec(body: JsonObject): Codec {
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

/** Chunks are framed and counted as those of chat are; only what they say stands elsewhere. */
function tap(request: JsonObject): StreamTap {
  const asked = { n: choicesIn(request) }
  const inner = tapStream({ withholdUsage: false, target: { model: '', quirks: {} }, request: asked })
  return {
    push: (event) => inner.push(event),
    ...(inner.varyingMembers === undefined ? {} : { varyingMembers: inner.varyingMembers }),
    get canSkipSimilar() {
      return inner.canSkipSimilar ?? false
    },
    get started() {
      return inner.started
    },
    get ended() {
      return inner.ended
    },
    get error() {
      return inner.error
    },
    get usage() {
      return inner.usage
    },
    get finish() {
      return inner.finish
    },
    end: (complete) => inner.end?.(complete),
    // A chunk of chat would be read as text that is undefined.
    heartbeat: () => [comment],
    fail: (error) => inner.fail(error),
  }
}

/** Each prompt of a list is answered by as many choices. A list of numbers is one prompt. */
function choicesIn({ n, prompt }: JsonObject): number {
  const each = typeof n === 'number' ? n : 1
  return Array.isArray(prompt) && typeof prompt[0] !== 'number' ? each * prompt.length : each
}

export const openai: Dialect<never, never> = {
  name: 'openai',
  errors: 'chat',
  validate: validateRequest,
  isResponse: ({ choices }) => Array.isArray(choices) && choices.length > 0,
  errorWithin,
  tapResponse: tapResponse,
  tapStream: tap,
}

/** OpenAI's text completions, which came before chat. Chat models stand in where an upstream has none. */
export const completions: Operation<never, never> = {
  name: 'completions',
  dialects: [openai],
  counted: {
    output: { fields: ['max_tokens'], countFields: ['n', 'best_of'] },
    textFields: { response: ['text'], event: ['text'] },
  },
  viaChat: completionsCodec,
}
