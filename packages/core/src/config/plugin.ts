import type { ErrorKind } from '../base/error-kinds.ts'
import type { Allowance } from '../base/errors.ts'
import type { JsonObject } from '../base/json/types.ts'
import type { Format, Operation, UpstreamFormat } from '../base/names.ts'
import type { BillableUnits, Loss, Usage } from '../formats/ir.ts'
import type { Inbound, Reply } from '../http/inbound.ts'
import type { Explanation } from './explanation.ts'
import type { Identity } from './identity.ts'

/** What an estimate was made with. */
export type EstimatedBy = 'o200k_base' | 'characters' | 'custom'

/**
 * Use that a request makes known before it is sent: images asked for, characters to speak, audio uploaded, documents to
 * rank. Tokens are given too, for models that bill the operation by tokens. All values are upper bounds or best guesses.
 */
export interface ExpectedUse {
  readonly units?: BillableUnits
  /** Input tokens. Default: 0. */
  readonly input?: number
  /** Output tokens. Default: 0. */
  readonly output?: number
  /** The same as a lower bound: a budget without room for this much refuses the call. Default: the values above. */
  readonly least?: { readonly units?: BillableUnits; readonly input?: number; readonly output?: number }
}

/** Where the counts of a call's usage come from; see `FinishEvent`. */
export type UsageBasis = 'reported' | 'estimated' | 'partial'

/** An amount of money. */
export interface Cost {
  /** In whole units of the currency; billionths are exact. */
  readonly amount: number
  /** ISO 4217. */
  readonly currency: string
}

/** Told once for each authenticated call to a model, after its last byte, whatever happened. */
export interface FinishEvent<I extends Identity = Identity> {
  readonly requestId: string
  readonly identity: I | null
  readonly operation: Operation
  /** The client's format. */
  readonly format: Format
  /** The model as the client named it. */
  readonly model: string
  readonly upstream?: string
  readonly upstreamModel?: string
  readonly upstreamFormat?: UpstreamFormat
  readonly lane?: 'wire' | 'translate'
  readonly stream: boolean
  /** Status sent to the client (499: it left before one was). */
  readonly status: number
  readonly outcome: 'finished' | 'failed' | 'aborted'
  /** Why the answer ended, in the word of the format it came in (`stop`, `end_turn`, `MAX_TOKENS`). */
  readonly finish?: string
  /** What the model took. See `basis` for where the counts come from. */
  readonly usage?: Usage
  /**
   * Where `usage` comes from: the upstream's own counts; the gateway's estimate, because the upstream told none; or what the
   * upstream had told, completed by an estimate, because the answer was cut short. Absent: no answer of a model had begun.
   */
  readonly basis?: UsageBasis
  /** What is not counted in tokens. */
  readonly units?: BillableUnits
  /**
   * No answer came, but an upstream had the request and was left alone with it (the client left, a time limit, a broken answer): it may
   * have worked, and may bill it.
   */
  readonly abandoned?: true
  /** What the call cost, where a plugin knows it. Absent: unknown, which is not nothing. */
  readonly cost?: Cost
  readonly losses: readonly Loss[]
  /** Calls made upstream, in the order in which they began. */
  readonly attempts: readonly Attempt[]
  /** Targets that could not be given the request, in the order in which they were considered. Absent: none. */
  readonly skipped?: readonly SkippedTarget[]
  /** Set where tokens were counted without a provider: what made the estimate. */
  readonly estimate?: EstimatedBy
  /** When the call arrived, in milliseconds since 1970. */
  readonly startedAt: number
  /** Milliseconds from the call's arrival. */
  readonly durationMs: number
  /** Milliseconds from the call's arrival to the answer, or to a stream's first event. */
  readonly firstEventMs?: number
  /** What went wrong, in process terms; never sent to the client. */
  readonly error?: unknown
}

/** A target that was not called, because the request cannot be written for it or would lose more than allowed. */
export interface SkippedTarget {
  readonly upstream: string
  readonly model: string
  /** Why, in the words that the client would get if no other target took the call. */
  readonly reason: string
  /** The field that the target cannot take, in dots; absent where no single field is the reason. */
  readonly param?: string
}

/** One call upstream. */
export interface Attempt {
  readonly upstream: string
  readonly model: string
  /** Which of the upstream's keys, by its place in the list. Absent where there is but one. */
  readonly key?: number
  /**
   * Why it was made: the call's first; the same target again, at once with another key or after a wait; another target after
   * a failure; another target beside one that was slow.
   */
  readonly reason: 'first' | 'retry' | 'other-key' | 'fallback' | 'hedge'
  /** Milliseconds from the client's call to this one. */
  readonly startedMs: number
  /** Milliseconds waited before it, for a retry. */
  readonly waitedMs?: number
  /** It was sent twice: the connection that it was sent on first turned out to be closed. Both count as `attempts` of `retry`. */
  readonly resent?: true
  readonly status?: number
  /** Milliseconds until it failed, was aborted, or its answer or first event was there. */
  readonly latencyMs?: number
  /** The upstream's own id of the call, for its support. */
  readonly upstreamRequestId?: string
  /** The kind of error it ended with; `cancelled` also where another target was faster. */
  readonly error?: ErrorKind
}

/** A call to a model has been let in and read. */
export interface RequestEvent<I extends Identity = Identity> {
  readonly requestId: string
  readonly identity: I | null
  readonly operation: Operation
  /** The client's format. */
  readonly format: Format
  /** The model as the client named it. */
  readonly model: string
  readonly stream: boolean
  /** When the call arrived, in milliseconds since 1970. */
  readonly startedAt: number
  /** The request's fields, as the client wrote them. Not to be altered. */
  readonly body: JsonObject
  /** A header of the client, by lower-case name. */
  header(name: string): string | undefined
}

/** A call upstream is about to be made. */
export interface UpstreamEvent {
  readonly requestId: string
  readonly upstream: string
  /** The model's name there. */
  readonly model: string
  /** 1 for the first call of a request. */
  readonly attempt: number
  readonly reason: Attempt['reason']
}

/** What is known of a call when it is to be let in: the request is read, and it is known where it may go. */
export interface AdmitCall<I extends Identity = Identity> {
  readonly requestId: string
  readonly identity: I | null
  readonly operation: Operation
  /** The client's format. */
  readonly format: Format
  /** The model as the client named it. */
  readonly model: string
  readonly stream: boolean
  /** When the call arrived, in milliseconds since 1970. */
  readonly startedAt: number
  /**
   * The upstream continues after the response to this call, and its usage is not reported to this gateway: refuse the call where that
   * has to be known.
   */
  readonly background?: true
  /** Where the call may go, in the order of the configuration. */
  readonly targets: readonly { readonly upstream: string; readonly model: string }[]
  /**
   * Tokens that the call is likely to take: of input by its characters; of output what the client allows at most for all
   * answers together, undefined where it sets no bound, 0 where no text is asked for. Reckoned when first asked for.
   *
   * `units` and `least` are present for operations whose quantity the request makes known (images, speech, transcriptions,
   * rerank): see `ExpectedUse`.
   */
  estimate(): {
    readonly input: number
    readonly output: number | undefined
    readonly units?: BillableUnits
    readonly least?: NonNullable<ExpectedUse['least']>
  }
  /** A header of the client, by lower-case name. */
  header(name: string): string | undefined
}

/** An admitted call. Headers that cannot be sent make it a 500, and it is settled. */
export interface Admission<I extends Identity = Identity> {
  readonly allowance?: Allowance
  /** Headers of the answer, by lower-case name; errors carry them, too. */
  readonly headers?: Readonly<Record<string, string>>
  /** Called once when the call is over, whatever came of it, with what it took; before `onFinish`. */
  settle?(event: FinishEvent<I>): void | Promise<void>
}

/** An endpoint of a plugin, beside those of the gateway. No token is asked for: that is the plugin's own business. */
export interface PluginRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /**
   * Below the gateway's base path. A name in braces stands for the rest of the path, slashes included, up to what follows
   * the braces: `/admin/tokens/{id}/rotate`.
   */
  readonly path: string
  /**
   * Answers a request. A GatewayError it throws is sent as a chat completions error; anything else is a 500 and logged, and so are
   * a value that is no reply, and a promise that does not settle within `limits.firstByteMs`. A body that is a stream has no limit.
   */
  handle(inbound: Inbound, params: Readonly<Record<string, string>>): Reply | Promise<Reply>
}

/** The running gateway, as `onStart` receives it: its members do the same as those of `Gateway`. */
export interface PluginHost {
  /** The routes of the current configuration. */
  readonly routes: readonly {
    readonly method: string
    readonly path: string
    readonly operation: Operation
    readonly format: Format
  }[]
  fetch(input: Request | URL | string, init?: RequestInit): Promise<Response>
  explain(
    input: Request | URL | string,
    init?: RequestInit,
    options?: { readonly hideConfigured?: boolean },
  ): Promise<Explanation>
}

/**
 * The one extension concept. `on…` observes: observers are not awaited, and what they throw or reject with is logged.
 */
export interface Plugin<I extends Identity = Identity> {
  readonly name: string
  /**
   * Called once, when the gateway stands, or with `reconfigure` has come to it. What it throws, these throw; a promise is not awaited,
   * and its rejection is logged.
   */
  onStart?(gateway: PluginHost): void
  /** Own endpoints. */
  readonly routes?: readonly PluginRoute[]
  /** Told of each call that is settled later, before its first attempt. */
  onRequest?(event: RequestEvent<I>): void
  /**
   * Lets a call in, or refuses it with a GatewayError; any other error is a 500. Plugins are asked in their order, after
   * `onRequest`. What it resolves to is settled once, also if a later plugin refuses the call. A promise that does not settle within
   * `limits.callbackMs`, and a value that is no admission (`true`, `false`, a text), are a 500 too; an admission that comes later is
   * settled.
   */
  admit?(call: AdmitCall<I>): Admission<I> | undefined | Promise<Admission<I> | undefined>
  /**
   * Told of each call upstream before it is made. Headers that it returns are added to that call, by lower-case name: trace context. They
   * have to be returned at once; those of a promise, and values that are no headers, are logged and ignored.
   */
  onUpstream?(event: UpstreamEvent): Readonly<Record<string, string>> | undefined
  /**
   * What a call cost. The first plugin that knows it is believed; `undefined`: unknown. It has to answer at once; a promise, and what is
   * no amount of 0 or more in a currency, are logged and taken for unknown.
   */
  costOf?(event: FinishEvent<I>): Cost | undefined
  /** Told once of each authenticated call to a model, after its last byte, whatever happened. */
  onFinish?(event: FinishEvent<I>): void | Promise<void>
}
