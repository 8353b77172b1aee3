import type { Admission, AdmitCall, Authenticate, FinishEvent, Logger, Plugin } from '@modelgate/core'
import { type AdminOptions, createRoutes } from './admin-routes.ts'
import { type Awaitable, isThenable } from './base/async.ts'
import { safeLogger } from './base/safe-logger.ts'
import { steadyClock } from './base/steady-clock.ts'
import type { Storage } from './contract/storage.ts'
import { type LedgerSink, recordOf } from './ledger/ledger-record.ts'
import { createAdmission } from './limits/admission.ts'
import { readUsage, type TokenUsage, type UsageQuery } from './limits/usage.ts'
import type { PriceTable } from './prices/price-table.ts'
import { costOfCall, createPrices, guardedPrices, type Prices } from './prices/prices.ts'
import { createErrorMapper } from './storage/errors.ts'
import { folderStorage } from './storage/folder/folder-storage.ts'
import { createAuthenticate, createIdentities } from './tokens/authenticate.ts'
import { createManagement, type TokenManagement } from './tokens/manage.ts'
import { createTokenCache } from './tokens/token-cache.ts'

/** What `createTokens` takes. */
export interface TokensOptions {
  /** Where tokens and counts are kept. Default: `folderStorage()`. */
  readonly storage?: Storage
  /** What models cost: needed for budgets in money. Default: unknown. */
  readonly prices?: Prices | PriceTable
  /** Where a record of each call goes. Default: nowhere; the sums of `usage` are kept all the same. */
  readonly ledger?: LedgerSink
  /**
   * Milliseconds for which an answer of the store is good: so long a token that was revoked in another process may still be
   * let in. Default 500; 0 to 1,000.
   */
  readonly cacheMs?: number
  /**
   * Milliseconds for which the last known answer about a token counts while the store is away. Default 0: authentication is
   * refused (503).
   */
  readonly staleMs?: number
  /**
   * How much of a call's output is reserved before it, at most, in tokens; less where the client allows less. What a call takes
   * beyond is counted when it is over. Default 4,096.
   */
  readonly reserve?: { readonly outputTokens?: number }
  /**
   * What becomes of a call whose price is unknown, where its token has a budget in money: `'refuse'` (403, the default), or
   * `'allow'`: it costs the budget nothing but what is known of its cost, and is let in while the budget is not spent.
   */
  readonly unpriced?: 'refuse' | 'allow'
  /** Default: warnings and errors go to `console`. `false`: nothing. */
  readonly logger?: Logger | false
  /** The time, for tests: milliseconds since 1970. Default: the time of day for dates, a clock that is never set for durations. */
  now?(): number
}

/** What `createTokens` returns: a frozen object of bound functions. */
export interface Tokens extends TokenManagement {
  /** For `auth` of createGateway; brings `plugin` along. */
  readonly authenticate: Authenticate
  /** Counts, limits, prices and records calls. To be named in `plugins` only where `authenticate` is wrapped in another function. */
  readonly plugin: Plugin
  /** What a token has used, and has left. GatewayErrors `not_found`, `invalid_request`. */
  usage(id: string, query?: UsageQuery): Promise<TokenUsage>
  /** JSON endpoints to manage tokens, as a plugin. A TypeError without `authorize`. */
  routes(options: AdminOptions): Plugin
  /** Writes what is not written yet, and lets go of files and timers: after `gateway.close()`. */
  close(): Promise<void>
  /** The same as `close()`, for `await using`: declare the tokens before the gateway, so that the gateway closes first. */
  [Symbol.asyncDispose](): Promise<void>
}

const longestCacheMs = 1000

/**
 * Makes the tokens of a platform: issues them, checks them, counts what they take, and refuses what is beyond their limits.
 * Throws a TypeError for options that cannot be.
 *
 * @example
 * const tokens = createTokens({ storage: folderStorage('data') })
 * const gateway = createGateway({ auth: tokens.authenticate, upstreams, models })
 * const { secret } = await tokens.issue({ owner: 'ada', budget: { tokens: 1_000_000, period: 'month' } })
 */
export function createTokens(options: TokensOptions = {}): Tokens {
  const { ledger, reserve, unpriced, cacheMs = 500, staleMs = 0, now = Date.now } = options
  const steadyNow = options.now ?? steadyClock()
  checkTime('cacheMs', cacheMs, longestCacheMs)
  checkTime('staleMs', staleMs, Number.MAX_SAFE_INTEGER)
  checkReserving(reserve?.outputTokens, unpriced)
  const logger = safeLogger(options.logger)
  const prices = options.prices === undefined ? undefined : guardedPrices(pricesOf(options.prices), logger)
  const storage = options.storage ?? folderStorage(undefined, { logger })
  const cache = createTokenCache({ store: storage.tokens, cacheMs, staleMs, now: steadyNow })
  const identities = createIdentities(storage.tokens)
  const told = createErrorMapper(logger)
  const admission = createAdmission({
    meters: storage.meters,
    logger,
    toGatewayError: told,
    now,
    ...(prices === undefined ? {} : { prices }),
    ...(reserve === undefined ? {} : { reserve }),
    ...(unpriced === undefined ? {} : { unpriced }),
  })
  let started = false

  const admit = (call: AdmitCall): Awaitable<Admission | undefined> => {
    try {
      const record = identities.tokenFor(call.identity)
      if (!isThenable(record)) return record === undefined ? undefined : admission.admit(record, call)
      return Promise.resolve(record).then(
        (found) => (found === undefined ? undefined : admission.admit(found, call)),
        (error: unknown) => {
          throw told(error)
        },
      )
    } catch (error) {
      throw told(error)
    }
  }
  const plugin: Plugin = Object.freeze({
    name: 'tokens',
    onStart() {
      storage.check?.()
      started = true
    },
    admit,
    ...(prices === undefined ? {} : { costOf: (event: FinishEvent) => costOfCall(prices, event) }),
    ...(ledger === undefined ? {} : { onFinish: (event: FinishEvent) => ledger.append(recordOf(event)) }),
  })
  const management = createManagement({ store: storage.tokens, changed: cache.forget, now })
  const usage: Tokens['usage'] = (id, query) => readUsage({ storage, prices, now }, id, query)
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => {
    closing ??= closeAll(admission.close, () => ledger?.close?.() ?? ledger?.flush?.(), storage.close)
    return closing
  }
  return Object.freeze({
    ...management,
    authenticate: createAuthenticate({
      cache,
      identities,
      plugin,
      isStarted: () => started,
      toGatewayError: told,
      now,
    }),
    plugin,
    usage,
    routes: (admin: AdminOptions) => createRoutes({ ...management, usage }, admin),
    close,
    [Symbol.asyncDispose]: close,
  })
}

/** What settles calls before what keeps them; all of it, also where one fails. */
async function closeAll(...ends: readonly (() => void | Promise<void>)[]): Promise<void> {
  const failures: unknown[] = []
  for (const end of ends)
    try {
      await end()
    } catch (error) {
      failures.push(error)
    }
  if (failures.length > 0) throw failures[0]
}

const pricesOf = (prices: Prices | PriceTable): Prices => ('costOf' in prices ? prices : createPrices(prices))

function checkReserving(outputTokens: unknown, unpriced: unknown): void {
  if (outputTokens !== undefined && !(Number.isSafeInteger(outputTokens) && Number(outputTokens) >= 0))
    throw new TypeError(`createTokens: reserve.outputTokens is ${outputTokens}; give it a whole number of tokens`)
  if (unpriced !== undefined && unpriced !== 'refuse' && unpriced !== 'allow')
    throw new TypeError(`createTokens: unpriced is ${unpriced}; give it 'refuse' or 'allow'`)
}

function checkTime(name: string, ms: number, most: number): void {
  if (typeof ms === 'number' && ms >= 0 && ms <= most) return
  throw new TypeError(`createTokens: ${name} is ${ms}; give it milliseconds from 0 to ${most}`)
}
