/** Token of the caller, or a function that returns it for each request. Undefined sends no credential. */
type ApiKey = string | (() => string | undefined | Promise<string | undefined>) | undefined

type Fetch = (input: Request | URL | string, init?: RequestInit) => Promise<Response>

/**
 * API key for the SDK's providers, which never leaves this process. Without one, they would read the provider keys of the environment and send
 * them to the gateway. It is random, because a call whose own credential equals it would get the app's token.
 */
export const placeholderKey: string = crypto.randomUUID()

/** Headers in which the SDK's providers send an API key. */
const credentialHeaders = ['authorization', 'x-api-key', 'x-goog-api-key']

/**
 * Wraps a fetch function: removes the placeholder from the request, and adds `Authorization: Bearer` with the caller's token unless the headers
 * of the call contain a credential.
 */
export function withCredential(fetch: Fetch, apiKey: ApiKey): Fetch {
  return async (input, init) => {
    const headers = new Headers(init?.headers)
    for (const name of credentialHeaders)
      if ([placeholderKey, `Bearer ${placeholderKey}`].includes(headers.get(name) ?? '')) headers.delete(name)
    if (!credentialHeaders.some((name) => headers.has(name))) {
      const token = typeof apiKey === 'function' ? await apiKey() : apiKey
      if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
    }
    return await fetch(input, { ...init, headers })
  }
}
