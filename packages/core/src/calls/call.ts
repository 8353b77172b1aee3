import type { Signal } from '../base/signal.ts'
import type { Limits, Logger } from '../config/config.ts'
import type { Identity, OnLoss } from '../config/identity.ts'
import type { MediaPolicy } from '../config/media-policy.ts'
import type { Plugin } from '../config/plugin.ts'
import type { ReferencePolicy } from '../config/references.ts'
import type { UpstreamWireCodec, WireCodec } from '../formats/codec.ts'
import type { Received } from '../formats/references/places.ts'
import type { Spool } from '../http/spool.ts'
import type { Transport } from '../http/transport.ts'
import type { Lane } from '../lanes/lane.ts'
import type { Health } from '../routing/health/health.ts'
import type { OverloadMemory } from '../routing/health/overload-memory.ts'
import type { NamingCall } from '../routing/named-models.ts'
import type { RoutingInput } from '../routing/request-traits.ts'
import type { ResolvedTarget, Router } from '../routing/router.ts'
import type { Hosting } from '../upstreams/upstream.ts'

/** A call whose targets are selected: to be called, or only to be explained. */
export interface SelectingCall extends Omit<RoutingInput, 'codec'>, NamingCall {
  /** The client's format, for chat generation. */
  readonly codec?: WireCodec | undefined
  readonly shared: Pick<GatewayContext, 'router' | 'logger'>
}

/** What one gateway's calls share. */
export interface GatewayContext {
  readonly router: Router
  readonly health: Health
  readonly overloads: OverloadMemory
  readonly onLoss: OnLoss
  readonly plugins: readonly Plugin[]
  readonly limits: Required<Limits>
  readonly logger: Logger
  /** In place of what the adapter brings. */
  readonly openSpool?: (() => Spool) | undefined
  /** Without it nothing that a client names by URL is fetched. */
  readonly media?: MediaPolicy | undefined
  /** Which references to stored state requests may make. */
  readonly references: ReferencePolicy
  /** Records that a caller received the ids of stored objects. Absent: nothing is recorded. */
  readonly claim?: ((identity: Identity | null, received: readonly Received[]) => Promise<void>) | undefined
}

/** One call to a model, whatever the operation. */
export interface TargetCall extends SelectingCall {
  readonly shared: GatewayContext
  readonly transport: Transport
  readonly signal: Signal
}

/** A request made ready for one target. */
export interface Prepared {
  readonly lane: Omit<Lane, 'upstreamFormat'> & Partial<Pick<Lane, 'upstreamFormat'>>
  readonly url: string
  /** Reads the upstream's errors. */
  readonly codec: Pick<UpstreamWireCodec, 'decodeError' | 'isAnswer'>
  readonly hosting?: Hosting | undefined
  /** Present for a GET that asks for a WebSocket: only 101 is a good response, and these are its headers. */
  readonly upgrade?: { headers(key: number | undefined): Readonly<Record<string, string>> }
  /** It asks for no answer of the model: the target's wishes for the body are not meant. */
  readonly asIs?: boolean
}

export type Prepare<P extends Prepared> = (target: ResolvedTarget, policy: OnLoss) => P | Promise<P>
