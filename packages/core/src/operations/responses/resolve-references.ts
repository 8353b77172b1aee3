import type { ReferencePolicy } from '../../config/references.ts'
import { checkTopLevel, findReferences } from '../../formats/references/find.ts'
import type { ReferenceScheme } from '../../formats/references/places.ts'
import type { RequestBody } from '../../formats/request-body.ts'
import { checkOwners, isResponseReference } from '../references/check.ts'
import { noticesReferences } from '../references/notice.ts'
import { type Recalled, recall } from './recall.ts'
import type { Records } from './records.ts'

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
