import type { Identity } from '@modelgate/core'
import type { Awaitable } from './awaitable.ts'
import type { TokenStore } from './storage/storage.ts'
import type { TokenRecord } from './token.ts'

/** Who calls, as the rest of the gateway knows it, and the way back to the token. */
export interface Identities {
  /** The same object for the same record. */
  of(record: TokenRecord): Identity
  /**
   * The token that an identity stands for; undefined: it is not an issued token's. Throws for an identity whose `id` only looks
   * like a token's: a host whose users choose their ids would let one of them spend another's budget.
   */
  recordOf(identity: Identity | null): Awaitable<TokenRecord | undefined>
}

const idForm = /^tok_[0-9A-Za-z]{22}$/
/** Survives a spread of the identity, whatever id the host gives it; cannot be set by JSON. */
const tokenId = Symbol('modelgate.token')

export function createIdentities(store: Pick<TokenStore, 'get'>): Identities {
  const identities = new WeakMap<TokenRecord, Identity>()
  const records = new WeakMap<Identity, TokenRecord>()
  return {
    of(record) {
      const known = identities.get(record)
      if (known !== undefined) return known
      const identity = identityOf(record)
      identities.set(record, identity)
      records.set(identity, record)
      return identity
    },
    recordOf(identity) {
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
