import { ask, queryOf } from '../admin/api.ts'
import type { CountUsage, Sums, TokenTimes } from '../admin/contract.ts'

/** A limit as the gateway stores it. */
export interface Limit {
  readonly models?: string | readonly string[]
  /** A name, or seconds. Default: a minute. */
  readonly window?: string | number
  readonly requests?: number
  readonly tokens?: number
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly concurrent?: number
}

/** A budget as the gateway stores it. */
export interface Budget {
  readonly models?: string | readonly string[]
  readonly period: string
  readonly money?: number
  readonly tokens?: number
}

export interface Token extends TokenTimes {
  readonly id: string
  readonly name?: string
  readonly owner?: string
  /** Absent: all models. */
  readonly models?: readonly string[]
  readonly limits: readonly Limit[]
  readonly budgets: readonly Budget[]
  /** First characters of the newest secret. */
  readonly hint: string
  readonly createdAt: number
}

export type IssuedToken = Token & { readonly secret: string }

export interface TokenUsage {
  readonly from: string
  readonly to: string
  readonly currency?: string
  readonly limits: readonly CountUsage[]
  readonly budgets: readonly CountUsage[]
  readonly totals: Sums
  readonly byDay: readonly (Sums & { readonly day: string })[]
  readonly byModel: readonly (Sums & { readonly model: string })[]
}

export interface TokenPage {
  readonly tokens: readonly Token[]
  /** Absent on the last page. */
  readonly next?: string
}

const api = 'api/tokens'
const pageSize = '50'

const at = (id: string, below = ''): string => `${api}/${encodeURIComponent(id)}${below}`

export async function fetchTokens(
  token: string,
  query: { readonly owner: string; readonly after?: string },
  signal?: AbortSignal,
): Promise<TokenPage> {
  const { owner, after = '' } = query
  const path = api + queryOf({ owner, after, limit: pageSize })
  return (await ask(path, { token, ...(signal === undefined ? {} : { signal }) })).json()
}

export async function fetchToken(token: string, id: string, signal: AbortSignal): Promise<Token> {
  return (await ask(at(id), { token, signal })).json()
}

export async function fetchTokenUsage(token: string, id: string, signal: AbortSignal): Promise<TokenUsage> {
  return (await ask(at(id, '/usage'), { token, signal })).json()
}

export async function issueToken(token: string, settings: object): Promise<IssuedToken> {
  return (await ask(api, { token, method: 'POST', body: settings })).json()
}

export async function updateToken(token: string, id: string, changes: object): Promise<Token> {
  return (await ask(at(id), { token, method: 'PATCH', body: changes })).json()
}

export async function revokeToken(token: string, id: string): Promise<Token> {
  return (await ask(at(id, '/revoke'), { token, method: 'POST' })).json()
}

export async function rotateToken(token: string, id: string, graceMs: number): Promise<IssuedToken> {
  return (await ask(at(id, '/rotate'), { token, method: 'POST', body: { graceMs } })).json()
}
