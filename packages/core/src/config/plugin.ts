import type { ErrorKind } from '../base/error-kinds.ts'
import type { Allowance } from '../base/errors.ts'
import type { JsonObject } from '../base/json/json.ts'
import type { Format, Operation, UpstreamFormat } from '../base/names.ts'
import type { BillableUnits, Loss, ModelRun, Usage } from '../formats/ir.ts'
import type { ModelDescription, ModelPrice } from '../formats/model-card.ts'
import type { Inbound, Reply } from '../http/inbound.ts'
import type { BodyLimits, CallBodies } from './call-bodies.ts'
import type { Explanation } from './explanation.ts'
import type { Identity } from './identity.ts'
import type { GatewayNotice } from './notices.ts'

/** Method of a token estimate. */
export type EstimatedBy = 'o200k_base' | 'characters' | 'custom'

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

/** Source of a call's usage; see `FinishEvent.basis`. */
export type UsageBasis = 'reported' | 'estimated' | 'partial'

/** An amount of money. */
export interface Cost {
  /** In units of the currency, such as dollars. Exact to a billionth. */
  readonly amount: number
  /** ISO 4217 code, such as `USD`. */
  readonly currency: string
}

/** Result of an authenticated call to a model. Reported once, after the last byte of the response, for successes and failures. */
export interface FinishEvent<I extends Identity = Identity> {
  readonly requestId: string
  readonly identity: I | null
  readonly operation: Operation
  /** Format of the client. */
  readonly format: Format
  /** Model name of the client. */
  readonly model: string
  readonly upstream?: string
  readonly upstreamModel?: string
  readonly upstreamFormat?: UpstreamFormat
  readonly lane?: 'wire' | 'translate'
  readonly stream: boolean
  /** HTTP status sent to the client. 499: the client disconnected before a response was sent. */
  readonly status: number
  readonly outcome: 'finished' | 'failed' | 'aborted'
  /** Finish reason in the upstream's format (`stop`, `end_turn`, `MAX_TOKENS`). */
  readonly finish?: string
  /** Token usage. `basis` is its source. */
  readonly usage?: Usage
  /**
   * Source of `usage`. `'reported'`: the upstream. `'estimated'`: the gateway, because the upstream reported none. `'partial'`: the counts
   * reported so far, completed by an estimate, because the response was truncated. Absent: no response of a model had begun.
   */
  readonly basis?: UsageBasis
  /** Billable units other than tokens. */
  readonly units?: BillableUnits
  /**
   * The runs of models within the call, such as a compaction, an advisor or generated images. `usage` is their sum. Absent: the call's model
   * ran once.
   */
  readonly runs?: readonly ModelRun[]
  /**
   * The tier that served the call and may have prices of its own, such as `priority`, `flex` or `fast`. If the upstream has not reported it
   * before the response ended, it is the tier that the gateway requested from it. Absent: the usual one.
   */
  readonly tier?: string
  /**
   * No response arrived, but an upstream received the request (the client disconnected, a time limit, an invalid response): it may have
   * processed the request and may bill it.
   */
  readonly abandoned?: true
  /**
   * The client received access to a session that bypasses the gateway: a realtime call, or a secret for one. The provider charges for it, and
   * neither `usage` nor `cost` contains it.
   */
  readonly uncounted?: true
  /**
   * The call has begun a background response, which had not ended yet. Its usage and cost are reported later by another event with this
   * `requestId`, when a call or the gateway finds that it has ended.
   */
  readonly deferred?: true
  /**
   * Number of responses, transcriptions or turns of a realtime session that had begun when it ended, and whose usage the upstream
   * therefore did not report. The upstream probably bills them, and `usage` does not contain them. Absent: none.
   */
  readonly unreportedResponses?: number
  /** Cost of the call, from the first plugin whose `costOf` returns one. Absent: unknown. */
  readonly cost?: Cost
  readonly losses: readonly Loss[]
  /** Upstream calls, in order of their start. */
  readonly attempts: readonly Attempt[]
  /** Targets that cannot accept the request, in the order in which they were considered. Absent: none. */
  readonly skipped?: readonly SkippedTarget[]
  /** Method of the estimate, for a token count without a provider. */
  readonly estimate?: EstimatedBy
  /** Arrival of the call in milliseconds since 1970. */
  readonly startedAt: number
  /** Duration of the call in milliseconds, from its arrival. */
  readonly durationMs: number
  /** Milliseconds from the arrival of the call to the response, or to a stream's first event. */
  readonly firstEventMs?: number
  /** The internal error; never sent to the client. */
  readonly error?: unknown
}

/** A target that was not called, because the request cannot be translated for it or would lose more than the loss policy allows. */
export interface SkippedTarget {
  readonly upstream: string
  readonly model: string
  /** The message that the client would receive if no other target accepted the call. */
  readonly reason: string
  /** Path of the field that the target does not accept, with dots. Absent: no single field is the reason. */
  readonly param?: string
}

/** One upstream call. */
export interface Attempt {
  readonly upstream: string
  readonly model: string
  /** Index of the key in the upstream's list. Absent: the upstream has one key. */
  readonly key?: number
  /**
   * Reason of the attempt. `'first'`: the first one of the call. `'retry'`: the same target after a wait. `'other-key'`: the same target
   * with another key. `'fallback'`: another target after a failure. `'hedge'`: another target in parallel to a slow one.
   */
  readonly reason: 'first' | 'retry' | 'other-key' | 'fallback' | 'hedge'
  /** Milliseconds from the arrival of the client's call to the start of this attempt. */
  readonly startedMs: number
  /** Milliseconds waited before a retry. */
  readonly waitedMs?: number
  /** The call was sent twice, because its first connection was already closed. Both count as `attempts` of `retry`. */
  readonly resent?: true
  readonly status?: number
  /** Milliseconds until the response or first event arrived, or the attempt failed or was aborted. */
  readonly latencyMs?: number
  /** Milliseconds for which the target or its key receives no calls because of this attempt. Absent: it caused no cooldown. */
  readonly cooldownMs?: number
  /** The upstream's request id, for its support. */
  readonly upstreamRequestId?: string
  /** Kind of the error that ended the attempt; `cancelled` also if another target was faster. */
  readonly error?: ErrorKind
  /** Failure of the connection behind `error`, for logs; never sent to the client. */
  readonly cause?: FailureCause
  /**
   * Estimated input tokens that the upstream has probably processed and may bill, although another attempt gave the response (a timeout,
   * an invalid response, the slower one of two parallel attempts). They are not part of the call's `usage`. Absent: none, or the operation
   * has no tokens.
   */
  readonly lostInputTokens?: number
  /**
   * Estimated cost of `lostInputTokens`, from `costOf`, at the prices of this attempt's model. A lower bound, because its output and its cached
   * input are unknown. Not part of the call's `cost`, and charged to no budget. Absent: unknown.
   */
  readonly lostCost?: Cost
}

/** Failure of a connection, as the runtime reported it. */
export interface FailureCause {
  /** Code of the runtime: `ECONNREFUSED`, `ENOTFOUND`, `UND_ERR_SOCKET`, `CERT_HAS_EXPIRED`. */
  readonly code?: string
  /** Address that was called: `127.0.0.1:9000`, or a host name that could not be resolved. */
  readonly address?: string
}

/** State of a gateway at one moment; see `PluginHost.status`. */
export interface GatewayStatus {
  /** The gateway is closing and accepts no new calls. */
  readonly draining: boolean
  /** Calls in progress. Requests to plugins' endpoints do not count. */
  readonly activeCalls: number
  /** Each configured upstream. */
  readonly upstreams: readonly UpstreamStatus[]
}

/** State of an upstream: the worst state of its targets. A state that applies to one caller only does not count. */
export interface UpstreamStatus {
  readonly upstream: string
  /** `'open'`: the circuit breaker rejects calls. `'half-open'`: one trial call is allowed. `'cooldown'`: a wait that the upstream requested. */
  readonly state: 'closed' | 'open' | 'half-open' | 'cooldown'
  /** False: a circuit breaker is open, and no call to the upstream has succeeded since it opened. True if only some models fail. */
  readonly available: boolean
  /** Targets that are not closed. */
  readonly targets: readonly {
    readonly model: string
    readonly state: 'open' | 'half-open' | 'cooldown'
    /** Milliseconds until the target receives calls again. Absent: at once. */
    readonly forMs?: number
  }[]
}

/** An authenticated call to a model, whose request has been read. */
export interface RequestEvent<I extends Identity = Identity> {
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
  /** The client's request. Must not be changed. */
  readonly body: JsonObject
  /** Returns a header of the client by its lower-case name. */
  header(name: string): string | undefined
}

/** An upstream call that is about to be sent. */
export interface UpstreamEvent {
  readonly requestId: string
  readonly upstream: string
  /** Model name at the upstream. */
  readonly model: string
  /** 1 for the first call of a request. */
  readonly attempt: number
  readonly reason: Attempt['reason']
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
   * The usage of the background response is known when a later call finds that it has ended. The admission is deferred until then: see
   * `Admission.defer`. Absent: `settle` is called at the end of this call.
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
   * failure is a 500, as for `admit`. `settle` follows in any case.
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

/** An additional endpoint of a plugin. The gateway does not authenticate its callers: the plugin must do so if necessary. */
export interface PluginRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /**
   * Path below the gateway's base path. A name in braces matches any text, slashes included, up to the text that follows the braces:
   * `/admin/tokens/{id}/rotate`.
   */
  readonly path: string
  /** The gateway also serves the endpoint while it drains, and after that. Default: requests get a 503 then, as calls do. */
  readonly whileDraining?: true
  /**
   * Handles a request. A thrown GatewayError is sent as an error of the chat format. Every other failure is logged and sent as a 500: an
   * exception, a value that is not a reply, a promise that does not settle within `limits.firstByteMs`. A streamed body has no time limit.
   */
  handle(inbound: Inbound, params: Readonly<Record<string, string>>): Reply | Promise<Reply>
}

/** The running gateway, as passed to `onStart`. Its members are those of `Gateway`. */
export interface PluginHost {
  /** The routes of the current configuration. */
  readonly routes: readonly {
    readonly method: string
    readonly path: string
    readonly operation: Operation
    readonly format: Format
    /** The vendor whose clients use this path instead of the format's own. */
    readonly family?: string
  }[]
  /** False with `auth: 'none'`: calls need no credential. */
  readonly requiresCredential: boolean
  /** Returns the state of the gateway and its upstreams. Calls no upstream. */
  status(): GatewayStatus
  /** Describes models by their names: operations, prices. Checks no permission. Names without a route are left out. */
  describeModels(names: readonly string[]): Promise<readonly ModelDescription[]>
  fetch(input: Request | URL | string, init?: RequestInit): Promise<Response>
  explain(
    input: Request | URL | string,
    init?: RequestInit,
    options?: { readonly hideConfigured?: boolean },
  ): Promise<Explanation>
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

/**
 * Extends the gateway: observes calls, admits or rejects them, adds upstream headers, costs and endpoints. Hooks named `on…` are not awaited,
 * and their exceptions and rejections are logged. Two differ: an exception of `onStart` is thrown to the caller, and `onUpstream` can return
 * headers.
 *
 * @example
 * const timing: Plugin = {
 *   name: 'timing',
 *   onFinish: ({ model, durationMs, cost }) => console.log(model, durationMs, cost?.amount),
 * }
 */
export interface Plugin<I extends Identity = Identity> {
  /** Name of the plugin in log messages. */
  readonly name: string
  /**
   * Called once, when the gateway is created or `reconfigure` adds the plugin. An exception is thrown by `createGateway` or `reconfigure`;
   * a promise is not awaited, and its rejection is logged.
   */
  onStart?(gateway: PluginHost): void
  /** Additional endpoints. */
  readonly routes?: readonly PluginRoute[]
  /** Called for each call to a model before its first attempt. `onFinish` follows. */
  onRequest?(event: RequestEvent<I>): void
  /**
   * Admits a call, or rejects it by throwing a GatewayError. Called before the response store is read for the call; see `Admission.extend`. Plugins are called in order, after `onRequest`. An admission is settled once,
   * even if a later plugin rejects the call.
   *
   * Every other failure is a 500: another exception, a promise that does not settle within `limits.callbackMs`, and a value that is not
   * an admission (`true`, `false`, a string). An admission that arrives late is settled.
   */
  admit?(call: AdmitCall<I>): Admission<I> | undefined | Promise<Admission<I> | undefined>
  /**
   * Returns the admission of a deferred reservation, whose `settle` is then called with the usage of the batch or the background response. It must be synchronous. If
   * it throws or returns nothing, the reservation is not settled.
   *
   * @param reservation what `Admission.defer` returned
   */
  resume?(reservation: string): Admission<I> | undefined
  /**
   * Called before each upstream call. Returned headers, by lower-case name, are added to that call, for example a trace context. They
   * must be returned synchronously: a promise, and values that are not headers, are logged and ignored.
   */
  onUpstream?(event: UpstreamEvent): Readonly<Record<string, string>> | undefined
  /**
   * Returns the cost of a call; undefined: unknown. The first plugin that returns a cost determines it. It must be synchronous: a promise,
   * and a value that is not an amount of 0 or more in a currency, are logged and count as unknown.
   */
  costOf?(event: FinishEvent<I>): Cost | undefined
  /**
   * Returns the prices of a target for display; undefined: unknown. The first plugin that returns one determines them. Called when models
   * are described or listed, never during a call to a model. It must be synchronous, as `costOf`. `asOf` is the day on which the price was
   * read from its source, such as `2026-11-28`. Clients don't see it.
   */
  priceOf?(target: {
    readonly upstream: string
    readonly model: string
  }): (ModelPrice & { readonly asOf?: string }) | undefined
  /**
   * Returns the budgets in money that count the calls of a caller; undefined: none. Called when the caller asks for its credits, never
   * during a call to a model. It must not change what it reads. It fails as `admit` does.
   *
   * @param identity Null: calls need no credential
   */
  budgetsOf?(identity: I | null): readonly CallerBudget[] | undefined | Promise<readonly CallerBudget[] | undefined>
  /**
   * The plugin logs failed attempts. The gateway then does not log upstreams that reject their credentials itself. Default: false.
   */
  readonly logsAttempts?: boolean
  /** Called once at the end of each authenticated call to a model; see `FinishEvent`. */
  onFinish?(event: FinishEvent<I>): void | Promise<void>
  /**
   * Called once after `onFinish` with the bodies of the call, and for rejected calls whose body was read. The gateway copies bodies only if
   * a plugin has this hook. Frames of realtime sessions are not copied.
   */
  onBodies?(bodies: CallBodies): void | Promise<void>
  /** Bounds of what `onBodies` receives. Of several plugins' bounds, the largest apply to all. */
  readonly bodyLimits?: BodyLimits
  /** Called for events that are not the end of a call to a model: rejected calls, changed circuit breakers, reconfiguration. */
  onNotice?(notice: GatewayNotice<I>): void | Promise<void>
}
