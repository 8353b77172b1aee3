import type { GatewayConfig, ModelRoute } from '@modelgate/core'
import type { Upstream } from '../base/raw-upstream.ts'
import { type Format, formats } from '../base/recorded-traffic.ts'

/** Result of a check: its figure, and whether the promise holds; or the reason why this gateway cannot be checked. */
export type Outcome =
  | {
      readonly held: boolean
      /** As the table prints it, in the promise's own terms: `1000/1000 closed, p50 1.8 ms, p99 9 ms`. */
      readonly figure: string
      /** Failed cases, for debugging. */
      readonly notes?: readonly string[]
      /** The part of the promise that Node cannot keep: the measured figure, and the reason. The rest has to hold. */
      readonly limit?: string
    }
  | { readonly skipped: string }

/** One row of the promises. */
export interface Check {
  /** Its number there. */
  readonly row: number
  readonly group: string
  readonly title: string
  readonly promise: string
  /** The server that the gateway is mounted in has a part in it: asked of each, also in the short form. */
  readonly perServer?: true
  run(setting: Setting): Promise<Outcome>
}

/** A client's dialect, and that of the upstream behind the model's name. */
export interface Pair {
  readonly client: Format
  readonly upstream: Format
}

/** A gateway in a process of its own. */
export interface Target {
  readonly name: string
  readonly origin: string
  /** Every pair it serves. */
  readonly pairs: readonly Pair[]
  /** Returns the model that routes to an upstream of this format. */
  model(upstream: Format): string
  /** Returns additional request headers: a credential, and for some gateways the destination. */
  headers(pair: Pair): Readonly<Record<string, string>>
  /** Process id for /proc, which reports memory and open files. */
  readonly pid: number | undefined
  /** Returns the output so far. */
  log(): string
  /** Only of our own. */
  readonly own: OwnGateway | undefined
  stop(): Promise<void>
}

/**
 * How one of our own gateways is configured: everything a process can be told as JSON. The standing one has an empty profile: no
 * retries, no breaker and no memory of failures, so that each call is looked at by itself.
 */
export interface Profile extends Pick<GatewayConfig<string>, 'limits' | 'retry' | 'breaker' | 'onLoss'> {
  /** Retries, breaker and health as a user gets who configures none of them. */
  readonly defaults?: true
  /** Model routes beside `chat-model`, `messages-model`, `gemini-model` and `responses-model`. */
  readonly models?: Readonly<Record<string, ModelRoute>>
  /** Upstreams beside `chat`, `messages`, `gemini` and `responses`. Default key: `upstreamKey` of gateways.ts. */
  readonly upstreams?: Readonly<Record<string, { format: Format | 'cohere'; baseURL: string; apiKey?: string }>>
  readonly explain?: boolean
  /** Upstreams are called by `globalThis.fetch` instead of the adapter's transport. */
  readonly fetch?: 'global'
  /**
   * Authentication: two fixed callers (`callers`), or platform tokens in a folder or in Redis; `issue` creates some. Default:
   * fixed callers.
   */
  readonly tokens?:
    | { readonly folder: string }
    | { readonly redis: string; readonly prefix: string; readonly localMs?: number; readonly staleMs?: number }
  /** Collects what the OpenTelemetry plugin exports, for `spans`. */
  readonly traces?: boolean
  /** The process's time of day can be set, by `stepClock`. */
  readonly steppable?: true
}

/** The two fixed callers, by what they send as their key. `narrow` may use `chat-model` only. */
export const callers = { alice: 'client-token-of-alice-77f3', narrow: 'client-token-of-bob-19c2' } as const

/** Statistics of a process after garbage collection. */
export interface Stats {
  readonly rss: number
  readonly heapUsed: number
  /** Bytes of buffers, which lie outside of the heap. */
  readonly external: number
  /** Open files and sockets; -1 where the system does not say. */
  readonly fds: number
  /** Resources that keep the process alive, by kind: sockets, timers. */
  readonly resources: Readonly<Record<string, number>>
  readonly unhandledRejections: number
  /** Properties that Object.prototype and Array.prototype have come by since the process began. */
  readonly polluted: readonly string[]
}

/** One call as onFinish told of it. */
export interface Finished {
  readonly requestId: string
  readonly outcome: string
  /** The kind of the error it ended with, or its code where it has one of its own. */
  readonly error: string | undefined
  readonly status: number
  readonly identity: string | null
  readonly model: string | null
  readonly attempts: number
  readonly inputTokens: number
  readonly outputTokens: number
}

/** A route of a gateway, by what a client sees of it. */
export interface GatewayRoute {
  readonly method: string
  /** `{model}` stands for a name. */
  readonly path: string
  readonly operation: string
  readonly format: Format
  /** Answered without its version prefix too. */
  readonly bare: boolean
  /** The credential may stand in the query, as `?key=`. */
  readonly queryKey: boolean
  /** The credential may stand among the WebSocket subprotocols. */
  readonly protocolKey: boolean
}

/** Additional controls of our own gateway. */
export interface OwnGateway {
  readonly server: string
  stats(): Promise<Stats>
  /** Returns the onFinish events since the last call. */
  finished(): Promise<readonly Finished[]>
  /** Puts another configuration in place of the running one. */
  reconfigure(profile: Profile): Promise<void>
  /** Issues a platform token; only with `tokens`. */
  issue(token: Readonly<Record<string, unknown>>): Promise<{ id: string; secret: string }>
  revoke(id: string): Promise<void>
  /** Everything exported by OpenTelemetry so far, as text; only with `traces`. */
  spans(): Promise<string>
  /** Sets the process's time of day ahead, or back, by milliseconds; only with `steppable`. */
  stepClock(ms: number): Promise<void>
  /** Every route of the gateway, as its table has them. */
  routes(): Promise<readonly GatewayRoute[]>
  /** Closes as a well-behaved host does (SIGTERM): resolves to the exit code, or the signal that had to be used. */
  close(): Promise<number | string>
}

/** Tools of the checks. */
export interface Setting {
  readonly target: Target
  readonly upstream: Upstream
  /** The short form: fewer of the same. */
  readonly short: boolean
  /** How many: as promised, or fewer in the short form. */
  count(full: number, short: number): number
  /**
   * One more gateway of the same kind with another configuration, in a process of its own; it is stopped when the check is
   * over. Undefined where the target is not ours to configure.
   */
  fresh(profile: Profile): Promise<(Target & { readonly own: OwnGateway }) | undefined>
}

/** A pair, asked for a whole answer or for a stream. */
export interface Way extends Pair {
  readonly stream: boolean
}

/** Each pair of the target, asked for both. */
export const waysOf = (target: Target): Way[] =>
  target.pairs.flatMap((pair) => [false, true].map((stream) => ({ ...pair, stream })))

/** A few of them, every dialect among them: each pair of the target once, half of them streamed. */
export const fewWaysOf = (target: Target): Way[] =>
  target.pairs.map((pair) => ({
    ...pair,
    stream: (formats.indexOf(pair.client) + formats.indexOf(pair.upstream)) % 2 === 1,
  }))

export const wayName = ({ client, upstream, stream }: Way): string =>
  `${client} from ${upstream}, ${stream ? 'streamed' : 'whole'}`
