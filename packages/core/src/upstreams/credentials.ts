import type { ApiKey, Upstream } from './upstream.ts'

/**
 * The part of an upstream that says who calls: one key stands among its headers, several are its `keys`.
 *
 * @param carry the headers in which a key travels
 * @param headers further headers of every call; they win over the maker's own
 * @throws TypeError for a list without keys, and for a weight that is not a number above 0
 */
export function credentials(
  apiKey: ApiKey | undefined,
  carry: (key: string) => Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>>,
): Pick<Upstream, 'headers' | 'keys'> {
  if (apiKey === undefined) return { headers }
  if (typeof apiKey === 'string') return { headers: { ...carry(apiKey), ...headers } }
  if (apiKey.length === 0) throw new TypeError('apiKey is an empty list: give at least one key, or leave it out')
  const keys = apiKey.map((given) => {
    const { key, weight = 1 } = typeof given === 'string' ? { key: given } : given
    if (typeof key !== 'string' || key === '') throw new TypeError('apiKey holds an entry without a key')
    if (!(weight > 0 && Number.isFinite(weight)))
      throw new TypeError(`apiKey holds a weight of ${String(weight)}: write a number greater than 0`)
    return { headers: carry(key), weight }
  })
  const [only] = keys
  return only !== undefined && keys.length === 1 ? { headers: { ...only.headers, ...headers } } : { headers, keys }
}

/**
 * Rejects an `apiKey` that is present but undefined, as an environment variable is that is not set: each call would fail later. An absent
 * one means that the server needs no key.
 *
 * @param upstream what the message names: the provider factory, or the server
 */
export function checkApiKey(options: { readonly apiKey?: ApiKey | undefined }, upstream: string): void {
  if (!Object.hasOwn(options, 'apiKey') || (options.apiKey !== undefined && options.apiKey !== null)) return
  throw new TypeError(
    `${upstream}: apiKey is ${String(options.apiKey)}. The environment variable that it is read from is probably not set: set it, or leave apiKey out where the upstream needs no key`,
  )
}

/** `Authorization: Bearer …`, as most providers have it. */
export const bearer = (key: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${key}` })
