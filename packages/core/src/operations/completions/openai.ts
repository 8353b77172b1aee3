import type { JsonObject } from '../../base/json/types.ts'
import { comment } from '../../formats/chat/chunk.ts'
import { errorWithin } from '../../formats/chat/error.ts'
import { tapResponse, tapStream } from '../../formats/chat/tap.ts'
import type { StreamTap } from '../../formats/codec.ts'
import type { Dialect } from '../operation.ts'
import { validateRequest } from './schema.ts'

/** Chunks are framed and counted as those of chat are; only what they say stands elsewhere. */
function tap(request: JsonObject): StreamTap {
  const asked = { n: choicesIn(request) }
  const inner = tapStream({ withholdUsage: false, target: { model: '', quirks: {} }, asked })
  return {
    push: (event) => inner.push(event),
    ...(inner.varying === undefined ? {} : { varying: inner.varying }),
    get plain() {
      return inner.plain ?? false
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
  isAnswer: ({ choices }) => Array.isArray(choices) && choices.length > 0,
  errorWithin,
  tapResponse: tapResponse,
  tapStream: tap,
}
