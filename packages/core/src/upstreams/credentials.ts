import type { ApiKey, Upstream } from './upstream.ts'

/**
 * Returns the part of an upstream that carries its credentials: a single key is among its headers, several are its `keys`.
 *
 * @param apiKey was checked by `commonProblems`
 * @param carry the headers in which a key travels
 * @param headers further headers of every call; they win over the factory's own
 */
export function credentials(
  apiKey: ApiKey | undefined,
  carry: (key: string) => Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>>,
): Pick<Upstream, 'headers' | 'keys'> {
  if (apiKey === undefined) return { headers }
  const keys = (typeof apiKey === 'string' ? [apiKey] : apiKey).map((given) => {
    const { key, weight = 1 } = typeof given === 'string' ? { key: given } : given
    return { headers: carry(key), weight }
  })
  const [only] = keys
  return only !== undefined && keys.length === 1 ? { headers: { ...only.headers, ...headers } } : { headers, keys }
}

/** `Authorization: Bearer …`, as most providers have it. */
export const bearer = (key: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${key}` })
