import type { Meter } from '../../contract/meter-store.ts'
import type { TokenRecord } from '../../contract/token.ts'

/** What a process that is to be killed writes down. */
export type Line =
  | { readonly want: TokenRecord }
  | { readonly done: string }
  /** The count after a reservation; after a flush; a warning of the storage. */
  | { readonly counted: number }
  | { readonly flushed: number }
  | { readonly warned: string }

/** `settling`: only settles calls, whichever process counts; it writes down how many of its own. */
export type Role = 'gateway' | 'command' | 'settling'

/** A token that both change at the same time: each counts its changes in the metadata. */
export const sharedId = 'tok_shared'
export const countedId = 'tok_counted'
export const counter: Meter = { name: 'total', limit: 1e12, amount: 1, kind: 'period', period: 'total' }
export const theDay = '2026-11-21'
