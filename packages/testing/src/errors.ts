import type { Json, Script } from './types.ts'

/** An HTTP error as a provider answers it. */
export interface WireError {
  readonly status: number
  readonly message: string
  /** The error's kind in the dialect's own words. Default: by status. */
  readonly type?: string
  readonly code?: string
  readonly param?: string
  readonly details?: Json
}

export interface Words {
  readonly type: string
  readonly code: string | null
  readonly message: string
  /** What the provider adds to such an error. */
  readonly details?: Json
}

/** What a provider says to each status. It has 400 and 500, which stand in for those it has no words for. */
export type ErrorTable = Readonly<Record<number, Words>> & { readonly 400: Words; readonly 500: Words }

export const wordsFor = (table: ErrorTable, status: number): Words => table[status] ?? table[status < 500 ? 400 : 500]

/** The error a status stands for, with the script's own words where it has some. */
export function errorOfStatus(table: ErrorTable, status: number, own: Script['error'] = {}): WireError {
  const words = wordsFor(table, status)
  const code = own.code ?? words.code
  return {
    status,
    type: own.type ?? words.type,
    message: own.message ?? words.message,
    ...(code === null ? {} : { code }),
    ...(own.param === undefined ? {} : { param: own.param }),
    ...(words.details === undefined ? {} : { details: words.details }),
  }
}

/** The status an error type is answered with when there is no stream yet. */
export function statusOfType(table: ErrorTable, type: string): number {
  const found = Object.entries(table).find(([, words]) => words.type === type)
  if (found) return Number(found[0])
  return type === 'overloaded_error' ? 503 : type === 'rate_limit_error' ? 429 : 500
}

/** A refusal of the request itself, as every dialect but Google's names it. */
export const invalidRequest = (status: number, message: string, more: Partial<WireError> = {}): WireError => ({
  status,
  type: 'invalid_request_error',
  message,
  ...more,
})
