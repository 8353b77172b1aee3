import { isAccepted, type ReferencePolicy } from '../config/references.ts'
import type { ModelRequest, Part } from '../formats/ir.ts'
import { unknownReference } from '../formats/references/find.ts'
import { isStoredUri } from '../formats/references/places.ts'

/**
 * Checks the addresses of media in a decoded request. One that a client writes as an address may become a reference to a stored file
 * in the upstream's format: `gs://…` in Gemini's, `s3://…` in Bedrock's.
 *
 * @throws GatewayError `invalid_request` for a stored file that the configuration doesn't accept
 */
export function checkMedia({ turns }: ModelRequest, policy: ReferencePolicy): void {
  if (policy.files === 'pass') return
  for (const { parts } of turns) checkParts(parts, policy)
}

function checkParts(parts: readonly Part[], policy: ReferencePolicy): void {
  for (const part of parts)
    if (part.type === 'tool-result') checkParts(part.parts, policy)
    else if (part.type === 'media' && part.source.type === 'url') {
      const { url } = part.source
      if (isStoredUri(url) && !isAccepted(policy, 'files', url)) throw unknownReference('files', url, part.at ?? '')
    }
}
