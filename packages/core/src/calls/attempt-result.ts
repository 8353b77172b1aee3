import type { RetryScope } from '../base/error-kinds.ts'
import type { GatewayError } from '../base/errors.ts'
import type { AnswerStream, WholeAnswer } from '../lanes/lane.ts'
import type { Pump } from './pump.ts'

/** A good response to an attempt. */
export type AttemptResult =
  | { readonly kind: 'whole'; readonly answer: WholeAnswer }
  | {
      readonly kind: 'stream'
      readonly pump: Pump
      readonly stream: AnswerStream
      readonly abort: () => void
      readonly times: StreamTimes
      /** To be called when the first event has come after all. */
      readonly onFirst: () => void
    }
  /** The connection is a WebSocket now. */
  | { readonly kind: 'upgraded' }
  /** Neither JSON nor events: passes as it comes. */
  | {
      readonly kind: 'bytes'
      readonly pump: Pump
      /** The upstream's own content type, and length where it said one. */
      readonly headers: Readonly<Record<string, string>>
      /** The length that `headers` announces. */
      readonly length: number | undefined
      readonly abort: () => void
      readonly times: StreamTimes
    }

/** Deadlines of a stream, by `monotonicNow`. */
export interface StreamTimes {
  readonly startedAt: number
  readonly idleMs: number
  readonly firstUntil: number
  readonly totalUntil: number
}

/** A failed attempt, and where the call may be tried again. */
export interface AttemptFailure {
  readonly error: GatewayError
  readonly retry: RetryScope
}
