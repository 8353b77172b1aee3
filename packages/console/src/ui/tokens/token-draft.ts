import type { Budget, Limit, Token } from './tokens-api.ts'

export const windows = ['second', 'minute', 'hour', 'day'] as const
/** Choice of a window that is a number of seconds. */
export const inSeconds = 'seconds'
export const periods = ['day', 'week', 'month', 'total'] as const
export const limitCounts = ['requests', 'tokens', 'inputTokens', 'outputTokens', 'concurrent'] as const

/** A limit as typed. */
export type LimitDraft = {
  /** Names, separated by commas. Empty: all models. */
  readonly models: string
  /** One of `windows`, or `inSeconds`. */
  readonly window: string
  readonly seconds: string
} & { readonly [C in (typeof limitCounts)[number]]: string }

/** A budget as typed. */
export interface BudgetDraft {
  readonly models: string
  readonly period: string
  readonly unit: 'money' | 'tokens'
  readonly amount: string
}

/** Settings of a token as typed. */
export interface TokenDraft {
  readonly name: string
  readonly owner: string
  readonly models: string
  /** Value of a `datetime-local` input, in the reader's time zone. Empty: never. */
  readonly expires: string
  readonly limits: readonly LimitDraft[]
  readonly budgets: readonly BudgetDraft[]
}

export const newLimit: LimitDraft = {
  models: '',
  window: 'minute',
  seconds: '',
  requests: '',
  tokens: '',
  inputTokens: '',
  outputTokens: '',
  concurrent: '',
}

export const newBudget: BudgetDraft = { models: '', period: 'month', unit: 'money', amount: '' }

export const newDraft: TokenDraft = { name: '', owner: '', models: '', expires: '', limits: [], budgets: [] }

/** Returns the settings of a token as they would be typed. */
export const draftOf = ({ name, owner, models, expiresAt, limits, budgets }: Token): TokenDraft => ({
  name: name ?? '',
  owner: owner ?? '',
  models: typedModels(models),
  expires: expiresAt === undefined ? '' : localTimeOf(expiresAt),
  limits: limits.map(({ window = 'minute', ...limit }) => ({
    ...newLimit,
    ...Object.fromEntries(limitCounts.map((count) => [count, limit[count] === undefined ? '' : String(limit[count])])),
    models: typedModels(limit.models),
    ...(typeof window === 'number' ? { window: inSeconds, seconds: String(window) } : { window }),
  })),
  budgets: budgets.map(({ models, period, money, tokens }) => ({
    models: typedModels(models),
    period,
    unit: money === undefined ? 'tokens' : 'money',
    amount: String(money ?? tokens ?? ''),
  })),
})

/** Settings in the form of the API. Undefined: not set. */
interface Settings {
  readonly name: string | undefined
  readonly owner: string | undefined
  readonly models: readonly string[] | undefined
  readonly expiresAt: number | string | undefined
  readonly limits: readonly unknown[] | undefined
  readonly budget: readonly unknown[] | undefined
}

function settingsOf({ name, owner, models, expires, limits, budgets }: TokenDraft): Settings {
  const text = (typed: string): string | undefined => (typed.trim() === '' ? undefined : typed.trim())
  return {
    name: text(name),
    owner: text(owner),
    models: namesOf(models),
    expiresAt: expires === '' ? undefined : timeOf(expires),
    limits: limits.length === 0 ? undefined : limits.map(limitOf),
    budget: budgets.length === 0 ? undefined : budgets.map(budgetOf),
  }
}

/** Returns the body that issues a token. JSON leaves out what is undefined. */
export const issueBodyOf = (draft: TokenDraft): object => settingsOf(draft)

/** Returns the body that changes a token: only what was changed, and null for what was removed. An expiry in the past stays. */
export function changesOf(before: TokenDraft, after: TokenDraft): Readonly<Record<string, unknown>> {
  const old = settingsOf(before)
  return Object.fromEntries(
    Object.entries(settingsOf(after))
      .filter(([field, value]) => JSON.stringify(old[field as keyof Settings]) !== JSON.stringify(value))
      .map(([field, value]) => [field, value ?? null]),
  )
}

function limitOf({ models, window, seconds, ...counts }: LimitDraft): Limit {
  const names = namesOf(models)
  return {
    ...(names === undefined ? {} : { models: names }),
    window: window === inSeconds ? (numberOf(seconds) as number) : window,
    ...Object.fromEntries(
      limitCounts.flatMap((count) => (counts[count].trim() === '' ? [] : [[count, numberOf(counts[count])]])),
    ),
  }
}

function budgetOf({ models, period, unit, amount }: BudgetDraft): Budget {
  const names = namesOf(models)
  return {
    ...(names === undefined ? {} : { models: names }),
    period,
    [unit]: numberOf(amount),
  }
}

/** A text that is no number is sent as it is: the gateway's error names the field and the value. */
const numberOf = (typed: string): number | string =>
  typed.trim() === '' || Number.isNaN(Number(typed)) ? typed : Number(typed)

function namesOf(typed: string): readonly string[] | undefined {
  const names = typed
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  return names.length === 0 ? undefined : names
}

const typedModels = (models: string | readonly string[] | undefined): string =>
  models === undefined ? '' : typeof models === 'string' ? models : models.join(', ')

/** Returns a time for a `datetime-local` input, which has no time zone. */
function localTimeOf(time: number): string {
  const offsetMs = new Date(time).getTimezoneOffset() * 60_000
  return new Date(time - offsetMs).toISOString().slice(0, 16)
}

function timeOf(local: string): number | string {
  const time = new Date(local).getTime()
  return Number.isNaN(time) ? local : time
}
