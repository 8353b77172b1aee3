import { type Authenticate, GatewayError, type Identity, type Plugin } from '@modelgate/core'
import { type Awaitable, isThenable } from '../base/async.ts'
import type { TokenStore } from '../contract/storage.ts'
import type { Owner, TokenRecord } from '../contract/token.ts'
import type { RecordCache } from './record-cache.ts'
import { digestOf, hasTokenForm, sameDigest } from './secret.ts'

export interface AuthenticateOptions {
  readonly cache: RecordCache<TokenRecord>
  readonly identities: Identities
  readonly plugin: Plugin
  /** Returns the limits and budgets of the owner of a token. Default: none. */
  readonly findOwner?: (record: TokenRecord) => Awaitable<Owner | undefined>
  /** Returns whether a gateway has started with the plugin. */
  isStarted(): boolean
  /** Maps failures of the store. */
  toGatewayError(error: unknown): unknown
  now(): number
}

/** Creates the function for `auth` of a gateway. It returns a promise only if the token is not cached and the store returns a promise. */
export function createAuthenticate({
  cache,
  identities,
  plugin,
  findOwner = () => undefined,
  isStarted,
  toGatewayError,
  now,
}: AuthenticateOptions): Authenticate {
  const identify = (record: TokenRecord | undefined, digest: string): Awaitable<Identity | null> => {
    const secret = record?.secrets.find((stored) => sameDigest(stored.digest, digest))
    if (record === undefined || secret === undefined) return null
    checkValid(record, secret.validUntil, now())
    // Without the plugin nothing would count the limits.
    if (!isStarted()) {
      if (record.limits.length > 0 || record.budgets.length > 0) throw new Error(notStarted)
      const owner = findOwner(record)
      if (isThenable(owner)) return owner.then((found) => identityWithout(found, record))
      return identityWithout(owner, record)
    }
    return identities.identityFor(record)
  }
  const identityWithout = (owner: Owner | undefined, record: TokenRecord): Identity => {
    if (owner !== undefined) throw new Error(notStarted)
    return identities.identityFor(record)
  }
  const authenticate = (credential: string): Identity | null | Promise<Identity | null> => {
    checkForm(credential)
    const digest = digestOf(credential)
    try {
      const found = cache.find(digest)
      if (!isThenable(found)) return identify(found, digest)
      return found.then(
        (record) => identify(record, digest),
        (error: unknown) => {
          throw toGatewayError(error)
        },
      )
    } catch (error) {
      throw toGatewayError(error)
    }
  }
  return Object.assign(authenticate, { plugin })
}

const notStarted =
  'This token or its owner has limits or budgets, but no gateway counts its calls. Pass `auth: tokens.authenticate` itself to createGateway, or ' +
  'add `plugins: [tokens.plugin]` if you wrap it in another function.'

function checkForm(credential: string): void {
  if (hasTokenForm(credential)) return
  throw new GatewayError(
    'authentication',
    credential.startsWith('mg-')
      ? 'Incorrect API key provided: it is mistyped or incomplete (wrong checksum). Copy the whole token again.'
      : "Incorrect API key provided: it is mistyped or incomplete, or not a token of this gateway. Tokens start with 'mg-'.",
  )
}

/** Rejects revoked and expired tokens with the reason, which the owner of the secret may know. */
function checkValid({ revokedAt, expiresAt }: TokenRecord, validUntil: number | undefined, now: number): void {
  if (revokedAt !== undefined)
    throw new GatewayError('authentication', `This token was revoked on ${dayOf(revokedAt)}. Request a new one.`)
  if (expiresAt !== undefined && expiresAt <= now)
    throw new GatewayError('authentication', `This token expired on ${dayOf(expiresAt)}. Request a new one.`)
  if (validUntil !== undefined && validUntil <= now)
    throw new GatewayError(
      'authentication',
      `This secret was replaced and has been invalid since ${dayOf(validUntil)}. Use the newest secret of the token.`,
    )
}

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10)

/** Maps tokens to the identities that the gateway works with, and back. */
export interface Identities {
  /** Returns the identity of a token: the same object for the same record. */
  identityFor(record: TokenRecord): Identity
  /**
   * Returns the token of an identity; undefined if the identity is not of an issued token. Throws if only its `id` has the form of a
   * token's: if users of the host can choose their ids, one of them could spend another's budget.
   */
  tokenFor(identity: Identity | null): Awaitable<TokenRecord | undefined>
}

const idForm = /^tok_[0-9A-Za-z]{22}$/
/** Holds the token's id. A symbol survives a spread of the identity with another `id`, and cannot come from JSON. */
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
      // The host may have copied the identity and changed its fields: the same limits apply.
      const copiedId = (identity as TokenIdentity)[tokenId]
      if (typeof copiedId === 'string') return store.get(copiedId)
      if (idForm.test(identity.id)) throw new Error(reservedId)
      return undefined
    },
  }
}

const reservedId =
  "An identity's id has the form of an issued token's ('tok_' and 22 characters), but the identity was not created by " +
  'tokens.authenticate. Spread the identity that it returned ({ ...identity, yourField }), or use another form for your own ids.'

type TokenIdentity = Identity & { readonly [tokenId]?: unknown }

/** Frozen, without digests: a plugin must not be able to change it for other calls. */
function identityOf({ id, name, owner, models, metadata }: TokenRecord): Identity {
  return Object.freeze<TokenIdentity>({
    id,
    [tokenId]: id,
    ...(name === undefined ? {} : { name }),
    ...(owner === undefined ? {} : { owner }),
    ...(models === undefined ? {} : { models: Object.freeze([...models]) }),
    ...(metadata === undefined ? {} : { metadata: deepFreeze(structuredClone(metadata)) }),
  })
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const part of Object.values(value)) deepFreeze(part)
  return Object.freeze(value)
}
