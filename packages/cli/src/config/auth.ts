import { createHash, timingSafeEqual } from 'node:crypto'
import type { Authenticate } from '@modelgate/core'

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/**
 * Creates an authenticator that accepts one token. It compares digests in constant time, so that response times reveal neither the
 * token's content nor its length.
 */
export function singleToken(token: string): Authenticate {
  const expected = digest(token)
  return (credential) => (timingSafeEqual(digest(credential), expected) ? { id: 'owner' } : null)
}

/**
 * Creates an authenticator that calls each function in turn until one returns an identity. `undefined` counts as null: a
 * JavaScript `auth` without a `return` must not hide issued tokens. Plugins of the wrapped functions have to be added separately.
 */
export const anyOf =
  (methods: readonly Authenticate[]): Authenticate =>
  async (credential, request) => {
    for (const authenticate of methods) {
      const identity = await authenticate(credential, request)
      if (identity !== null && identity !== undefined) return identity
    }
    return null
  }
