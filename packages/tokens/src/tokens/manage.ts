import { GatewayError } from '@modelgate/core'
import type { TokenQuery, TokenStore } from '../contract/storage.ts'
import type { Token, TokenRecord, TokenSettings } from '../contract/token.ts'
import { toGatewayError } from '../storage/errors.ts'
import { newSecret } from './secret.ts'
import { checkSettings } from './settings.ts'
import { newRecord, publicToken, withChanges, withFormerOwner, withNewSecret, withRevocation } from './token-record.ts'

/** A token with its secret. The secret is returned this once, and stored nowhere. */
export type IssuedToken = Token & { readonly secret: string }

/** Settings to change. Null removes a setting. */
export type TokenUpdate = { readonly [F in keyof TokenSettings]?: TokenSettings[F] | null }

/** Management of tokens. All methods reject with GatewayError `unavailable` while the storage cannot be reached. */
export interface TokenManagement {
  /** Issues a token. Rejects with GatewayError `invalid_request` (with `param`) for invalid settings. */
  issue(settings?: TokenSettings): Promise<IssuedToken>
  /** Returns a token; undefined if there is none with this id. */
  get(id: string): Promise<Token | undefined>
  /** Lists tokens, the oldest first. Pass `next` as `after` for the next page; it is absent on the last one. */
  list(query?: TokenQuery): Promise<{ readonly tokens: readonly Token[]; readonly next?: string }>
  /** Changes the given settings. Rejects with GatewayError `not_found` or `invalid_request`. */
  update(id: string, update: TokenUpdate): Promise<Token>
  /** Revokes a token, which is final. It is rejected at once in this process, within `cacheMs` in others. Rejects with GatewayError `not_found`. */
  revoke(id: string): Promise<Token>
  /**
   * Adds a new secret to a token. The old ones stay valid for `graceMs` more; default 24 hours, 0: they become invalid at once. Rejects
   * with GatewayError `not_found`, `invalid_request`, or `conflict` (the token is revoked).
   */
  rotate(id: string, options?: { readonly graceMs?: number }): Promise<IssuedToken>
}

const dayMs = 86_400_000
/** Maximum grace period: for two secrets of longer validity, issue two tokens. */
const maxGraceMs = 366 * dayMs

export interface ManagementOptions {
  readonly store: TokenStore
  /** Called after a change of a token. */
  onChange(id: string): void
  /** Returns the owner whose limits and budgets count the calls of a token. Default: its `owner`. */
  readonly ownerOf?: (record: TokenRecord) => string | undefined
  now(): number
}

export function createManagement({
  store,
  onChange,
  ownerOf = ({ owner }) => owner,
  now,
}: ManagementOptions): TokenManagement {
  const change = async (id: string, modify: (record: TokenRecord) => TokenRecord): Promise<Token> => {
    try {
      const record = await store.change(checkId(id), modify)
      if (record === undefined) throw unknownToken(id)
      return publicToken(record)
    } catch (error) {
      throw toGatewayError(error)
    } finally {
      // Also after a failure: the change may have been made although its response was lost.
      onChange(id)
    }
  }
  const withStore = async <T>(operate: () => T | Promise<T>): Promise<T> => {
    try {
      return await operate()
    } catch (error) {
      throw toGatewayError(error)
    }
  }
  return {
    async issue(settings = {}) {
      const time = now()
      const changes = checkSettings(settings, time)
      const secret = newSecret()
      const record = newRecord(secret, changes, time)
      await withStore(() => store.create(record))
      return { ...publicToken(record), secret }
    },
    async get(id) {
      const record = await withStore(() => (isId(id) ? store.get(id) : undefined))
      return record === undefined ? undefined : publicToken(record)
    },
    async list(query = {}) {
      checkQuery(query)
      const { tokens, next } = await withStore(() => store.list(query))
      return { tokens: tokens.map(publicToken), ...(next === undefined ? {} : { next }) }
    },
    async update(id, update) {
      const changes = checkSettings(update, now())
      return change(id, (record) => {
        const changed = withChanges(record, changes)
        return withFormerOwner(changed, ownerOf(record) ?? null, ownerOf(changed) ?? null)
      })
    },
    async revoke(id) {
      const time = now()
      return change(id, (record) => withRevocation(record, time))
    },
    async rotate(id, { graceMs = dayMs } = {}) {
      if (typeof graceMs !== 'number' || !(graceMs >= 0 && graceMs <= maxGraceMs))
        throw new GatewayError(
          'invalid_request',
          `'graceMs' is ${String(graceMs).slice(0, 50)}: it must be a number of milliseconds from 0 to ${maxGraceMs} (366 days).`,
          { param: 'graceMs' },
        )
      const secret = newSecret()
      const time = now()
      return { ...(await change(id, (record) => withNewSecret(record, secret, Math.trunc(graceMs), time))), secret }
    },
  }
}

export const unknownToken = (id: string): GatewayError =>
  new GatewayError('not_found', `Unknown token '${id.slice(0, 100)}'.`)

/** Returns whether a text may be an id. Ids come from URL paths, and any other text must not reach a store. */
export const isId = (id: string): boolean => typeof id === 'string' && /^[\w-]{1,64}$/.test(id)

function checkId(id: string): string {
  if (isId(id)) return id
  throw unknownToken(String(id))
}

function checkQuery({ owner, after, limit = 1 }: TokenQuery): void {
  const invalidQuery = (param: string, message: string): GatewayError =>
    new GatewayError('invalid_request', message, { param })
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
    throw invalidQuery('limit', "'limit' must be a whole number from 1 to 1000.")
  if (owner !== undefined && typeof owner !== 'string') throw invalidQuery('owner', "'owner' must be a string.")
  if (after !== undefined && typeof after !== 'string')
    throw invalidQuery('after', "'after' must be the `next` of the previous page.")
}
