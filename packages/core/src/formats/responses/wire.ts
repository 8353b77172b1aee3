import { lazily } from '../../lazily.ts'
import type { WireCodec } from '../codec.ts'
import { rateLimitHeaders } from '../shared/allowance.ts'
import { decodeError, encodeError } from './error.ts'
import { tapResponse, tapStream } from './tap.ts'

/** The part of Responses that every call needs. */
export const responsesWire: WireCodec = {
  format: 'responses',
  whole: lazily(() => import('./codec.ts').then(({ responsesCodec }) => responsesCodec)),
  validation: lazily(() => import('./validate.ts').then(({ validateRequest }) => validateRequest)),
  decodeError,
  encodeError,
  // Usage comes with every terminal event: nothing has to be asked for.
  wireEdit: () => undefined,
  tapResponse,
  tapStream,
  affinity: {
    keys: ['prompt_cache_key', 'conversation', 'conversation.id'],
    prefix: ['tools', 'instructions'],
    turns: 'input',
  },
  says: { answer: ['text', 'arguments', 'refusal', 'input'], event: ['delta'], mark: '.delta"' },
  pending: ['queued', 'in_progress'],
  background: ['background'],
  outputBound: { fields: ['max_output_tokens'] },
  encodeAllowance: rateLimitHeaders,
}
