import type { Json } from '../base/json.ts'
import type { Script } from '../contract/script.ts'

/** A provider's HTTP error. */
export interface WireError {
  readonly status: number
  readonly message: string
  /** Error type in the dialect's own terms. Default: by status. */
  readonly type?: string
  readonly code?: string
  readonly param?: string
  readonly details?: Json
}

export interface ErrorText {
  readonly type: string
  readonly code: string | null
  readonly message: string
  /** Additional data of the provider's error. */
  readonly details?: Json
}

/** A provider's error texts by status. The entries for 400 and 500 cover all other statuses. */
export type ErrorTable = Readonly<Record<number, ErrorText>> & { readonly 400: ErrorText; readonly 500: ErrorText }

export const errorTextFor = (table: ErrorTable, status: number): ErrorText =>
  table[status] ?? table[status < 500 ? 400 : 500]

/** Returns the error for a status, with the script's overrides. */
export function errorOfStatus(table: ErrorTable, status: number, own: Script['error'] = {}): WireError {
  const words = errorTextFor(table, status)
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

/** Returns the status of an error type when no stream has begun. */
export function statusOfType(table: ErrorTable, type: string): number {
  const found = Object.entries(table).find(([, words]) => words.type === type)
  if (found) return Number(found[0])
  return type === 'overloaded_error' ? 503 : type === 'rate_limit_error' ? 429 : 500
}

/** Returns an invalid-request error as every dialect but Google's names it. */
export const invalidRequest = (status: number, message: string, more: Partial<WireError> = {}): WireError => ({
  status,
  type: 'invalid_request_error',
  message,
  ...more,
})
