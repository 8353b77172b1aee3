import { inBatches } from '../../base/async.ts'
import { GatewayError } from '../../base/errors.ts'
import { acceptsReference, type ReferencePolicy } from '../../config/references.ts'
import { findReferences, type Reference, unknownReferenceError } from '../../formats/references/find.ts'
import { pinningKinds, type ReferenceScheme } from '../../formats/references/places.ts'
import type { RequestBody } from '../../formats/request-body.ts'
import type { StoredState } from '../../lanes/lane.ts'
import type { CallerRecords } from '../responses/records.ts'

/** Maximum number of references in one request. Each is a call to the store. */
export const maxReferences = 1000

/** @throws GatewayError `invalid_request` for more references than a request may make */
export function checkReferenceCount(ids: number, param: string, max = maxReferences): void {
  if (ids > max)
    throw new GatewayError(
      'invalid_request',
      `${param}: the request refers to ${ids} stored objects or named items; at most ${max} are accepted.`,
      { param },
    )
}

/**
 * Checks all references of a request, except those to stored responses and their items.
 *
 * @throws GatewayError `invalid_request` for an id that the caller never received and the configuration does not accept
 */
export async function checkReferences(
  scheme: ReferenceScheme,
  request: RequestBody,
  records: CallerRecords,
  policy: ReferencePolicy,
): Promise<StoredState['holder']> {
  const references = findReferences(scheme, request.text, request.value).filter((one) => !isResponseReference(one))
  return references.length === 0 ? undefined : checkOwners(references, policy, records)
}

/**
 * Checks that the caller received each id in a response, or that the configuration accepts it. Returns the upstream of an object that
 * only one upstream has.
 *
 * @throws GatewayError `invalid_request` for the first id without either
 */
export async function checkOwners(
  references: readonly Reference[],
  policy: ReferencePolicy,
  records: CallerRecords,
): Promise<StoredState['holder']> {
  const unchecked = new Map<string, Reference>()
  for (const reference of references) {
    const { kind, id } = reference
    if (!acceptsReference(policy, kind, id)) unchecked.set(`${kind}:${id}`, reference)
  }
  const all = [...unchecked.values()]
  checkReferenceCount(all.length, all[0]?.at ?? '')
  await inBatches(all, async ({ kind, id, at, place }) => {
    if (!(await records.hasReceived(kind, place.idOf?.(id) ?? id)))
      throw unknownReferenceError(kind, id, at, '', records.isEnabled, place.code)
  })
  return holderOf(references, records)
}

async function holderOf(references: readonly Reference[], records: CallerRecords): Promise<StoredState['holder']> {
  for (const { kind, id, at } of references) {
    const own = pinningKinds.has(kind) ? await records.objects.find(kind, id) : undefined
    if (own === undefined) continue
    const refusal = new GatewayError(
      'invalid_request',
      `${at}: '${id.slice(0, 100)}' is stored at another upstream than that of this model.`,
      { param: at },
    )
    return { upstream: own.upstream, refusal }
  }
  return undefined
}

/** Returns whether a reference is to a stored response or its items. The response store resolves those. */
export const isResponseReference = ({ place }: Reference): boolean =>
  place.path === 'previous_response_id' || place.path === 'input[].id'
