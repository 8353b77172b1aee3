import type { Meter } from '../../contract/meter-store.ts'
import type { TokenRecord } from '../../contract/token.ts'

/** Log entry of a process that will be killed. */
export type Line =
  | { readonly want: TokenRecord }
  | { readonly done: string }
  /** The count after a reservation or a flush, or a warning of the storage. */
  | { readonly counted: number }
  | { readonly flushed: number }
  | { readonly warned: string }

/** `settling`: only settles calls, whichever process counts, and logs how many. */
export type Role = 'gateway' | 'command' | 'settling'

/** A token that both processes change concurrently: each counts its changes in the metadata. */
export const sharedId = 'tok_shared'
export const countedId = 'tok_counted'
export const counter: Meter = { name: 'total', limit: 1e12, amount: 1, kind: 'period', period: 'total' }
export const theDay = '2026-11-21'
