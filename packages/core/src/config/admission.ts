import type { Allowance } from '../base/errors.ts'
import type { Format, Operation } from '../base/names.ts'
import type { BillableUnits } from '../formats/ir.ts'
import type { FinishEvent } from './finish-event.ts'
import type { Identity } from './identity.ts'

/**
 * The use that follows from a request before it is sent: number of images, characters to speak, uploaded audio, documents to rank. Tokens
 * are included for models that bill the operation by tokens. All values are upper bounds or best guesses.
 */
export interface ExpectedUse {
  readonly units?: BillableUnits
  /** Input tokens. Default: 0. */
  readonly input?: number
  /** Output tokens. Default: 0. */
  readonly output?: number
  /** Lower bounds: a budget with less remaining rejects the call. Default: the values above. */
  readonly least?: { readonly units?: BillableUnits; readonly input?: number; readonly output?: number }
}

/** A call before admission: its request has been read and its targets are known. */
export interface AdmitCall<I extends Identity = Identity> {
  readonly requestId: string
  readonly identity: I | null
  readonly operation: Operation
  /** Format of the client. */
  readonly format: Format
  /** Model name of the client. */
  readonly model: string
  readonly stream: boolean
  /** Arrival of the call in milliseconds since 1970. */
  readonly startedAt: number
  /**
   * The upstream continues after the response to this call, whose usage is not known then. Unless `settledLater` is set, the gateway will
   * not learn it: reject the call if the usage must be known.
   */
  readonly background?: true
  /**
   * The usage of the background response is known when a later call or the gateway finds that it has ended. The admission is deferred until
   * then: see `Admission.defer`. Absent: `settle` is called at the end of this call.
   */
  readonly settledLater?: true
  /**
   * The call is the work of a batch for one model: this many requests, of which the largest has `largestInput` input tokens. It is
   * admitted when the batch is created; its usage is known when the batch has ended. See `Admission.defer`.
   */
  readonly batch?: { readonly requests: number; readonly largestInput: number }
  /** Possible targets, in the order of the configuration. */
  readonly targets: readonly { readonly upstream: string; readonly model: string }[]
  /**
   * Estimates the tokens of the call. `input` is estimated from characters. `output` is the client's limit for all choices together;
   * undefined without a limit, 0 for operations without text output. Computed on the first call.
   *
   * `units` and `least` are present for operations whose quantity follows from the request (images, speech, transcriptions, rerank); see
   * `ExpectedUse`.
   */
  estimate(): {
    readonly input: number
    readonly output: number | undefined
    readonly units?: BillableUnits
    readonly least?: NonNullable<ExpectedUse['least']>
  }
  /** Returns a header of the client by its lower-case name. */
  header(name: string): string | undefined
}

/** The admission of a call. An invalid header fails the call with 500, and the admission is settled. */
export interface Admission<I extends Identity = Identity> {
  /** The caller's remaining quotas, for rate limit headers. */
  readonly allowance?: Allowance
  /** Headers of the response by lower-case name; also sent with errors. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Called before the first attempt if the gateway has inserted stored responses into the request since `admit`: the call may need more
   * than was reserved. `call` is the same call with its whole request. To reject it, throw or reject with a GatewayError. Every other
   * failure is a 500, as for `admit`. `settle` follows in any case. It may change `allowance` and `headers` of its admission, which are
   * read when the response is sent.
   */
  extend?(call: AdmitCall<I>): void | Promise<void>
  /** Called once at the end of the call, for successes and failures, before `onFinish`. */
  settle?(event: FinishEvent<I>): void | Promise<void>
  /**
   * Called after each response of a realtime session, with the event of a session that would end now: its usage and cost so far. `settle`
   * follows at the end, with the whole usage. To end the session, throw or reject with a GatewayError: the client receives it as an
   * error event and as the reason of the close. Every other failure is logged, and the session continues.
   */
  progress?(event: FinishEvent<I>): void | Promise<void>
  /**
   * Called in place of `settle` once a batch is created, if `call.batch` is present, or once a background response has begun, if
   * `call.settledLater` is set. Returns the reservation as text. The gateway stores it and passes it to `Plugin.resume` when the work has
   * ended, perhaps in another process. Default: `settle` is called at the end of the call, with an event without usage.
   */
  defer?(): string
}

/** A budget in money that counts a caller's calls. */
export interface CallerBudget {
  /** ISO 4217. */
  readonly currency: string
  /** Whole units of the currency, 0 or more. */
  readonly limit: number
  /** Cost of the finished calls of this period, with what is reserved for running ones. May exceed the limit. */
  readonly used: number
  /** Names of the models that it counts. Absent: all. */
  readonly models?: readonly string[]
}
