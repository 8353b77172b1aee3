import { GatewayError } from '../errors.ts'
import { inBatches } from '../state/batches.ts'
import type { Records } from '../state/records.ts'
import type { Reference } from './find.ts'
import type { ReferenceKind } from './places.ts'
import type { ReferencePolicy } from './policy.ts'

/** References that one request may make. Each is a call to the store. */
export const mostReferences = 1000

/** How a kind is named in an error message, in the singular. */
const nouns: Readonly<Record<ReferenceKind, string>> = {
  responses: 'stored response',
  conversations: 'conversation',
  prompts: 'prompt template',
  files: 'stored file',
  containers: 'container',
  vectorStores: 'vector store',
  caches: 'cached content',
  batches: 'batch',
}

/** In clients' own words where they have some. */
const codes: Partial<Record<ReferenceKind, string>> = { responses: 'previous_response_not_found' }

/** A reference that the gateway doesn't know as the caller's own. */
export const unknownReference = (
  kind: ReferenceKind,
  id: string,
  at: string,
  what = '',
  keeps = true,
  code = codes[kind],
): GatewayError => {
  const found = what === '' ? `${at}: ${nouns[kind]} with id '${id.slice(0, 100)}' not found.` : what
  return new GatewayError(
    'invalid_request',
    `${found} This gateway accepts only references to what it knows as the caller's own${
      keeps ? '' : ', and it keeps no record for this caller'
    }. Its operator can ${keeps ? '' : "set 'responses.store', or "}set 'references.${kind}' to 'pass', or to a list of ids that every caller may use.`,
    { param: at, ...(code === undefined ? {} : { code }) },
  )
}

/** Whether the configuration accepts a reference without looking at its owner. */
export const isAccepted = (policy: ReferencePolicy, kind: ReferenceKind, id: string): boolean => {
  const accepted = policy[kind]
  return accepted === 'pass' || (accepted !== 'own' && accepted.includes(id))
}

/** @throws GatewayError `invalid_request` for more references than a request may make */
export function checkNumber(ids: number, param: string, most = mostReferences): void {
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
  records: Records,
): Promise<void> {
  const asked = new Map<string, Reference>()
  for (const reference of references) {
    const { kind, id } = reference
    if (!isAccepted(policy, kind, id)) asked.set(`${kind}:${id}`, reference)
  }
  const all = [...asked.values()]
  checkNumber(all.length, all[0]?.at ?? '')
  await inBatches(all, async ({ kind, id, at, place }) => {
    if (!(await records.owns(kind, id))) throw unknownReference(kind, id, at, '', records.keeps, place.code)
  })
}

/** The references that are looked up where responses are kept, not here. */
export const isResponseReference = ({ place }: Reference): boolean =>
  place.path === 'previous_response_id' || place.path === 'input[].id'
