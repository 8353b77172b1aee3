import { comment } from '../../formats/chat/chunk.ts'
import { tapResponse, tapStream } from '../../formats/chat/tap.ts'
import type { StreamTap } from '../../formats/codec.ts'
import type { Dialect } from '../operation.ts'
import { validateRequest } from './schema.ts'

/** Chunks are framed and counted as those of chat are; only what they say stands elsewhere. */
function tap(): StreamTap {
  const inner = tapStream({ withholdUsage: false, target: { model: '', quirks: {} } })
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
    // A chunk of chat would be read as text that is undefined.
    heartbeat: () => [comment],
    fail: (error) => inner.fail(error),
  }
}

export const openai: Dialect<never, never> = {
  name: 'openai',
  errors: 'chat',
  validate: validateRequest,
  tapAnswer: tapResponse,
  tapStream: tap,
}
