import { lazily } from '../../lazily.ts'
import type { WireCodec } from '../codec.ts'
import { rateLimitHeaders } from '../shared/allowance.ts'
import { decodeError, encodeError } from './error.ts'
import { tapResponse, tapStream, wireEdit, wireReady } from './tap.ts'

/** The part of chat completions that every call needs. */
export const chatWire: WireCodec = {
  format: 'chat',
  whole: lazily(() => import('./codec.ts').then(({ chatCodec }) => chatCodec)),
  validation: lazily(() => import('./validate.ts').then(({ validateRequest }) => validateRequest)),
  decodeError,
  encodeError,
  wireReady,
  wireEdit,
  tapResponse,
  tapStream,
  affinity: { keys: ['prompt_cache_key'], prefix: ['tools'], turns: 'messages' },
  says: {
    answer: ['content', 'reasoning_content', 'reasoning', 'refusal', 'arguments', 'input'],
    event: ['content', 'reasoning_content', 'reasoning', 'refusal', 'arguments', 'input'],
  },
  unitsIn: ({ num_search_queries: searches }) => (typeof searches === 'number' ? { searches } : undefined),
  otherModels: ['models'],
  // xAI: the answer is fetched later.
  background: ['deferred'],
  outputBound: { fields: ['max_completion_tokens', 'max_tokens'], times: ['n'] },
  encodeAllowance: rateLimitHeaders,
}
