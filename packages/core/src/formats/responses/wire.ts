import { lazy } from '../../base/async.ts'
import type { WireCodec } from '../codec.ts'
import { modelPlaces, routerPlaces, toolPlaces } from '../shared/model-places.ts'
import { rateLimitHeaders } from '../shared/rate-limit-headers.ts'
import { decodeError, encodeError } from './error.ts'
import { tapResponse, tapStream } from './tap.ts'

/** The part of the Responses codec that every call needs. */
export const responsesWire: WireCodec = {
  format: 'responses',
  loadRequestCheck: lazy(() => import('./validate.ts').then(({ checkRequest }) => checkRequest)),
  loadModelList: lazy(() => import('../chat/model-list.ts')),
  decodeError,
  encodeError,
  // Every terminal event has usage, so the request needs no edit.
  wireEdit: () => undefined,
  isResponse: ({ output }) => Array.isArray(output),
  tapResponse,
  tapStream,
  tierFields: ['service_tier'],
  affinity: {
    keys: ['prompt_cache_key', 'conversation', 'conversation.id'],
    tools: 'tools',
    prefix: ['instructions'],
    turns: 'input',
  },
  textFields: { response: ['text', 'arguments', 'refusal', 'input'], event: ['delta'], mark: '.delta"' },
  pendingFinishes: ['queued', 'in_progress'],
  backgroundFields: ['background'],
  outputBound: { fields: ['max_output_tokens'] },
  encodeAllowance: rateLimitHeaders,
  modelPlaces: modelPlaces({
    names: [...routerPlaces.names, ...toolPlaces.names, 'moderation.model'],
    // Agents of Azure projects choose their model.
    chooses: { ...routerPlaces.chooses, agent: [], agent_reference: [] },
    // Items that add tools, and outputs of tool searches.
    sameMembers: { ...routerPlaces.sameMembers, ...toolPlaces.sameMembers, 'input[].tools': 'tools' },
  }),
}
