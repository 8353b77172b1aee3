import { type Authenticate, GatewayError, type Identity, type Plugin } from '@modelgate/core'
import { type Awaitable, isThenable } from '../base/async.ts'
import type { TokenStore } from '../contract/storage.ts'
import type { TokenRecord } from '../contract/token.ts'
import { digestOf, hasTokenForm, sameDigest } from './secret.ts'
import type { TokenCache } from './token-cache.ts'

export interface AuthenticateOptions {
  readonly cache: TokenCache
  readonly identities: Identities
  readonly plugin: Plugin
  /** Whether a gateway runs with the plugin. */
  isStarted(): boolean
  /** The error for a failure of the store. */
  toGatewayError(error: unknown): unknown
  now(): number
}

/** The function for `auth` of a gateway. Its answer is no promise where the token is remembered or the store answers at once. */
export function createAuthenticate({
  cache,
  identities,
  plugin,
  isStarted,
  toGatewayError: told,
  now,
}: AuthenticateOptions): Authenticate {
  const judge = (record: TokenRecord | undefined, digest: string): Identity | null => {
    const secret = record?.secrets.find((stored) => sameDigest(stored.digest, digest))
    if (record === undefined || secret === undefined) return null
    checkGood(record, secret.validUntil, now())
    // Limits that nobody counts would be no limits.
    if ((record.limits.length > 0 || record.budgets.length > 0) && !isStarted()) throw new Error(notStarted)
    return identities.identityFor(record)
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

/** Who calls, as the rest of the gateway knows it, and the way back to the token. */
export interface Identities {
  /** The same object for the same record. */
  identityFor(record: TokenRecord): Identity
  /**
   * The token that an identity stands for; undefined: it is not an issued token's. Throws for an identity whose `id` only looks
   * like a token's: a host whose users choose their ids would let one of them spend another's budget.
   */
  tokenFor(identity: Identity | null): Awaitable<TokenRecord | undefined>
}

const idForm = /^tok_[0-9A-Za-z]{22}$/
/** Survives a spread of the identity, whatever id the host gives it; cannot be set by JSON. */
const tokenId = Symbol('modelgate.token')

export function createIdentities(store: Pick<TokenStore, 'get'>): Identities {
  const identities = new WeakMap<TokenRecord, Identity>()
  const records = new WeakMap<Identity, TokenRecord>()
  return {
    identityFor(record) {
      const known = identities.get(record)
      if (known !== undefined) return known
      const identity = identityOf(record)
      identities.set(record, identity)
      records.set(identity, record)
      return identity
    },
    tokenFor(identity) {
      if (identity === null) return undefined
      const record = records.get(identity)
      if (record !== undefined) return record
      // A host may have copied the identity and changed its fields: the same limits apply.
      const carried = (identity as Carrier)[tokenId]
      if (typeof carried === 'string') return store.get(carried)
      if (idForm.test(identity.id)) throw new Error(reservedId)
      return undefined
    },
  }
}

const reservedId =
  "An identity's id has the form of an issued token's ('tok_' and 22 characters), but the identity does not come from " +
  'tokens.authenticate. Spread the identity that it returned ({ ...identity, yourField }), or give your own ids another form.'

type Carrier = Identity & { readonly [tokenId]?: unknown }

/** No digests, and nothing that a plugin could change for the calls of others. */
function identityOf({ id, name, owner, models, metadata }: TokenRecord): Identity {
  return Object.freeze<Carrier>({
    id,
    [tokenId]: id,
    ...(name === undefined ? {} : { name }),
    ...(owner === undefined ? {} : { owner }),
    ...(models === undefined ? {} : { models: Object.freeze([...models]) }),
    ...(metadata === undefined ? {} : { metadata: frozen(structuredClone(metadata)) }),
  })
}

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const part of Object.values(value)) frozen(part)
  return Object.freeze(value)
}
