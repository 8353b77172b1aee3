import { monotonicNow, settleWithin } from '../base/async.ts'

/** A value with its expiry in milliseconds since 1970. Without an expiry it is not cached. */
interface Expiring<T> {
  readonly value: T
  readonly expiresAt?: number | undefined
}

/** An access token with its expiry in milliseconds since 1970. */
export interface AccessToken {
  readonly token: string
  readonly expiresAt: number
}

/**
 * Returns an access token. With `expiresAt` the gateway caches it until a minute before it expires; a plain string is requested again for
 * each call, so cache it yourself. Calls that need a token at the same time share one request.
 */
export type TokenSource = () => string | AccessToken | Promise<string | AccessToken>

/** A token is renewed this long before it expires, so that it does not expire on the way to the upstream. */
const marginMs = 60_000

/**
 * Caches the value of `get` until shortly before it expires. Concurrent calls share one `get`. A failure is not cached: the next call
 * tries again, and the previous value is returned as long as it has not expired.
 */
export function cacheUntilExpiry<T>(get: () => Promise<Expiring<T>>): () => T | Promise<T> {
  let cached: { readonly value: T; readonly expiresAt: number; readonly deadline: number } | undefined
  // Checks both clocks: the system time may have been wrong when the token was issued, or may have been set back since.
  const isValid = ({ expiresAt, deadline }: NonNullable<typeof cached>, marginMs: number): boolean =>
    Date.now() < expiresAt - marginMs && monotonicNow() < deadline - marginMs
  let pending: Promise<T> | undefined
  const renew = async (): Promise<T> => {
    try {
      const { value, expiresAt } = await settleWithin(get(), timeout)
      cached =
        expiresAt === undefined ? undefined : { value, expiresAt, deadline: monotonicNow() + expiresAt - Date.now() }
      return value
    } catch (cause) {
      // Renewal starts a minute early, so the previous token may still be valid.
      if (cached !== undefined && isValid(cached, 0)) return cached.value
      throw cause
    }
  }
  return () => {
    if (cached !== undefined && isValid(cached, marginMs)) return cached.value
    pending ??= renew().finally(() => {
      pending = undefined
    })
    return pending
  }
}

/** Timeout of `get`. Without it a source that never settles would block all later calls. */
const timeout = { name: 'token()', ms: 30_000, fix: 'Return an access token sooner.' } as const

/** Returns an `authorize` function that sends the source's access token as a bearer token. */
export function authorizeWithToken(
  source: TokenSource,
): () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>> {
  return cacheUntilExpiry(async () => {
    const result: unknown = await source()
    const { token, expiresAt } =
      typeof result === 'object' && result !== null ? (result as Partial<AccessToken>) : { token: result }
    if (typeof token !== 'string' || token === '')
      throw new TypeError(`token() returned no token: return the token, or { token, expiresAt }`)
    if (expiresAt !== undefined && !Number.isFinite(expiresAt))
      throw new TypeError(`token() returned an expiresAt that is not a number: return milliseconds since 1970`)
    return { value: { authorization: `Bearer ${token}` }, expiresAt }
  })
}
