import { lazy } from '../../base/async.ts'
import type { WireCodec } from '../codec.ts'
import { modelPlaces, routerPlaces, toolPlaces } from '../shared/model-places.ts'
import { rateLimitHeaders } from '../shared/rate-limit-headers.ts'
import { decodeError, encodeError } from './error.ts'
import { tapResponse, tapStream } from './tap.ts'

/** The part of Responses that every call needs. */
export const responsesWire: WireCodec = {
  format: 'responses',
  validation: lazy(() => import('./validate.ts').then(({ checkRequest }) => checkRequest)),
  decodeError,
  encodeError,
  // Usage comes with every terminal event: nothing has to be asked for.
  wireEdit: () => undefined,
  isAnswer: ({ output }) => Array.isArray(output),
  tapResponse,
  tapStream,
  affinity: {
    keys: ['prompt_cache_key', 'conversation', 'conversation.id'],
    prefix: ['tools', 'instructions'],
    turns: 'input',
  },
  textFields: { answer: ['text', 'arguments', 'refusal', 'input'], event: ['delta'], mark: '.delta"' },
  pending: ['queued', 'in_progress'],
  background: ['background'],
  outputBound: { fields: ['max_output_tokens'] },
  encodeAllowance: rateLimitHeaders,
  modelPlaces: modelPlaces({
    names: [...routerPlaces.names, ...toolPlaces.names, 'moderation.model'],
    // Agents of Azure's projects have a model of their own.
    chooses: { ...routerPlaces.chooses, agent: [], agent_reference: [] },
    // Items that add tools, and results of tool searches.
    alike: { ...routerPlaces.alike, ...toolPlaces.alike, 'input[].tools': 'tools' },
  }),
}
