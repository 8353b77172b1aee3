import { lazy } from '../../base/async.ts'
import { isObject, type JsonObject, put } from '../../base/json/json.ts'
import type { ResponseTap, WireCodec } from '../codec.ts'
import { modelPlaces, routerPlaces, toolPlaces } from '../shared/model-places.ts'
import { rateLimitHeaders } from '../shared/rate-limit-headers.ts'
import { decodeError, encodeError, nonEmptyText } from './error.ts'
import { tapStream } from './tap.ts'
import { usageOf } from './usage-decode.ts'

/** The fields that Converse passes on to the model, in which vendors have their own names for the same bounds. */
const additional = 'additionalModelRequestFields'

/** The part of Converse that every call needs. */
export const converseWire: WireCodec = {
  format: 'converse',
  requestIdHeader: 'x-amzn-requestid',
  loadRequestCheck: lazy(() => import('./validate.ts').then(({ checkRequest }) => checkRequest)),
  loadModelList: lazy(() => import('./model-list.ts')),
  decodeError,
  encodeError,
  wireEdit: () => undefined,
  isResponse: ({ output }) => isObject(output),
  tapResponse,
  tapStream,
  modelInPath: { whole: '/{id}/converse', stream: '/{id}/converse-stream' },
  tierFields: ['serviceTier.type'],
  affinity: { keys: [], tools: 'toolConfig', prefix: ['system'], turns: 'messages' },
  textFields: { response: ['text', 'input'], event: ['text', 'input'] },
  outputBound: {
    fields: [
      'inferenceConfig.maxTokens',
      ...['max_tokens', 'max_completion_tokens', 'maxTokens', 'max_gen_len', 'max_new_tokens'].map(
        (name) => `${additional}.${name}`,
      ),
      `${additional}.inferenceConfig.maxTokens`,
      `${additional}.inferenceConfig.max_new_tokens`,
    ],
    countFields: [`${additional}.n`, `${additional}.num_generations`],
  },
  encodeAllowance: rateLimitHeaders,
  modelPlaces: modelPlaces({
    names: [...routerPlaces.names, ...toolPlaces.names],
    chooses: routerPlaces.chooses,
    sameMembers: { ...routerPlaces.sameMembers, ...toolPlaces.sameMembers, [additional]: '' },
  }),
}

/** Reads error, usage and stop reason from a whole response. */
export function tapResponse(body: JsonObject): ResponseTap {
  const tap: ResponseTap = {}
  if (body.output === undefined && (body.message !== undefined || body.__type !== undefined))
    tap.error = decodeError(200, body)
  put(tap, 'usage', usageOf(body))
  put(tap, 'finish', nonEmptyText(body.stopReason))
  return tap
}
