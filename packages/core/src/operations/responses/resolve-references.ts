import type { RequestBody } from '../../lanes/wire.ts'
import { checkOwners, isResponseReference } from '../../references/check.ts'
import { checkTopLevel, findReferences } from '../../references/find.ts'
import { noticesReferences } from '../../references/notice.ts'
import type { ReferenceScheme } from '../../references/places.ts'
import type { ReferencePolicy } from '../../references/policy.ts'
import type { Records } from '../../state/records.ts'
import { type Recalled, recall } from './recall.ts'

/**
 * Checks every reference of a request but those to stored responses and their items.
 *
 * @throws GatewayError `invalid_request` for one that is neither the caller's own nor accepted by the configuration
 */
export async function checkReferences(
  scheme: ReferenceScheme,
  request: RequestBody,
  records: Records,
  policy: ReferencePolicy,
): Promise<void> {
  const references = findReferences(scheme, request.text, request.value).filter((one) => !isResponseReference(one))
  if (references.length > 0) await checkOwners(references, policy, records)
}

/**
 * Checks every reference of a request to Responses, and puts what the gateway keeps in its place.
 *
 * @param maxChars bound of all that is put in place together, as JSON
 * @throws GatewayError as `checkReferences` and `recall` do
 */
export async function resolveReferences(
  scheme: ReferenceScheme,
  request: RequestBody,
  records: Records,
  policy: ReferencePolicy,
  maxChars: number,
): Promise<Recalled> {
  if (noticesReferences(scheme, request)) await checkReferences(scheme, request, records, policy)
  checkTopLevel(
    scheme,
    request.members.map(({ key }) => key),
  )
  return recall(request, records, policy, maxChars)
}
