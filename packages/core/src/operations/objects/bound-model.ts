import { GatewayError } from '../../base/errors.ts'
import { spliceJson } from '../../base/json/edit.ts'
import { isObject, type JsonObject } from '../../base/json/json.ts'
import type { RequestBody } from '../../formats/request-body.ts'
import { checkNamedModels, type ResolvedTarget } from '../../routing/router.ts'
import type { RoutedCall } from '../route.ts'
import type { ObjectDialect } from './dialects.ts'
import { type ObjectResponse, withMembers } from './send.ts'

// Objects that are created for one model, such as cached content. The client names the model as in other requests: its permissions and
// routes apply, the upstream receives its own name of the model, and the client's name returns in responses.

/** Puts the model that a creation names into the call record. */
export function recordModel({ record }: RoutedCall, { model }: ObjectDialect, { value }: RequestBody): void {
  if (model === undefined) return
  const { member, prefix } = model
  const written = value[member]
  if (typeof written !== 'string' || written === '' || written === prefix)
    throw new GatewayError('invalid_request', `${member}: expected the name of a model, such as '${prefix}name'.`, {
      param: member,
    })
  record.model = written.startsWith(prefix) ? written.slice(prefix.length) : written
  // The whole body is input.
  record.tokenCounting = {}
}

/**
 * Returns the target of the model that a creation names.
 *
 * @param canStore whether an upstream's API has the kind of object
 * @throws GatewayError `model_not_found`, or `invalid_request` if no upstream of the model stores such objects
 */
export function targetOfModel(
  { shared: { router }, codec, record, snapshot }: RoutedCall,
  request: RequestBody,
  canStore: (upstream: string) => boolean,
): ResolvedTarget {
  const { targets } = router.plan(record.model, record.identity)
  checkNamedModels({ request, modelPlaces: codec.modelPlaces }, router, record.identity)
  const preferred = snapshot.config.objects?.upstreams
  const able = targets.filter(({ upstreamName }) => canStore(upstreamName))
  const chosen =
    preferred === undefined
      ? able[0]
      : preferred.flatMap((name) => able.find(({ upstreamName }) => upstreamName === name) ?? [])[0]
  if (chosen !== undefined) return chosen
  throw new GatewayError(
    'invalid_request',
    `The upstreams of the model '${record.model.slice(0, 100)}' do not store such objects. Choose a model of another upstream.`,
    { param: 'model' },
  )
}

/** Returns the body of a creation with the upstream's name of the model. */
export function withTargetModel({ model }: ObjectDialect, { text, members }: RequestBody, name: string): string {
  return model === undefined ? text : spliceJson(text, members, { [model.member]: model.prefix + name })
}

/** Returns an object as its owner sees it: with the client's name of the model. */
export function withClientModel({ model }: ObjectDialect, object: JsonObject, name: string | undefined): JsonObject {
  return model === undefined || name === undefined || object[model.member] === undefined
    ? object
    : { ...object, [model.member]: model.prefix + name }
}

/** Does the same for the bytes of a response. */
export const withClientModelIn = (
  { model }: ObjectDialect,
  response: ObjectResponse,
  name: string | undefined,
): string | Uint8Array =>
  model === undefined || name === undefined || response.value[model.member] === undefined
    ? response.body
    : withMembers(response, { [model.member]: model.prefix + name })

const noOutput = (): number => 0

/** Puts the tokens that the provider stores into the call record. They are estimated if the provider does not report them. */
export function recordStoredTokens({ record }: RoutedCall, { usageMetadata }: JsonObject): void {
  const total = isObject(usageMetadata) ? Number(usageMetadata.totalTokenCount) : Number.NaN
  if (Number.isFinite(total) && total >= 0) record.usage = { input: { total, cacheWrite: total }, output: { total: 0 } }
  else {
    record.firstEventAt = performance.now()
    record.estimateOutput = noOutput
  }
}
