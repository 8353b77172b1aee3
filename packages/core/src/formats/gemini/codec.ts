import type { Codec } from '../codec.ts'
import { rateLimitHeaders } from '../shared/allowance.ts'
import { carries } from './carries.ts'
import { validateRequest } from './complaint.ts'
import { count } from './count.ts'
import { decodeError, encodeError } from './error.ts'
import { answerPointers, efforts, fieldPointers } from './fields.ts'
import { encodeModel, encodeModelList } from './model-list.ts'
import { modelPrefix } from './model-prefix.ts'
import { decodeRequest } from './request-decode.ts'
import { encodeRequest } from './request-encode.ts'
import { decodeResponse } from './response-decode.ts'
import { encodeResponse } from './response-encode.ts'
import { decodeStream } from './stream-decode.ts'
import { encodeStream } from './stream-encode.ts'
import { tapResponse, tapStream, wireEdit } from './tap.ts'
import { usageBeside } from './usage.ts'

/** Google's generateContent, as the Gemini API and Vertex speak it. */
export const geminiCodec: Codec = {
  format: 'gemini',
  modelInPath: { whole: '/{model}:generateContent', stream: '/{model}:streamGenerateContent?alt=sse' },
  modelPrefix,
  noComments: true,
  validateRequest,
  decodeRequest,
  encodeRequest,
  decodeResponse,
  encodeResponse,
  decodeStream,
  encodeStream,
  decodeError,
  encodeError,
  wireEdit,
  tapResponse,
  tapStream,
  count,
  encodeModelList,
  encodeModel,
  fieldPointers,
  answerPointers,
  usageBeside,
  efforts,
  affinity: {
    keys: ['cachedContent'],
    prefix: ['tools', 'systemInstruction', 'system_instruction'],
    turns: 'contents',
  },
  says: { answer: ['text', 'args'], event: ['text', 'args'] },
  outputBound: {
    fields: ['generationConfig.maxOutputTokens', 'generation_config.max_output_tokens'],
    times: ['generationConfig.candidateCount', 'generation_config.candidate_count'],
  },
  encodeAllowance: rateLimitHeaders,
  carries,
}
