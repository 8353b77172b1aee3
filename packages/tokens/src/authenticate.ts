import { type Authenticate, GatewayError, type Identity, type Plugin } from '@modelgate/core'
import { isThenable } from './awaitable.ts'
import type { Identities } from './identities.ts'
import { digestOf, hasTokenForm, sameDigest } from './secret.ts'
import type { TokenRecord } from './token.ts'
import type { TokenCache } from './token-cache.ts'

export interface AuthenticateOptions {
  readonly cache: TokenCache
  readonly identities: Identities
  readonly plugin: Plugin
  /** Whether a gateway runs with the plugin. */
  isStarted(): boolean
  /** The error for a failure of the store. */
  told(error: unknown): unknown
  now(): number
}

/** The function for `auth` of a gateway. Its answer is no promise where the token is remembered or the store answers at once. */
export function createAuthenticate({
  cache,
  identities,
  plugin,
  isStarted,
  told,
  now,
}: AuthenticateOptions): Authenticate {
  const judge = (record: TokenRecord | undefined, digest: string): Identity | null => {
    const secret = record?.secrets.find((stored) => sameDigest(stored.digest, digest))
    if (record === undefined || secret === undefined) return null
    checkGood(record, secret.validUntil, now())
    // Limits that nobody counts would be no limits.
    if ((record.limits.length > 0 || record.budgets.length > 0) && !isStarted()) throw new Error(notStarted)
    return identities.of(record)
  }
  const authenticate = (credential: string): Identity | null | Promise<Identity | null> => {
    checkForm(credential)
    const digest = digestOf(credential)
    try {
      const found = cache.find(digest)
      if (!isThenable(found)) return judge(found, digest)
      return found.then(
        (record) => judge(record, digest),
        (error: unknown) => {
          throw told(error)
        },
      )
    } catch (error) {
      throw told(error)
    }
  }
  return Object.assign(authenticate, { plugin })
}

const notStarted =
  'This token has limits or budgets, but no gateway counts them: give createGateway `auth: tokens.authenticate` itself, or ' +
  'add `plugins: [tokens.plugin]` where it is wrapped in another function.'

function checkForm(credential: string): void {
  if (hasTokenForm(credential)) return
  throw new GatewayError(
    'authentication',
    credential.startsWith('mg-')
      ? 'Incorrect API key provided: it is mistyped or cut, as its checksum shows. Copy the whole token once more.'
      : "Incorrect API key provided: it is mistyped or cut, or no token of this gateway. These begin with 'mg-'.",
  )
}

/** Who has the secret may know what became of it. */
function checkGood({ revokedAt, expiresAt }: TokenRecord, validUntil: number | undefined, now: number): void {
  if (revokedAt !== undefined)
    throw new GatewayError('authentication', `This token was revoked on ${dayOf(revokedAt)}: ask for another one.`)
  if (expiresAt !== undefined && expiresAt <= now)
    throw new GatewayError('authentication', `This token expired on ${dayOf(expiresAt)}: ask for another one.`)
  if (validUntil !== undefined && validUntil <= now)
    throw new GatewayError(
      'authentication',
      `This secret was replaced and is no longer good since ${dayOf(validUntil)}: use the token's newest one.`,
    )
}

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10)
