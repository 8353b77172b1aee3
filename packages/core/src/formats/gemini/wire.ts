import { lazy } from '../../base/async.ts'
import type { WireCodec } from '../codec.ts'
import { modelPlaces, routerPlaces, toolPlaces } from '../shared/model-places.ts'
import { rateLimitHeaders } from '../shared/rate-limit-headers.ts'
import { decodeError, encodeError, isAnswer } from './error.ts'
import { modelPrefix } from './spelling.ts'
import { clientQuirks, tapResponse, tapStream, wireEdit } from './tap.ts'

/** The part of generateContent that every call needs. */
export const geminiWire: WireCodec = {
  format: 'gemini',
  validation: lazy(() => import('./validate.ts').then(({ checkRequest }) => checkRequest)),
  modelInPath: { whole: '/{model}:generateContent', stream: '/{model}:streamGenerateContent?alt=sse' },
  modelPrefix,
  noComments: true,
  decodeError,
  encodeError,
  wireEdit,
  isAnswer,
  tapResponse,
  tapStream,
  clientQuirks,
  affinity: {
    keys: ['cachedContent'],
    prefix: ['tools', 'systemInstruction', 'system_instruction'],
    turns: 'contents',
  },
  textFields: { answer: ['text', 'args'], event: ['text', 'args'] },
  outputBound: {
    fields: ['generationConfig.maxOutputTokens', 'generation_config.max_output_tokens'],
    times: ['generationConfig.candidateCount', 'generation_config.candidate_count'],
  },
  encodeAllowance: rateLimitHeaders,
  modelPlaces: modelPlaces({
    names: [
      ...routerPlaces.names,
      ...toolPlaces.names,
      // Vertex AI's model router, and its rankers of search results.
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
    alike: { ...routerPlaces.alike, ...toolPlaces.alike, generateContentRequest: '' },
    protobuf: true,
  }),
}
