import { lazy } from '../../base/async.ts'
import type { WireCodec } from '../codec.ts'
import { modelPlaces, routerPlaces, toolPlaces } from '../shared/model-places.ts'
import { rateLimitHeaders } from '../shared/rate-limit-headers.ts'
import { decodeError, encodeError, isResponse } from './error.ts'
import { modelPrefix } from './spelling.ts'
import { clientQuirks, tapResponse, tapStream, wireEdit } from './tap.ts'

/** The part of the generateContent codec that every call needs. */
export const geminiWire: WireCodec = {
  format: 'gemini',
  loadRequestCheck: lazy(() => import('./validate.ts').then(({ checkRequest }) => checkRequest)),
  loadModelList: lazy(() => import('./model-list.ts')),
  modelInPath: { whole: '/{model}:generateContent', stream: '/{model}:streamGenerateContent?alt=sse' },
  modelPrefix,
  unknownMember: (name) => `Invalid JSON payload received. Unknown name "${name}": Cannot find field.`,
  refusesComments: true,
  decodeError,
  encodeError,
  wireEdit,
  isResponse,
  tapResponse,
  tapStream,
  clientQuirks,
  tierFields: ['serviceTier', 'service_tier'],
  affinity: {
    keys: ['cachedContent'],
    tools: 'tools',
    prefix: ['systemInstruction', 'system_instruction'],
    turns: 'contents',
  },
  textFields: { response: ['text', 'args'], event: ['text', 'args'] },
  outputBound: {
    fields: ['generationConfig.maxOutputTokens', 'generation_config.max_output_tokens'],
    countFields: ['generationConfig.candidateCount', 'generation_config.candidate_count'],
  },
  encodeAllowance: rateLimitHeaders,
  modelPlaces: modelPlaces({
    names: [
      ...routerPlaces.names,
      ...toolPlaces.names,
      // Vertex AI's model router, and the models that rank search results.
      'generationConfig.routingConfig.manualMode.modelName',
      'tools[].retrieval.vertexRagStore.ragRetrievalConfig.ranking.llmRanker.modelName',
      'tools[].retrieval.vertexRagStore.ragRetrievalConfig.ranking.rankService.modelName',
    ],
    chooses: {
      ...routerPlaces.chooses,
      'generationConfig.routingConfig.autoMode': [],
      'generationConfig.modelConfig': [],
      'generationConfig.modelSelectionConfig': [],
    },
    sameMembers: { ...routerPlaces.sameMembers, ...toolPlaces.sameMembers, generateContentRequest: '' },
    protobuf: true,
  }),
}
