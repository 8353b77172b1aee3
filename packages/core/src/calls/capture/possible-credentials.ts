import { type Inbound, offeredToken } from '../../http/inbound.ts'

/** Headers that hold credentials: those that clients of the gateway send, and those that reach it by mistake. */
const credentialHeaders = ['authorization', 'proxy-authorization', 'x-api-key', 'x-goog-api-key', 'api-key', 'cookie']

/** Returns everything in a request, except its body, that may be a credential, by its name. */
export function possibleCredentials(inbound: Inbound): Readonly<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const name of credentialHeaders) {
    const value = inbound.header(name)
    if (value !== undefined) found[name] = value
  }
  const key = inbound.query === '' ? null : new URLSearchParams(inbound.query).get('key')
  if (key !== null) found.key = key
  const token = offeredToken(inbound)
  if (token !== undefined) found.token = token
  return found
}
