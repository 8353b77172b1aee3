import { sendWithClient } from '../../base/all-clients.ts'
import type { ResponseContent } from '../../base/content/content.ts'
import { type JsonObject, objectOf, parseJson } from '../../base/json.ts'
import type { Target } from '../check.ts'
import { bodyFor, headersFor, type TargetRequest } from '../client.ts'
import { credentialHeaders } from '../secrets/callers.ts'

/**
 * Sends a call with the official SDK of the client's format and returns what its accumulator reads; rejects with its
 * exception.
 */
export function sendWithOfficialSdk(target: Target, ask: TargetRequest): Promise<ResponseContent> {
  const body: JsonObject = {
    ...objectOf(parseJson(bodyFor(target, ask))),
    model: ask.model ?? target.model(ask.upstream),
    stream: ask.stream ?? false,
  }
  const ours = headersFor(target, ask)
  // Sends the target's headers instead of the SDK's. Two different credentials would be rejected.
  const fetch: typeof globalThis.fetch = (input, init) => {
    const headers = new Headers(init?.headers)
    for (const name of credentialHeaders) headers.delete(name)
    for (const [name, value] of Object.entries(ours)) headers.set(name, value)
    return globalThis.fetch(input, { ...init, headers })
  }
  return sendWithClient(ask.client, { origin: target.origin, fetch }, body)
}
