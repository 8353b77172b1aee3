import { GatewayError } from '@modelgate/core'
import type { TokenQuery, TokenStore } from '../contract/storage.ts'
import type { Token, TokenRecord, TokenSettings } from '../contract/token.ts'
import { toGatewayError } from '../storage/errors.ts'
import { newSecret } from './secret.ts'
import { checkSettings } from './settings.ts'
import { newRecord, publicToken, withChanges, withNewSecret, withRevocation } from './token-record.ts'

/** A token with its secret, which is told this once and kept nowhere. */
export type IssuedToken = Token & { readonly secret: string }

/** Settings to change; null takes one out. */
export type TokenUpdate = { readonly [F in keyof TokenSettings]?: TokenSettings[F] | null }

/** The life of tokens. Everything rejects with a GatewayError `unavailable` while the store cannot be reached. */
export interface TokenManagement {
  /** Makes a token. GatewayError `invalid_request`, with `param`, for settings that cannot be. */
  issue(settings?: TokenSettings): Promise<IssuedToken>
  /** undefined: there is no such token. */
  get(id: string): Promise<Token | undefined>
  /** The oldest first; `next` is for `after`, and there while there are more. */
  list(query?: TokenQuery): Promise<{ readonly tokens: readonly Token[]; readonly next?: string }>
  /** Changes what is given and leaves the rest. GatewayErrors `not_found`, `invalid_request`. */
  update(id: string, update: TokenUpdate): Promise<Token>
  /** Ends a token for good: it is refused at once here, within `cacheMs` in other processes. GatewayError `not_found`. */
  revoke(id: string): Promise<Token>
  /**
   * Gives a token another secret. The old ones are good for `graceMs` more; default 24 hours, 0: not at all.
   * GatewayErrors `not_found`, `invalid_request`, `conflict` (it is revoked).
   */
  rotate(id: string, options?: { readonly graceMs?: number }): Promise<IssuedToken>
}

const dayMs = 86_400_000
/** A secret that is good for a year after its end is better called by its name: two tokens. */
const longestGraceMs = 366 * dayMs

export interface ManagementOptions {
  readonly store: TokenStore
  /** Called when a token was changed. */
  changed(id: string): void
  now(): number
}

export function createManagement({ store, changed, now }: ManagementOptions): TokenManagement {
  const change = async (id: string, how: (record: TokenRecord) => TokenRecord): Promise<Token> => {
    try {
      const record = await store.change(checkId(id), how)
      if (record === undefined) throw unknownToken(id)
      return publicToken(record)
    } catch (error) {
      throw toGatewayError(error)
    } finally {
      // Also after a failure: the change may have arrived where its answer did not.
      changed(id)
    }
  }
  const reading = async <T>(read: () => T | Promise<T>): Promise<T> => {
    try {
      return await read()
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
      await reading(() => store.create(record))
      return { ...publicToken(record), secret }
    },
    async get(id) {
      const record = await reading(() => (isId(id) ? store.get(id) : undefined))
      return record === undefined ? undefined : publicToken(record)
    },
    async list(query = {}) {
      checkQuery(query)
      const { tokens, next } = await reading(() => store.list(query))
      return { tokens: tokens.map(publicToken), ...(next === undefined ? {} : { next }) }
    },
    async update(id, update) {
      const changes = checkSettings(update, now())
      return change(id, (record) => withChanges(record, changes))
    },
    async revoke(id) {
      const time = now()
      return change(id, (record) => withRevocation(record, time))
    },
    async rotate(id, { graceMs = dayMs } = {}) {
      if (typeof graceMs !== 'number' || !(graceMs >= 0 && graceMs <= longestGraceMs))
        throw new GatewayError(
          'invalid_request',
          `'graceMs' is ${String(graceMs).slice(0, 50)}: it is a number of milliseconds from 0 to ${longestGraceMs} (366 days).`,
          { param: 'graceMs' },
        )
      const secret = newSecret()
      const time = now()
      return { ...(await change(id, (record) => withNewSecret(record, secret, Math.trunc(graceMs), time))), secret }
    },
  }
}

export const unknownToken = (id: string): GatewayError =>
  new GatewayError('not_found', `There is no token '${id.slice(0, 100)}'.`)

/** Ids come from paths: what is none must not reach the store, whatever it would make of it. */
export const isId = (id: string): boolean => typeof id === 'string' && /^[\w-]{1,64}$/.test(id)

function checkId(id: string): string {
  if (isId(id)) return id
  throw unknownToken(String(id))
}

function checkQuery({ owner, after, limit = 1 }: TokenQuery): void {
  const wrong = (param: string, message: string): GatewayError =>
    new GatewayError('invalid_request', message, { param })
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
    throw wrong('limit', "'limit' is a whole number from 1 to 1000.")
  if (owner !== undefined && typeof owner !== 'string') throw wrong('owner', "'owner' is a text.")
  if (after !== undefined && typeof after !== 'string')
    throw wrong('after', "'after' is the `next` of the page before.")
}
