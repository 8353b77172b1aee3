import type { GatewayConfig, ModelRoute } from '@modelgate/core'
import { type ClientFormat, clientFormats } from '../base/client-formats.ts'
import type { Upstream } from '../base/raw-upstream.ts'
import { type Format, formats } from '../base/recorded-traffic.ts'

/**
 * Result of a check: the measured figure and whether the promise holds, or the reason why this gateway cannot be
 * checked.
 */
export type Outcome =
  | {
      readonly held: boolean
      /** Shown in the table, in the promise's own terms: `1000/1000 closed, p50 1.8 ms, p99 9 ms`. */
      readonly figure: string
      /** Failed cases, for debugging. */
      readonly notes?: readonly string[]
      /** The part of the promise that Node cannot keep: measured figure and reason. The rest must hold. */
      readonly limit?: string
      /** Of a failed check: it only missed times, and everything else holds. On a busy machine, this means little. */
      readonly late?: boolean
    }
  | { readonly skipped: string }

/** One row of the torture table. */
export interface Check {
  /** Number of the row. */
  readonly row: number
  readonly group: string
  readonly title: string
  readonly promise: string
  /**
   * The result depends on the server that the gateway is mounted in: checked with each server, also in the short form.
   */
  readonly perServer?: true
  run(setting: CheckContext): Promise<Outcome>
}

/** A client's format and the format of the model's upstream. */
export interface Pair {
  readonly client: ClientFormat
  readonly upstream: Format
}

/** A gateway in another process. */
export interface Target {
  readonly name: string
  readonly origin: string
  /** Every supported pair. */
  readonly pairs: readonly Pair[]
  /** Returns the model that routes to an upstream of this format. */
  model(upstream: Format): string
  /** Returns additional request headers: a credential, and for some gateways the destination. */
  headers(pair: Pair): Readonly<Record<string, string>>
  /** Process id for /proc, which reports memory and open files. */
  readonly pid: number | undefined
  /** Returns the output so far. */
  log(): string
  /** Only for a gateway that this kit started. */
  readonly local: LocalGateway | undefined
  stop(): Promise<void>
}

/**
 * Configuration of a gateway that this kit starts, as JSON for its process. The default gateway has an empty profile:
 * without retries, circuit breaker and shared health, so that calls are independent.
 */
export interface Profile extends Pick<GatewayConfig<string>, 'limits' | 'retry' | 'breaker' | 'onLoss'> {
  /** Uses the default retries, circuit breaker and health. */
  readonly defaults?: true
  /** Model routes in addition to `chat-model`, `messages-model`, `gemini-model` and `responses-model`. */
  readonly models?: Readonly<Record<string, ModelRoute>>
  /**
   * Upstreams in addition to `chat`, `messages`, `gemini` and `responses`. Default key: `upstreamKey` of gateways.ts.
   */
  readonly upstreams?: Readonly<Record<string, { format: Format | 'cohere'; baseURL: string; apiKey?: string }>>
  readonly explain?: boolean
  /** Calls upstreams with `globalThis.fetch` instead of the adapter's transport. */
  readonly fetch?: 'global'
  /**
   * Authentication: two fixed callers (`callers`), or platform tokens in a folder or in Redis, which `issue` creates.
   * Default: fixed callers.
   */
  readonly tokens?:
    | { readonly folder: string }
    | { readonly redis: string; readonly prefix: string; readonly localMs?: number; readonly staleMs?: number }
  /** Collects the exports of the OpenTelemetry plugin for `spans`. */
  readonly traces?: boolean
  /** Allows `stepClock` to set the process's time of day. */
  readonly steppable?: true
}

/** API keys of the two fixed callers. `narrow` may use `chat-model` only. */
export const callers = { alice: 'client-token-of-alice-77f3', narrow: 'client-token-of-bob-19c2' } as const

/** Statistics of a process after garbage collection. */
export interface Stats {
  readonly rss: number
  readonly heapUsed: number
  /** Bytes of buffers outside of the heap. */
  readonly external: number
  /** Number of open files and sockets; -1 if the system does not report it. */
  readonly fds: number
  /** Resources that keep the process alive, by kind: sockets, timers. */
  readonly resources: Readonly<Record<string, number>>
  readonly unhandledRejections: number
  /** Properties that were added to Object.prototype and Array.prototype since the process started. */
  readonly polluted: readonly string[]
}

/** One call as reported to onFinish. */
export interface Finished {
  readonly requestId: string
  readonly outcome: string
  /** Kind of the error that ended the call, or its specific code. */
  readonly error: string | undefined
  readonly status: number
  readonly identity: string | null
  readonly model: string | null
  readonly attempts: number
  readonly inputTokens: number
  readonly outputTokens: number
}

/** A route of a gateway, as clients see it. */
export interface GatewayRoute {
  readonly method: string
  /** `{model}` is a placeholder for a name. */
  readonly path: string
  readonly operation: string
  readonly format: Format
  /** Another format for requests that have this header. */
  readonly formatByHeader: Readonly<Record<string, Format>>
  /** Also served without its version prefix. */
  readonly bare: boolean
  /** Accepts the credential in the query, as `?key=`. */
  readonly queryKey: boolean
  /** Accepts the credential among the WebSocket subprotocols. */
  readonly protocolKey: boolean
}

/** Additional controls of a gateway that this kit started. */
export interface LocalGateway {
  readonly server: string
  stats(): Promise<Stats>
  /** Returns the onFinish events since the last call. */
  finished(): Promise<readonly Finished[]>
  /** Replaces the running configuration. */
  reconfigure(profile: Profile): Promise<void>
  /** Issues a platform token; only with `tokens`. */
  issue(token: Readonly<Record<string, unknown>>): Promise<{ id: string; secret: string }>
  revoke(id: string): Promise<void>
  /** Returns everything that OpenTelemetry exported so far, as text; only with `traces`. */
  spans(): Promise<string>
  /** Steps the process's time of day forwards or backwards, in milliseconds; only with `steppable`. */
  stepClock(ms: number): Promise<void>
  /** Returns every route of the gateway. */
  routes(): Promise<readonly GatewayRoute[]>
  /**
   * Stops the process with SIGTERM, as a well-behaved host does. Resolves to the exit code, or the signal that was
   * necessary.
   */
  close(): Promise<number | string>
}

/** Fixture of a check. */
export interface CheckContext {
  readonly target: Target
  readonly upstream: Upstream
  /** True for the short form, with fewer repetitions. */
  readonly short: boolean
  /** Returns the number of repetitions: as promised, or fewer in the short form. */
  count(full: number, short: number): number
  /**
   * Starts another gateway of the same kind with another configuration, in its own process, until the check ends.
   * Undefined if the target cannot be configured.
   */
  fresh(profile: Profile): Promise<(Target & { readonly local: LocalGateway }) | undefined>
}

/** A pair with an unstreamed or a streamed response. */
export interface PairVariant extends Pair {
  readonly stream: boolean
}

/** Returns each pair of the target, unstreamed and streamed. */
export const variantsOf = (target: Target): PairVariant[] =>
  target.pairs.flatMap((pair) => [false, true].map((stream) => ({ ...pair, stream })))

/** Returns each pair of the target once, half of them streamed, including every format. */
export const someVariantsOf = (target: Target): PairVariant[] =>
  target.pairs.map((pair) => ({
    ...pair,
    stream: (clientFormats.indexOf(pair.client) + formats.indexOf(pair.upstream)) % 2 === 1,
  }))

export const variantName = ({ client, upstream, stream }: PairVariant): string =>
  `${client} from ${upstream}, ${stream ? 'streamed' : 'whole'}`
