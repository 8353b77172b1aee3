import { GatewayError } from '@modelgate/core'
import { type Awaitable, isThenable } from '../base/async.ts'
import { createLru } from '../base/lru.ts'
import type { OwnerQuery, OwnerStore } from '../contract/storage.ts'
import type { Owner, OwnerSettings } from '../contract/token.ts'
import { toGatewayError } from '../storage/errors.ts'
import { checkBudgets, checkLimits } from '../tokens/limit-settings.ts'
import { createRecordCache } from '../tokens/record-cache.ts'
import type { OwnerUsage, UsageQuery } from './usage.ts'

/**
 * Limits and budgets of owners: of users, teams, or any other text that identities carry as their owner. All tokens and identities of an
 * owner share them. All methods reject with GatewayError `unavailable` while the storage cannot be reached.
 */
export interface OwnerManagement {
  /**
   * Sets the limits and budgets of an owner, in place of earlier ones. The counts stay the same. Takes effect at once in this process,
   * within `cacheMs` in others. Rejects with GatewayError `invalid_request` (with `param`).
   */
  set(owner: string, settings: OwnerSettings): Promise<Owner>
  /** Returns an owner with its own settings; undefined if it has none. */
  get(owner: string): Promise<Owner | undefined>
  /** Lists owners with their own settings, in the order of their names. Pass `next` as `after` for the next page. */
  list(query?: OwnerQuery): Promise<{ readonly owners: readonly Owner[]; readonly next?: string }>
  /** Removes the settings of an owner, which then has those of `ownerDefaults`, if any. Returns false if it had none. */
  delete(owner: string): Promise<boolean>
  /** Returns what an owner has used and what remains. Rejects with GatewayError `not_found` (no limits or budgets) or `invalid_request`. */
  usage(owner: string, query?: UsageQuery): Promise<OwnerUsage>
}

export interface OwnersOptions {
  /** Undefined: the storage does not support owners. */
  readonly store: OwnerStore | undefined
  readonly defaults: OwnerSettings | undefined
  readonly cacheMs: number
  readonly staleMs: number
  /** Reads the usage of an owner. */
  readUsage(owner: Owner, query: UsageQuery | undefined): Promise<OwnerUsage>
  now(): number
  /** Milliseconds of a clock that is never set. */
  steadyNow(): number
}

export interface Owners {
  readonly management: OwnerManagement
  /** Returns the settings that apply to an owner; undefined if there are none. The same object while they do not change. */
  find(owner: string): Awaitable<Owner | undefined>
}

/** Maximum number of owners without their own settings whose defaults are kept. */
const maxDefaults = 10_000

/** @throws TypeError if the storage does not support owners, and GatewayError for invalid defaults. */
export function createOwners(options: OwnersOptions): Owners {
  const { store, cacheMs, staleMs, readUsage, now, steadyNow } = options
  const defaults = options.defaults === undefined ? undefined : checkOwnerSettings(options.defaults)
  if (store === undefined && defaults !== undefined)
    throw new TypeError(`createTokens: ownerDefaults is set, but ${unsupported}`)
  const defaultsByOwner = createLru<Owner>(maxDefaults)
  // An owner without settings is cached too, and also used while the store is away.
  const cache = createRecordCache<{ readonly owner: string; readonly settings: Owner | undefined }>({
    lookUp(owner) {
      const found = store?.get(owner)
      if (!isThenable(found)) return { owner, settings: found }
      return Promise.resolve(found).then((settings) => ({ owner, settings }))
    },
    cacheMs,
    staleMs,
    now: steadyNow,
  })

  /** The same object for the same owner, because meters are built once for each object. */
  const defaultsOf = (owner: string): Owner | undefined => {
    if (defaults === undefined) return undefined
    let record = defaultsByOwner.get(owner)
    if (record === undefined) {
      record = { owner, ...defaults, updatedAt: 0 }
      defaultsByOwner.set(owner, record)
    }
    return record
  }
  const withStore = async <T>(operate: (store: OwnerStore) => Awaitable<T>): Promise<T> => {
    if (store === undefined) throw new TypeError(`Owners have no limits and budgets here, because ${unsupported}`)
    try {
      return await operate(store)
    } catch (error) {
      throw toGatewayError(error)
    }
  }
  const changing = async <T>(owner: string, operate: (store: OwnerStore) => Awaitable<T>): Promise<T> => {
    try {
      return await withStore(operate)
    } finally {
      // Also after a failure: the change may have been made although its response was lost.
      cache.forget((cached) => cached.owner === owner)
    }
  }
  return {
    find(owner) {
      if (store === undefined) return undefined
      const cached = cache.find(owner)
      if (isThenable(cached)) return cached.then((found) => found?.settings ?? defaultsOf(owner))
      return cached?.settings ?? defaultsOf(owner)
    },
    management: Object.freeze<OwnerManagement>({
      async set(owner, settings) {
        const record: Owner = { owner: checkOwner(owner), ...checkOwnerSettings(settings), updatedAt: now() }
        await changing(owner, (stored) => stored.put(record))
        return record
      },
      get: async (owner) => withStore((stored) => stored.get(checkOwner(owner))),
      async list(query = {}) {
        checkQuery(query)
        return withStore((stored) => stored.list(query))
      },
      delete: async (owner) => changing(checkOwner(owner), (stored) => stored.delete(owner)),
      async usage(owner, query) {
        const record = (await withStore((stored) => stored.get(checkOwner(owner)))) ?? defaultsOf(owner)
        if (record === undefined) throw unknownOwner(owner)
        return readUsage(record, query)
      },
    }),
  }
}

const unsupported = 'the storage has no `owners`. Use memoryStorage(), folderStorage() or redisStorage()'

/** Maximum characters of an owner. */
const maxOwnerLength = 200

function checkOwner(owner: string): string {
  if (typeof owner === 'string' && owner.trim() !== '' && owner.length <= maxOwnerLength) return owner
  throw invalid('owner', `'owner' must be a string of 1 to ${maxOwnerLength} characters.`)
}

const settingNames = ['limits', 'budget', 'thresholds']

/** Validates settings and returns them as they are stored. */
function checkOwnerSettings(settings: unknown): Pick<Owner, 'limits' | 'budgets' | 'thresholds'> {
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings))
    throw invalid(
      undefined,
      'The settings of an owner must be an object such as { budget: { money: 20, period: "month" } }.',
    )
  const { limits, budget, thresholds } = settings as Readonly<Record<string, unknown>>
  const unknown = Object.keys(settings).find((name) => !settingNames.includes(name))
  if (unknown !== undefined)
    throw invalid(unknown, `Unknown setting '${unknown.slice(0, 100)}'. Known settings: ${settingNames.join(', ')}.`)
  const checked = {
    limits: limits === undefined || limits === null ? [] : checkLimits(limits),
    budgets: budget === undefined || budget === null ? [] : checkBudgets(budget),
    ...(thresholds === undefined || thresholds === null ? {} : { thresholds: checkThresholds(thresholds) }),
  }
  if (checked.limits.length === 0 && checked.budgets.length === 0)
    throw invalid('limits', 'An owner needs `limits`, a `budget`, or both. To remove them, delete the owner.')
  return checked
}

const maxThresholds = 20

/** Validates thresholds and returns them without duplicates, ascending. */
export function checkThresholds(value: unknown): readonly number[] {
  const isThreshold = (one: unknown): one is number => typeof one === 'number' && one > 0 && one <= 1
  if (!Array.isArray(value) || value.length > maxThresholds || !value.every(isThreshold))
    throw invalid(
      'thresholds',
      `'thresholds' must be a list of at most ${maxThresholds} parts of the budget, each more than 0 and at most 1, such as [0.5, 0.8, 1].`,
    )
  return [...new Set(value)].sort((one, other) => one - other)
}

function checkQuery({ after, limit = 1 }: OwnerQuery): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
    throw invalid('limit', "'limit' must be a whole number from 1 to 1000.")
  if (after !== undefined && typeof after !== 'string')
    throw invalid('after', "'after' must be the `next` of the previous page.")
}

export const unknownOwner = (owner: string): GatewayError =>
  new GatewayError('not_found', `The owner '${owner.slice(0, 100)}' has no limits or budgets.`)

const invalid = (param: string | undefined, message: string): GatewayError =>
  new GatewayError('invalid_request', message, param === undefined ? {} : { param })
