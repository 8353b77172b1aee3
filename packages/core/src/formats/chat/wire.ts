import { lazy } from '../../base/async.ts'
import type { WireCodec } from '../codec.ts'
import { rateLimitHeaders } from '../shared/allowance.ts'
import { modelPlaces, routerPlaces, toolPlaces } from '../shared/model-places.ts'
import { decodeError, encodeError, errorWithin } from './error.ts'
import { tapResponse, tapStream, wireEdit, wireReady } from './tap.ts'

/** The part of chat completions that every call needs. */
export const chatWire: WireCodec = {
  format: 'chat',
  validation: lazy(() => import('./validate.ts').then(({ checkRequest }) => checkRequest)),
  decodeError,
  encodeError,
  wireReady,
  wireEdit,
  isAnswer: ({ choices }) => Array.isArray(choices) && choices.length > 0,
  errorWithin,
  tapResponse,
  tapStream,
  affinity: { keys: ['prompt_cache_key'], prefix: ['tools'], turns: 'messages' },
  textFields: {
    answer: ['content', 'reasoning_content', 'reasoning', 'refusal', 'arguments', 'input'],
    event: ['content', 'reasoning_content', 'reasoning', 'refusal', 'arguments', 'input'],
  },
  unitsIn: ({ num_search_queries: searches }) => (typeof searches === 'number' ? { searches } : undefined),
  // xAI: the answer is fetched later.
  background: ['deferred'],
  outputBound: { fields: ['max_completion_tokens', 'max_tokens'], times: ['n'] },
  encodeAllowance: rateLimitHeaders,
  modelPlaces: modelPlaces({
    names: [
      ...routerPlaces.names,
      ...toolPlaces.names,
      'moderation.model',
      // Groq's compound systems.
      'compound_custom.models.answering_model',
      'compound_custom.models.reasoning_model',
      // Azure's answers from data of one's own.
      'data_sources[].parameters.embedding_dependency.deployment_name',
      'data_sources[].parameters.embedding_dependency.model_id',
    ],
    chooses: { ...routerPlaces.chooses, 'data_sources[].parameters.embedding_dependency.endpoint': [] },
    alike: { ...routerPlaces.alike, ...toolPlaces.alike },
  }),
}
