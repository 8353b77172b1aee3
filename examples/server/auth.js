import { createHash, timingSafeEqual } from 'node:crypto'

/** @param {string} text */
const digest = (text) => createHash('sha256').update(text).digest()

/**
 * Lets one token in. Digests are compared, in constant time: neither its content nor its length can be guessed from
 * how long an answer takes.
 * @param {string} token @returns {import('@modelgate/core').Authenticate}
 */
export function oneToken(token) {
  const wanted = digest(token)
  return (credential) => (timingSafeEqual(digest(credential), wanted) ? { id: 'owner' } : null)
}
