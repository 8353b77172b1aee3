import { inBatches } from '../../base/async.ts'
import { GatewayError } from '../../base/errors.ts'
import { acceptsReference, type ReferencePolicy } from '../../config/references.ts'
import { type Reference, unknownReferenceError } from '../../formats/references/find.ts'
import type { CallerRecords } from '../responses/records.ts'

/** References that one request may make. Each is a call to the store. */
export const maxReferences = 1000

/** @throws GatewayError `invalid_request` for more references than a request may make */
export function checkReferenceCount(ids: number, param: string, most = maxReferences): void {
  if (ids > most)
    throw new GatewayError(
      'invalid_request',
      `${param}: the request refers to ${ids} stored objects or named items; at most ${most} are accepted.`,
      { param },
    )
}

/** @throws GatewayError `invalid_request` for the first reference that is neither accepted by the configuration nor the caller's own */
export async function checkOwners(
  references: readonly Reference[],
  policy: ReferencePolicy,
  records: CallerRecords,
): Promise<void> {
  const asked = new Map<string, Reference>()
  for (const reference of references) {
    const { kind, id } = reference
    if (!acceptsReference(policy, kind, id)) asked.set(`${kind}:${id}`, reference)
  }
  const all = [...asked.values()]
  checkReferenceCount(all.length, all[0]?.at ?? '')
  await inBatches(all, async ({ kind, id, at, place }) => {
    if (!(await records.hasReceived(kind, id)))
      throw unknownReferenceError(kind, id, at, '', records.isEnabled, place.code)
  })
}

/** The references that are looked up where responses are kept, not here. */
export const isResponseReference = ({ place }: Reference): boolean =>
  place.path === 'previous_response_id' || place.path === 'input[].id'
