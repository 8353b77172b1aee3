import type { CaptureSettings } from '../accounting/call-capture.ts'
import type { Canceller, Signal } from '../base/async.ts'
import type { RetryScope } from '../base/error-kinds.ts'
import type { GatewayError } from '../base/errors.ts'
import type { UpstreamFormat } from '../base/names.ts'
import type { Logger } from '../config/config.ts'
import type { Attempt as AttemptEvent } from '../config/finish-event.ts'
import type { Identity, OnLoss } from '../config/identity.ts'
import type { Limits } from '../config/limits.ts'
import type { MediaPolicy } from '../config/media-policy.ts'
import type { Plugin } from '../config/plugin.ts'
import type { ReferencePolicy } from '../config/references.ts'
import type { BodyChanges, MarkedCall } from '../formats/cache-marks/conversation.ts'
import type { ClientWireCodec } from '../formats/codec.ts'
import type { Received } from '../formats/references/places.ts'
import type { Spool } from '../http/spool.ts'
import type { Transport } from '../http/transport.ts'
import type { LaneParts } from '../lanes/generation.ts'
import type { RequestWriter, ResponseStream, TargetRequest, WholeResponse } from '../lanes/lane.ts'
import type { CardSource } from '../routing/card-source.ts'
import type { OverloadMemory } from '../routing/health/cooldowns.ts'
import type { Health } from '../routing/health/health.ts'
import type { RoutingInput } from '../routing/request-traits.ts'
import type { ModelNamingCall, Plan, ResolvedTarget, Router } from '../routing/router.ts'
import type { relayBytes } from './relay-bytes.ts'
import type { relayStream } from './relay-stream.ts'
import type { Pump } from './response-body.ts'

/** Steps that an operation leaves out of the search for a response. */
export interface SearchOptions {
  /** False: targets keep the plan's order, whatever they lose of the request. */
  readonly preferLossless?: boolean
  /** False: each target is called once at most. */
  readonly repeats?: boolean
  /** False: a rate-limited target is not waited for. */
  readonly waits?: boolean
  /** False: no second target is called while the first has not responded. */
  readonly hedges?: boolean
}

/** A call whose targets are selected, to be called or only to be explained. */
export interface SelectingCall extends Omit<RoutingInput, 'codec'>, ModelNamingCall {
  /** The client's format, for chat generation. */
  readonly codec?: ClientWireCodec | undefined
  /** Default: the plan of the call's model for its caller. */
  readonly plan?: Plan | undefined
  readonly shared: Pick<GatewayContext, 'router' | 'logger' | 'cards'>
}

/** The background responses of one owner that the gateway polls. */
interface OwnerPolls {
  /** Functions that end the polling, by the ids of the responses. */
  readonly ends: Map<string, () => void>
  /** A further response of this owner was not polled, and this was logged: once, so that a caller cannot flood the log. */
  hasWarned: boolean
}

/** Returns the changes that mark the cached parts of a prompt. */
export type CacheChanges = (format: UpstreamFormat, call: MarkedCall) => BodyChanges | undefined

/** Code of calls that an edition of the gateway may leave out, as in `LaneParts`. */
export interface CallParts extends LaneParts {
  /** The marking of prompts for the caches of upstreams (`cache: 'auto'`). */
  loadCacheChanges(): CacheChanges | Promise<CacheChanges>
  /** The code of conditions (`when`). */
  loadConditions(): ConditionsCode | Promise<ConditionsCode>
}
type ConditionsCode = typeof import('../routing/request-traits.ts')

/** Shared by all calls under one configuration of a gateway. */
export interface GatewayContext {
  readonly parts: CallParts
  readonly router: Router
  readonly cards: CardSource
  readonly health: Health
  readonly overloads: OverloadMemory
  readonly onLoss: OnLoss
  readonly plugins: readonly Plugin[]
  /** Those with `onNotice`, so that calls without one cost nothing. */
  readonly noticePlugins: readonly Plugin[]
  /** Present if a plugin asks for bodies. */
  readonly capture?: CaptureSettings | undefined
  readonly limits: Required<Limits>
  readonly logger: Logger
  /** Replaces the adapter's spools. */
  readonly openSpool?: (() => Spool) | undefined
  /** Absent: media that clients name by URL is not fetched. */
  readonly media?: MediaPolicy | undefined
  /** Which references to stored state requests may make. */
  readonly references: ReferencePolicy
  /** Aborted when the gateway closes: work that no call waits for stops. */
  readonly closing: Canceller
  /** Background responses that the gateway polls, by their owner. Shared by all configurations. */
  readonly polledByOwner: Map<string, OwnerPolls>
  /** Records that a caller received the ids of stored objects. Absent: nothing is recorded. */
  readonly claim?: ((identity: Identity | null, received: readonly Received[]) => Promise<void>) | undefined
}

/** A call whose request is written for targets. */
export interface PreparingCall extends SelectingCall {
  readonly shared: GatewayContext
  readonly writer: RequestWriter
}

/** One call to a model, of any operation. */
export interface TargetCall extends PreparingCall {
  /** Default: all steps of the search. */
  readonly search?: SearchOptions | undefined
  readonly transport: Transport
  readonly signal: Signal
}

/** An entry of the call record's list of attempts, while it is filled in. */
export type AttemptLog = { -readonly [K in keyof AttemptEvent]: AttemptEvent[K] }

/** One target, while its call searches for a response. */
export interface Candidate {
  readonly target: ResolvedTarget
  /** The call does not use this target, or no longer does. */
  isOut: boolean
  /** Attempts so far. */
  attempts: number
  /** The earliest time of its next attempt, by `monotonicNow`. */
  readyAt: number
  /** The target gets the whole request: nothing but notes is lost. */
  isLossless: boolean
  /** Set by `prepareTarget`, also where a loss rejects the request. */
  request: TargetRequest | undefined
  /** The reason why the target cannot be sent the request. */
  refusal: GatewayError | undefined
  policy: OnLoss
}

/** An attempt to be made. */
export interface Step {
  readonly candidate: Candidate
  readonly request: TargetRequest
  readonly reason: AttemptLog['reason']
  readonly waitMs: number
}

/** A good response to an attempt. */
export type AttemptResult =
  | { readonly kind: 'whole'; readonly response: WholeResponse }
  | {
      readonly kind: 'stream'
      readonly relay: typeof relayStream
      readonly pump: Pump
      readonly stream: ResponseStream
      readonly abort: () => void
      readonly times: StreamTimes
      /** To be called when the first event arrives after the headers were sent. */
      readonly onFirst: () => void
    }
  /** The connection is now a WebSocket. */
  | { readonly kind: 'upgraded' }
  /** Neither JSON nor events: the bytes pass unchanged. */
  | {
      readonly kind: 'bytes'
      readonly relay: typeof relayBytes
      readonly pump: Pump
      /** The upstream's content type, and its length if the upstream states one. */
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

/** A failed attempt, and the targets that a retry may use. */
export interface AttemptFailure {
  readonly error: GatewayError
  readonly retry: RetryScope
}
