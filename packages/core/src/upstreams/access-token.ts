import { monotonicNow } from '../base/async.ts'
import { settleWithin } from '../base/callbacks.ts'

/** Something that is good until a moment, in milliseconds since 1970; without one, nobody knows how long. */
export interface Expiring<T> {
  readonly value: T
  readonly expiresAt?: number | undefined
}

/** An access token with the moment it expires, in milliseconds since 1970. */
export interface AccessToken {
  readonly token: string
  readonly expiresAt: number
}

/**
 * Gets an access token. A bare string is asked for again with each call, so cache it or say when it expires: then it is
 * kept until a minute before. Calls that need one at the same time share one.
 */
export type TokenSource = () => string | AccessToken | Promise<string | AccessToken>

/** A call that takes this long to leave must not arrive with a token that has just expired. */
const marginMs = 60_000

/**
 * Keeps what `get` gives until shortly before it expires. Calls that come meanwhile share one `get`; one that failed is
 * forgotten, so that the next call tries anew; what is still good serves meanwhile.
 */
export function cacheUntilExpiry<T>(get: () => Promise<Expiring<T>>): () => T | Promise<T> {
  let kept: { readonly value: T; readonly expiresAt: number; readonly deadline: number } | undefined
  // By both clocks: the system's time may be set back after the token was issued, or may have been wrong when it was.
  const isGood = ({ expiresAt, deadline }: NonNullable<typeof kept>, marginMs: number): boolean =>
    Date.now() < expiresAt - marginMs && monotonicNow() < deadline - marginMs
  let pending: Promise<T> | undefined
  const renew = async (): Promise<T> => {
    try {
      const { value, expiresAt } = await settleWithin(get(), waiting)
      kept =
        expiresAt === undefined ? undefined : { value, expiresAt, deadline: monotonicNow() + expiresAt - Date.now() }
      return value
    } catch (cause) {
      // The minute before the end is there for this too.
      if (kept !== undefined && isGood(kept, 0)) return kept.value
      throw cause
    }
  }
  return () => {
    if (kept !== undefined && isGood(kept, marginMs)) return kept.value
    pending ??= renew().finally(() => {
      pending = undefined
    })
    return pending
  }
}

/** A source that never answers must not keep all later calls waiting for it. */
const waiting = { name: 'token()', ms: 30_000, fix: 'Return an access token sooner.' } as const

/** The headers of a call that an access token opens. */
export function authorizeWithToken(
  source: TokenSource,
): () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>> {
  return cacheUntilExpiry(async () => {
    const given: unknown = await source()
    const { token, expiresAt } =
      typeof given === 'object' && given !== null ? (given as Partial<AccessToken>) : { token: given }
    if (typeof token !== 'string' || token === '')
      throw new TypeError(`token() gave no token: return the token, or {token, expiresAt}`)
    if (expiresAt !== undefined && !Number.isFinite(expiresAt))
      throw new TypeError(`token() gave an expiresAt that is no number: write milliseconds since 1970`)
    return { value: { authorization: `Bearer ${token}` }, expiresAt }
  })
}
