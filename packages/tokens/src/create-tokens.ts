import {
  type Admission,
  type AdmitCall,
  type Authenticate,
  type FinishEvent,
  type Identity,
  type Logger,
  type Plugin,
  toLogger,
} from '@modelgate/core'
import { type AdminOptions, createAdminRoutes } from './admin-routes.ts'
import { type Awaitable, isThenable } from './base/async.ts'
import { steadyClock } from './base/steady-clock.ts'
import type { Home } from './contract/meter-store.ts'
import type { Storage } from './contract/storage.ts'
import type { OwnerSettings, TokenRecord } from './contract/token.ts'
import { type LedgerSink, recordOf } from './ledger/ledger-record.ts'
import { createAdmission } from './limits/admission.ts'
import { checkThresholds, createOwners, type OwnerManagement } from './limits/owners.ts'
import { createThresholdReport, type OnThreshold } from './limits/threshold-report.ts'
import { moneyBudgets, readOwnerUsage, readUsage, type TokenUsage, type UsageQuery } from './limits/usage.ts'
import type { PriceTable } from './prices/price-table.ts'
import { costOfCall, createPrices, guardedPrices, type Prices } from './prices/prices.ts'
import { createUnpricedWarning } from './prices/warn-unpriced.ts'
import { createReports, type ReportSignal, type UsageReport, type UsageReportQuery } from './report/usage-report.ts'
import { createErrorMapper } from './storage/errors.ts'
import { folderStorage } from './storage/folder/folder-storage.ts'
import { createAuthenticate, createIdentities } from './tokens/authenticate.ts'
import { createManagement, type TokenManagement } from './tokens/manage.ts'
import { createRecordCache } from './tokens/record-cache.ts'

/** Options of `createTokens`. */
export interface TokensOptions {
  /** Storage of tokens and counts. Default: `folderStorage()`. */
  readonly storage?: Storage
  /** Prices of models, which budgets in money need. Default: no price is known. */
  readonly prices?: Prices | PriceTable
  /** Receives a record of each call. Default: none. The sums of `usage` do not need it. `report` reads it if it has `read`. */
  readonly ledger?: LedgerSink
  /**
   * Milliseconds for which a token is cached. A token that another process revokes may be accepted for that long. Default: 500;
   * 0 to 1,000.
   */
  readonly cacheMs?: number
  /**
   * Milliseconds for which the last known state of a token is used while the storage is unavailable. Default: 0, which rejects such calls
   * with 503.
   */
  readonly staleMs?: number
  /**
   * Maximum number of output tokens that are reserved for a call; fewer if the client allows fewer. Further use is counted at the end of
   * the call. Default: 4,096.
   */
  readonly reserve?: { readonly outputTokens?: number }
  /**
   * Handling of a call with an unknown price if its token has a budget in money. `'refuse'` (the default) rejects it with 403.
   * `'allow'` admits it while the budget is not spent, and counts only the known part of its cost.
   */
  readonly unpriced?: 'refuse' | 'allow'
  /**
   * Returns the owner whose limits and budgets count the calls of an identity; undefined: none. Called for identities of tokens and of your
   * own login. Must return the same text for the same token. Default: the identity's `owner`.
   */
  readonly ownerKey?: (identity: Identity) => string | undefined
  /** Limits and budgets of each owner without its own settings. Default: none. */
  readonly ownerDefaults?: OwnerSettings
  /**
   * Called when the use of a budget reaches a threshold, at most once for each budget, period and threshold: of all processes, one calls it.
   * It is called after the call has been settled. A crash may lose a call of it.
   */
  readonly onThreshold?: OnThreshold
  /** Parts of each budget at which `onThreshold` is called. Default: `[0.5, 0.8, 1]`. */
  readonly thresholds?: readonly number[]
  /** Receives warnings and errors. Default: `console`. `false` logs nothing. */
  readonly logger?: Logger | false
  /** Returns milliseconds since 1970, for tests. Default: the time of day for dates, and a clock that is never set for durations. */
  now?(): number
}

/** Tokens of a platform. A frozen object of bound functions. */
export interface Tokens extends TokenManagement {
  /** For `auth` of createGateway. Brings `plugin` with it. */
  readonly authenticate: Authenticate
  /** Counts, limits, prices and records calls. Add it to `plugins` only if you wrap `authenticate` in another function. */
  readonly plugin: Plugin
  /** Returns what a token has used and what remains. Rejects with GatewayError `not_found` or `invalid_request`. */
  usage(id: string, query?: UsageQuery): Promise<TokenUsage>
  /**
   * Returns the usage of all tokens by token, model and day: from the ledger if it can be read, else from the counters of the storage. At most
   * two reports are read at the same time. Rejects with GatewayError `invalid_request` (with `param`), `unavailable`, or `cancelled` if
   * `signal` is aborted.
   */
  report(query?: UsageReportQuery, options?: { readonly signal?: ReportSignal }): Promise<UsageReport>
  /** Limits and budgets that all tokens and identities of an owner share. */
  readonly owners: OwnerManagement
  /** Creates a plugin with JSON endpoints to manage tokens. Throws TypeError without `authorize`. */
  routes(options: AdminOptions): Plugin
  /** Writes all unwritten data, and releases files and timers. Call it after `gateway.close()`. */
  close(): Promise<void>
  /** The same as `close()`, for `await using`: declare the tokens before the gateway, so that the gateway closes first. */
  [Symbol.asyncDispose](): Promise<void>
}

const maxCacheMs = 1000
const defaultThresholds = [0.5, 0.8, 1]

/**
 * Creates the tokens of a platform: issues and authenticates them, counts their use, and rejects calls beyond their limits.
 *
 * @throws TypeError for invalid options.
 *
 * @example
 * const tokens = createTokens({ storage: folderStorage('data') })
 * const gateway = createGateway({ auth: tokens.authenticate, upstreams, models })
 * const { secret } = await tokens.issue({ owner: 'ada', budget: { tokens: 1_000_000, period: 'month' } })
 */
export function createTokens(options: TokensOptions = {}): Tokens {
  const { ledger, reserve, unpriced, cacheMs = 500, staleMs = 0, now = Date.now } = options
  const steadyNow = options.now ?? steadyClock()
  checkTime('cacheMs', cacheMs, maxCacheMs)
  checkTime('staleMs', staleMs, Number.MAX_SAFE_INTEGER)
  checkReservation(reserve?.outputTokens, unpriced)
  const logger = toLogger(options.logger)
  const prices = options.prices === undefined ? undefined : guardedPrices(pricesOf(options.prices), logger)
  const storage = options.storage ?? folderStorage(undefined, { logger })
  const cache = createRecordCache<TokenRecord>({
    lookUp: (digest) => storage.tokens.findByDigest(digest),
    cacheMs,
    staleMs,
    now: steadyNow,
  })
  const identities = createIdentities(storage.tokens)
  const toGatewayError = createErrorMapper(logger)
  const thresholds = startThresholds(options, storage, logger)
  const ownerOf = ownerReader(options.ownerKey)
  const ownerOfToken = (record: TokenRecord): string | undefined => ownerOf(identities.identityFor(record))
  const homeOf = createHomes(ownerOfToken)
  const owners = createOwners({
    store: storage.owners,
    defaults: options.ownerDefaults,
    cacheMs,
    staleMs,
    readUsage: (owner, query) => readOwnerUsage({ storage, prices, homeOf, now }, owner, query),
    now,
    steadyNow,
  })
  const admission = createAdmission({
    meters: storage.meters,
    logger,
    toGatewayError,
    now,
    ...(prices === undefined ? {} : { prices }),
    ...(reserve === undefined ? {} : { reserve }),
    ...(unpriced === undefined ? {} : { unpriced }),
    ...(thresholds === undefined ? {} : { thresholds }),
  })
  let started = false

  const admit = (call: AdmitCall): Awaitable<Admission | undefined> => {
    try {
      const record = identities.tokenFor(call.identity)
      if (!isThenable(record)) return admitFor(record, call)
      return Promise.resolve(record)
        .then((found) => admitFor(found, call))
        .catch(rethrow)
    } catch (error) {
      throw toGatewayError(error)
    }
  }
  /** Admits a call of a token, of an owner, or of both. */
  const admitFor = (token: TokenRecord | undefined, call: AdmitCall): Awaitable<Admission | undefined> => {
    const owner = call.identity === null ? undefined : ownerOf(call.identity)
    const home = token === undefined ? undefined : homeOf(token)
    if (owner === undefined) return token === undefined ? undefined : admission.admit({ token, home }, call)
    const found = owners.find(owner)
    if (isThenable(found))
      return found
        .then((settings) => {
          if (token === undefined && settings === undefined) return undefined
          return admission.admit({ token, home, owner: settings }, call)
        })
        .catch(rethrow)
    return token === undefined && found === undefined ? undefined : admission.admit({ token, home, owner: found }, call)
  }
  const budgetsOf =
    ({ currency }: Prices): NonNullable<Plugin['budgetsOf']> =>
    async (identity) => {
      if (identity === null) return undefined
      try {
        const token = await identities.tokenFor(identity)
        const owner = ownerOf(identity)
        return await moneyBudgets(storage.meters, currency, {
          token,
          home: token === undefined ? undefined : homeOf(token),
          owner: owner === undefined ? undefined : await owners.find(owner),
        })
      } catch (error) {
        throw toGatewayError(error)
      }
    }
  const rethrow = (error: unknown): never => {
    throw toGatewayError(error)
  }
  const plugin: Plugin = Object.freeze({
    name: 'tokens',
    onStart() {
      storage.check?.()
      started = true
    },
    admit,
    resume: admission.resume,
    ...(prices === undefined
      ? {}
      : {
          budgetsOf: budgetsOf(prices),
          costOf: costWithWarning(prices, logger),
          priceOf: displayedPrice(prices),
        }),
    ...(ledger === undefined ? {} : { onFinish: (event: FinishEvent) => ledger.append(recordOf(event)) }),
  })
  const management = createManagement({
    store: storage.tokens,
    onChange: (id) => cache.forget((record) => record.id === id),
    ownerOf: ownerOfToken,
    now,
  })
  const usage: Tokens['usage'] = (id, query) => readUsage({ storage, prices, homeOf, now }, id, query)
  const report = createReports({ storage, ledger, prices, homeOf, now })
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
      findOwner: (record) => {
        const owner = ownerOfToken(record)
        return owner === undefined ? undefined : owners.find(owner)
      },
      isStarted: () => started,
      toGatewayError,
      now,
    }),
    plugin,
    usage,
    report,
    owners: owners.management,
    routes: (admin: AdminOptions) => createAdminRoutes({ ...management, usage, owners: owners.management }, admin),
    close,
    [Symbol.asyncDispose]: close,
  })
}

/** Returns the function that reads the owner of an identity. */
function ownerReader(ownerKey: TokensOptions['ownerKey']): (identity: Identity) => string | undefined {
  if (ownerKey !== undefined && typeof ownerKey !== 'function')
    throw new TypeError('createTokens: ownerKey must be a function such as (identity) => identity.owner')
  const read = ownerKey ?? (({ owner }: Identity) => owner)
  return (identity) => {
    const owner: unknown = read(identity)
    if (owner === undefined || owner === null || owner === '') return undefined
    if (typeof owner === 'string') return owner
    // A promise: its rejection must not end the process.
    if (isThenable(owner)) owner.then(undefined, () => undefined)
    // Without its owner, a call would be free of the owner's limits.
    throw new TypeError(
      `createTokens: the owner of an identity is a value of type ${typeof owner}; it must be a string`,
    )
  }
}

/** Creates the function that returns where the counters of a token are: the same object for the same record. */
function createHomes(ownerOf: (record: TokenRecord) => string | undefined): (record: TokenRecord) => Home | undefined {
  const homes = new WeakMap<TokenRecord, { readonly home: Home | undefined }>()
  return (record) => {
    let known = homes.get(record)
    if (known === undefined) {
      const owner = ownerOf(record) ?? null
      const former = [record.owner ?? null, ...(record.formerOwners ?? [])]
      known = { home: owner === null && former.every((other) => other === null) ? undefined : { owner, former } }
      homes.set(record, known)
    }
    return known.home
  }
}

/** Connects `onThreshold` to the storage, and returns the thresholds; undefined without `onThreshold`. */
function startThresholds(
  { onThreshold, thresholds }: TokensOptions,
  { meters }: Storage,
  logger: Logger,
): readonly number[] | undefined {
  if (onThreshold === undefined) {
    if (thresholds !== undefined)
      throw new TypeError('createTokens: thresholds needs onThreshold, a function that receives them')
    return undefined
  }
  if (typeof onThreshold !== 'function') throw new TypeError('createTokens: onThreshold must be a function')
  if (meters.onReached === undefined)
    throw new TypeError('createTokens: onThreshold is set, but the meters of the storage have no `onReached`')
  meters.onReached(createThresholdReport(onThreshold, logger))
  return checkThresholds(thresholds ?? defaultThresholds)
}

/** Returns `costOf` of the plugin, which warns of models without a price. */
function costWithWarning(prices: Prices, logger: Logger): NonNullable<Plugin['costOf']> {
  const warnUnpriced = createUnpricedWarning(prices, logger)
  return (event) => {
    const cost = costOfCall(prices, event)
    if (cost === undefined) warnUnpriced(event)
    return cost
  }
}

/** Returns `priceOf` of the plugin: the prices that a person compares, without the rarer rates. */
function displayedPrice({ currency, priceOf }: Prices): NonNullable<Plugin['priceOf']> {
  return ({ upstream, model }) => {
    const { longContext: _long, tiers: _tiers, source: _source, ...price } = priceOf(upstream, model) ?? {}
    return Object.keys(price).length === 0 ? undefined : { currency, ...price }
  }
}

/** Runs all functions in order, also if one fails, and throws the first failure. */
async function closeAll(...closeFunctions: readonly (() => void | Promise<void>)[]): Promise<void> {
  const failures: unknown[] = []
  for (const close of closeFunctions)
    try {
      await close()
    } catch (error) {
      failures.push(error)
    }
  if (failures.length > 0) throw failures[0]
}

const pricesOf = (prices: Prices | PriceTable): Prices => ('costOf' in prices ? prices : createPrices(prices))

function checkReservation(outputTokens: unknown, unpriced: unknown): void {
  if (outputTokens !== undefined && !(Number.isSafeInteger(outputTokens) && Number(outputTokens) >= 0))
    throw new TypeError(`createTokens: reserve.outputTokens is ${outputTokens}; it must be a whole number of tokens`)
  if (unpriced !== undefined && unpriced !== 'refuse' && unpriced !== 'allow')
    throw new TypeError(`createTokens: unpriced is ${unpriced}; it must be 'refuse' or 'allow'`)
}

function checkTime(name: string, ms: number, most: number): void {
  if (typeof ms === 'number' && ms >= 0 && ms <= most) return
  throw new TypeError(`createTokens: ${name} is ${ms}; it must be milliseconds from 0 to ${most}`)
}
