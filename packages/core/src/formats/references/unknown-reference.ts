import { GatewayError } from '../../base/errors.ts'
import type { ReferenceKind } from './places.ts'

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
