import type { JsonObject } from '../base/json/json.ts'
import type { Format, Operation } from '../base/names.ts'
import type { ModelDescription, ModelPrice } from '../formats/model-card.ts'
import type { Inbound, Reply } from '../http/inbound.ts'
import type { Admission, AdmitCall, CallerBudget } from './admission.ts'
import type { BodyLimits, CallBodies } from './call-bodies.ts'
import type { Explanation } from './explanation.ts'
import type { Attempt, Cost, FinishEvent } from './finish-event.ts'
import type { Identity } from './identity.ts'
import type { GatewayNotice } from './notices.ts'

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
   * Admits a call, or rejects it by throwing a GatewayError. Plugins are called in order, after `onRequest` and before the gateway reads its
   * response store for the call (see `Admission.extend`). An admission is settled once, even if a later plugin rejects the call.
   *
   * Every other failure is a 500: another exception, a promise that does not settle within `limits.callbackMs`, and a value that is not
   * an admission (`true`, `false`, a string). An admission that arrives late is settled.
   */
  admit?(call: AdmitCall<I>): Admission<I> | undefined | Promise<Admission<I> | undefined>
  /**
   * Returns the admission of a deferred reservation, whose `settle` is then called with the usage of the batch or the background response.
   * It must be synchronous. If it throws or returns nothing, the reservation is not settled.
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
