import type { Codec } from '../codec.ts'
import { encodeAllowance } from './allowance.ts'
import { carries } from './carries.ts'
import { count } from './count.ts'
import { decodeError, encodeError } from './error.ts'
import { answerPointers, efforts, fieldPointers } from './fields.ts'
import { encodeModel, encodeModelList } from './model-list.ts'
import { decodeRequest } from './request-decode.ts'
import { encodeRequest } from './request-encode.ts'
import { decodeResponse, encodeResponse } from './response.ts'
import { decodeStream } from './stream-decode.ts'
import { encodeStream } from './stream-encode.ts'
import { tapResponse, tapStream } from './tap.ts'
import { unitsIn, usageBeside } from './usage.ts'
import { validateRequest } from './validate.ts'

/** Anthropic Messages. */
export const messagesCodec: Codec = {
  format: 'messages',
  validateRequest,
  decodeRequest,
  encodeRequest,
  decodeResponse,
  encodeResponse,
  decodeStream,
  encodeStream,
  decodeError,
  encodeError,
  // Usage always comes: nothing to ask for.
  wireEdit: () => undefined,
  tapResponse,
  tapStream,
  count,
  encodeModelList,
  encodeModel,
  fieldPointers,
  answerPointers,
  usageBeside,
  efforts,
  affinity: { keys: ['metadata.user_id'], prefix: ['tools', 'system'], turns: 'messages' },
  says: { answer: ['text', 'thinking', 'input'], event: ['text', 'thinking', 'partial_json'], mark: '_delta"' },
  unitsIn,
  outputBound: { fields: ['max_tokens'] },
  encodeAllowance,
  carries,
}
