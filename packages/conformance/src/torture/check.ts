import type { GatewayConfig, ModelRoute } from '@modelgate/core'
import type { Upstream } from '../base/raw-upstream.ts'
import type { Format } from '../base/recorded-traffic.ts'

/** What a check found: its figure, and whether the promise holds; or why it cannot be asked of this gateway. */
export type Outcome =
  | {
      readonly held: boolean
      /** As the table prints it, in the promise's own terms: `1000/1000 closed, p50 1.8 ms, p99 9 ms`. */
      readonly figure: string
      /** What fell short, case by case, for who wants to mend it. */
      readonly notes?: readonly string[]
      /** What of the promise cannot be reached on Node: the figure reached, and the reason. All else of it has to hold. */
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
  /** What a client asks for so that the call goes to an upstream of this format. */
  model(upstream: Format): string
  /** What a call needs beside its content type and version: a credential, for some gateways where to go. */
  headers(pair: Pair): Readonly<Record<string, string>>
  /** Where /proc says how much memory and how many files it has. */
  readonly pid: number | undefined
  /** What it wrote to its terminal so far. */
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
   * Who is let in: two fixed callers (`callers`), or platform tokens kept in a folder or in Redis; `issue` makes some. Default:
   * the fixed ones.
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

/** What a process says of itself, after a collection of garbage. */
export interface Stats {
  readonly rss: number
  readonly heapUsed: number
  /** Bytes of buffers, which lie outside of the heap. */
  readonly external: number
  /** Open files and sockets; -1 where the system does not say. */
  readonly fds: number
  /** What keeps the process alive, by kind: sockets, timers. */
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

/** What only a gateway of our own can be asked. */
export interface OwnGateway {
  readonly server: string
  stats(): Promise<Stats>
  /** What onFinish told since the last time it was asked. */
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

/** What checks have to work with. */
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
