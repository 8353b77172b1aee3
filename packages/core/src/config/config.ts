import type { JsonObject } from '../base/json/types.ts'
import type { Format, Operation } from '../base/names.ts'
import type { Spool } from '../http/spool.ts'
import type { Transport } from '../http/transport.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import type { Identity, OnLoss } from './identity.ts'
import type { MediaPolicy } from './media-policy.ts'
import type { Plugin } from './plugin.ts'
import type { ReferencesConfig } from './references.ts'
import type { HealthState, ResponseStore } from './stores.ts'

/** What `auth` may look at beside the credential. */
export interface AuthRequest {
  readonly method: string
  readonly path: string
  header(name: string): string | undefined
}

/**
 * Verifies a credential: the caller's identity, or null (401). A GatewayError that it throws is told to the client; any other
 * is a 500 and is logged, and so is a promise that does not settle within `limits.callbackMs`, and anything else that it returns:
 * `true`, a text, or an identity without an `id`.
 */
export interface Authenticate<I extends Identity = Identity> {
  (credential: string, request: AuthRequest): I | null | Promise<I | null>
  /** What belongs to it and is added to the gateway's plugins, in front of the others: limits that hold for its identities. */
  readonly plugin?: Plugin
}

/** Where a model's calls go. */
export interface Target<U extends string = string, I extends Identity = Identity> {
  upstream: U
  /** The model's name at the upstream; a `*` in it stands for what the `*` of the route's name matched. Default: the name the client asked for. */
  model?: string
  /** As `onLoss` of the gateway, for calls to this target. */
  onLoss?: OnLoss
  /** Targets with the lowest number come first; the others are there for when those fail. Default 0. */
  priority?: number
  /** Its share of the calls beside targets of the same priority, for the strategies `weighted` and `sticky`. Default 1. */
  weight?: number
  /**
   * Which requests may go here: those that use one of the named features (`'images'`), or those for which the function says
   * returns `true`, at once: targets are chosen without waiting. Where it throws, the target is skipped and a warning logged; a promise
   * is a no, and logged as an error. What has to be looked up belongs into the identity that `auth` returns. Default: all.
   */
  when?: Feature | readonly Feature[] | ((request: RequestTraits<I>) => boolean)
  /**
   * Top-level fields of the body as it goes to this upstream, in the upstream's own words, for requests that do not set them.
   * Objects are filled in, not replaced.
   */
  defaults?: JsonObject
  /**
   * Top-level fields of the body as it goes to this upstream, whatever the request says; `null` takes a field out. Objects
   * are merged. A client's value that is replaced so is reported as a note.
   */
  overrides?: JsonObject
  /** Time limits of calls to this target, in place of the gateway's `limits`. */
  limits?: TargetLimits
}

/** Time limits of one target, in milliseconds, each greater than 0. */
export interface TargetLimits {
  /** Until a connection stands (504 `upstream_connect_timeout`). Default: the transport's own, 10 s on Node. Kept by transports that know when they connect: that of the Node adapters. */
  connectMs?: number
  /** Until the answer, or a stream's first event, has begun (504 `upstream_timeout`). */
  firstByteMs?: number
  /** Of silence within an answer (502 `upstream_idle_timeout`, or an error within the stream). Comments of an event stream count as silence. */
  idleMs?: number
  /** From the call until its last byte, streams included (504 `upstream_total_timeout`). Default: none. */
  totalMs?: number
}

/** What a request may use, beside text. */
export type Feature = 'tools' | 'images' | 'audio' | 'video' | 'documents' | 'json' | 'reasoning' | 'stream'

/** What a target's `when` may look at. */
export interface RequestTraits<I extends Identity = Identity> {
  /** As the client named it. */
  readonly model: string
  readonly operation: Operation
  /** The client's format. */
  readonly format: Format
  readonly stream: boolean
  readonly identity: I | null
  /** The client's body, in its own format. Uploads: their fields. */
  readonly body: JsonObject
  /** Size of the body in characters: about four make a token. */
  readonly bodyChars: number
  /** A header of the client, by lower-case name. */
  header(name: string): string | undefined
  /** Whether the request uses a feature. */
  uses(feature: Feature): boolean
}

/**
 * How targets of one priority are ordered: as written; at random by weight; the fastest to its first event lately; or the
 * same one for the same prompt prefix, session or cache key, so that the provider's prompt cache is hit.
 */
export type Strategy = 'order' | 'weighted' | 'fastest' | 'sticky'

/** What is tried, and how often, before a call fails. */
export interface RetryConfig {
  /** Calls upstream for one call of a client, at most, the first one included. Default 3. */
  attempts?: number
  /** Milliseconds that a retry waits at most because an upstream asked for it (`Retry-After`, RetryInfo). Longer wishes are passed on to the client. Default: 10 s. */
  maxWaitMs?: number
  /** Milliseconds of the first back-off, where no upstream says how long; doubled each time, and each wait is a random part of it. Default 500. */
  backoffMs?: number
  /** Longest back-off in milliseconds. Default: 8 s. */
  maxBackoffMs?: number
  /** Retries that an upstream gets beside its calls, as a share of them. Default 0.2. */
  budgetRatio?: number
  /** Retries within ten seconds that an upstream gets however few its calls are. Default 3. */
  budgetFloor?: number
}

/**
 * When a target that keeps failing is left alone. It holds for each caller; all callers are kept away where so many of them fail, or the
 * upstream itself does (docs/routing.md).
 */
export interface BreakerConfig {
  /** Failures in a row that open it. Default 5. */
  failures?: number
  /** Share of failed calls that opens it, of the last `window` calls. Default 0.5. */
  failureRate?: number
  /** How many of the last calls the rate is taken of; with fewer it says nothing. Default 20. */
  window?: number
  /** Milliseconds until one call is let through to see whether the target is back. Default: 5 s. */
  restMs?: number
}

/** A model's targets, with how to choose among them. */
export interface RoutePlan<U extends string = string, I extends Identity = Identity> {
  targets: readonly (U | Target<U, I>)[]
  /** Default `'order'`; `'weighted'` where a target has a `weight`. */
  strategy?: Strategy
  /**
   * Among targets of one priority, one that carries the whole request goes before one that would lose some of it. Default true.
   */
  preferLossless?: boolean
  /** As `retry` of the gateway, for this model. */
  retry?: RetryConfig
  /**
   * Milliseconds without a first event after which the next target is called beside the first: the first to answer wins, the
   * other is aborted. Both may be billed. Default: never.
   */
  hedgeMs?: number
}

/** An upstream's name (same model name there), a target, a list of targets tried in order, or a plan. */
export type ModelRoute<U extends string = string, I extends Identity = Identity> =
  | U
  | Target<U, I>
  | readonly (U | Target<U, I>)[]
  | RoutePlan<U, I>

/** Where warnings and errors go: `console` is one. Nobody waits for it, and what it throws or rejects with is ignored. */
export interface Logger {
  warn(message: string, details?: unknown): void
  error(message: string, details?: unknown): void
}

/** Bounds of a call in bytes and milliseconds. A gateway's hold for all calls; a target may have its own (`TargetLimits`). */
export interface Limits {
  /** Largest request body in bytes; larger ones are answered 413. Default 32 MiB. */
  bodyBytes?: number
  /**
   * Largest upload (a multipart body) in bytes; larger ones are answered 413. Default 512 MiB. Where the server has no place to
   * put it but memory (outside of the adapters for Node), `bodyBytes` holds for uploads too.
   */
  uploadBytes?: number
  /**
   * Most values and names in a request's JSON body: objects, lists, their members and elements. More are answered 400, since reading
   * millions of them holds up every other call, however small they are. Default 350,000: more than the tokens of the largest
   * embeddings call.
   */
  values?: number
  /** Deepest nesting of a request body; deeper ones are answered 400. Default 128. */
  depth?: number
  /** Milliseconds until a streaming call is answered 200 with heartbeats though the upstream has sent no event yet. Default: 30 s. */
  holdMs?: number
  /** Milliseconds until an upstream that has not begun to answer is given up (504). Default: 10 min. */
  firstByteMs?: number
  /**
   * Milliseconds of upstream silence within an answer until it is given up. Comments of an event stream count as silence.
   * Default: 5 min.
   */
  idleMs?: number
  /** Milliseconds from a call upstream until its last byte, streams included, also if the client does not read. Default: no limit. */
  totalMs?: number
  /**
   * Milliseconds for which a client may take no byte of its response while there are some for it. Then the call ends as aborted, the
   * upstream's connection and the client's are closed. Holds for realtime sessions too. Default: 5 min.
   */
  clientStallMs?: number
  /**
   * Milliseconds that a promise of one of the host's own functions is awaited: `auth`, `admit` of a plugin, `explain`, `media.allows`,
   * `tokenizer`, and each call of a response store and of a spool. Default: 30 s, which is longer than a database that is only slow needs, and
   * shorter than clients and proxies wait.
   */
  callbackMs?: number
  /** Milliseconds of silence towards the client until a heartbeat is sent. Default: 14 s. */
  heartbeatMs?: number
  /**
   * Largest upstream JSON answer, and largest single stream event, in bytes. Default 64 MiB. The last event of a translated stream for
   * a client of responses repeats the whole answer: there it bounds the answer.
   */
  answerBytes?: number
  /** Milliseconds without a message from either side until a realtime session is closed (1001). Default: 15 min. */
  realtimeIdleMs?: number
  /** Largest message of a realtime session in bytes, in both directions; larger ones close it (1009). Default 16 MiB. */
  realtimeMessageBytes?: number
}

/** Where answers to `/v1/responses` are kept, and for how long. */
export interface ResponsesConfig {
  /**
   * Default: in the memory of this process, 32 Mi characters at most; with `auth: 'none'` nowhere. `false`: nothing is kept, and
   * no reference is known as a caller's own.
   */
  store?: ResponseStore | false
  /** Milliseconds for which a response is kept. Default 24 hours. */
  ttlMs?: number
}

/** What `createGateway` takes. It is checked once; a TypeError says what to write instead. */
export interface GatewayConfig<U extends string = string, I extends Identity = Identity> {
  /**
   * Verifies credentials. `'none'` accepts every call. Written before the options below, it gives their functions the type
   * of the identities that it returns.
   */
  auth: Authenticate<I> | 'none'
  /** Where calls can go, by names of your own: `models` speak of them, and so do headers, events and logs. */
  upstreams: Readonly<Record<U, Upstream>>
  /** What a client may ask for: exact names, and names in which `*` stands for anything. Exact names win, then the name with the most characters beside its `*`. Names of more than 256 characters are not known. */
  models: Readonly<Record<string, ModelRoute<NoInfer<U>, NoInfer<I>>>>
  /** Names that model lists show in addition to the exact names of `models`: some of those that its patterns match. Default: none. */
  listedModels?: readonly string[]
  /** What happens when a request cannot be carried whole: `'warn'` (default) says so in the `modelgate-loss` header, `'reject'` answers 400, `'ignore'` only tells onFinish. */
  onLoss?: OnLoss
  /**
   * Who may ask, with `?modelgate=explain` on a generation path, what would be sent upstream and what would be lost, without
   * a call being made. The answer holds upstream names and paths, no secrets. A function permits it by `true` alone, at once or within
   * `limits.callbackMs`; what it throws or rejects with is treated as for `auth`. Default false; `gateway.explain` always works.
   */
  explain?: boolean | ((identity: NoInfer<I> | null) => boolean | Promise<boolean>)
  /**
   * Counts tokens where no upstream does, and the answer is marked as an estimate. Called once for a count, with all text of
   * the request; images and other media are added at fixed numbers. Default: OpenAI's o200k_base, if the package
   * `gpt-tokenizer` is installed, else four characters are taken for a token. A tokenizer that throws, rejects,
   * returns no number or does not settle within `limits.callbackMs` is logged, and characters are counted.
   */
  tokenizer?: Tokenizer
  /** Where answers to `/v1/responses` are kept for `previous_response_id`, references to items, and later retrieval. */
  responses?: ResponsesConfig
  /**
   * Which references to stored state a request may make, by kind. `'own'`: what the gateway knows as the caller's; `'pass'`: also
   * what it doesn't know; a list: these ids, for every caller, and the caller's own. What the gateway knows as another
   * caller's response is refused in any case. Default of each kind: `'own'`.
   */
  references?: ReferencesConfig
  /** What is told of calls, lets them in, or adds endpoints. They are asked and told in this order. Default: none. */
  plugins?: readonly Plugin<NoInfer<I>>[]
  /** Bounds of every call, in bytes and milliseconds; see `Limits` for the defaults. */
  limits?: Limits
  /** What is tried, and how often, before a call fails; see `RetryConfig` for the defaults. `false`: each call is tried once. */
  retry?: RetryConfig | false
  /** When a target that keeps failing is left alone; see `BreakerConfig` for the defaults. `false`: never. */
  breaker?: BreakerConfig | false
  /** Where it stands which targets and keys rest. Default: in the memory of this process; see `HealthState`. */
  health?: HealthState
  /**
   * Where uploads (multipart bodies) are put until the upstream has them, one spool for each. Default: what the adapter brings,
   * for Node a temporary file; elsewhere memory, within `limits.bodyBytes`.
   */
  spool?: () => Spool
  /**
   * Which images, documents and sounds that a chat request names by URL the gateway may fetch, to send them as data to upstreams that
   * could not be sent the address. Default: none; nothing a client names is ever fetched. See `mediaFetcher` of the Node adapters.
   */
  media?: MediaPolicy
  /** Path prefix under which the host serves the gateway (`/ai`); stripped before matching. */
  basePath?: string
  /**
   * Makes the upstream calls instead of the adapter's transport. Time limits hold whether or not it listens to its signal; a response
   * that comes later is cancelled.
   */
  fetch?: typeof fetch
  /**
   * Sends the upstream calls of every adapter, instead of the adapter's own transport: on Node, `undiciTransport(options)` of
   * `@modelgate/node` with other settings. Not used for realtime sessions. Cannot be combined with `fetch`.
   */
  transport?: Transport
  /** Default: warnings and errors go to `console`. `false`: nothing. */
  logger?: Logger | false
}

/** Counts a text's tokens. */
export type Tokenizer = (text: string) => number | Promise<number>
