import type { JsonObject } from '../base/json/json.ts'
import type { Format, Operation } from '../base/names.ts'
import type { ModelCard, ModelCardTable } from '../formats/model-card.ts'
import type { Spool } from '../http/spool.ts'
import type { Transport } from '../http/transport.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import type { Identity, OnLoss } from './identity.ts'
import type { Limits, TargetLimits } from './limits.ts'
import type { MediaPolicy } from './media-policy.ts'
import type { Plugin } from './plugin.ts'
import type { ReferencesConfig } from './references.ts'
import type { HealthState, ResponseStore } from './stores.ts'

/**
 * Configuration of `createGateway`. It is validated once, at the start and on `reconfigure`: a TypeError names the option and a valid value.
 *
 * @example
 * const gateway = createGateway({
 *   auth: (token) => (token === process.env.TOKEN ? { id: 'me' } : null),
 *   upstreams: { openai: openai({ apiKey: process.env.OPENAI_API_KEY }) },
 *   models: { 'gpt-*': 'openai' },
 * })
 */
export interface GatewayConfig<U extends string = string, I extends Identity = Identity> {
  /**
   * Authenticates callers. `'none'` accepts every call. Write it before the other options, so that TypeScript infers the type of
   * `identity` in their functions from it.
   */
  auth: Authenticate<I> | 'none'
  /** Upstreams by name. Routes, response headers, events and logs refer to these names. */
  upstreams: Readonly<Record<U, Upstream>>
  /**
   * Model routes by the model name of the client. A `*` in a name matches any text. An exact name takes precedence over patterns, and a
   * pattern with more characters over one with fewer. Names of more than 256 characters are unknown models.
   *
   * @example { 'gpt-5': 'openai', 'claude-*': ['anthropic', { upstream: 'bedrock', model: 'anthropic.claude-*' }] }
   */
  models: Readonly<Record<string, ModelRoute<NoInfer<U>, NoInfer<I>>>>
  /** Names for model lists, in addition to the exact names of `models`. Each must match a pattern of `models`. Default: none. */
  listedModels?: readonly string[]
  /** Facts about models (context windows, prices) in model lists, in the Playground and for `when: 'fits'`. */
  modelCards?: ModelCardsConfig
  /**
   * Policy for requests that a translation cannot preserve completely. `'warn'` lists the losses in the `modelgate-loss` response header,
   * `'reject'` responds with 400, `'ignore'` reports them only to plugins. Default: `'warn'`.
   */
  onLoss?: OnLoss
  /**
   * Callers that may add `?modelgate=explain` to a generation request, which returns the upstream request and its losses without calling
   * the upstream. The result contains upstream names and paths, but no secrets. A function permits it by returning `true`, or a promise
   * of `true` within `limits.callbackMs`; its errors are treated like those of `auth`. `gateway.explain` is always available.
   * Default: false.
   */
  explain?: boolean | ((identity: NoInfer<I> | null) => boolean | Promise<boolean>)
  /**
   * Counts the tokens of a text when no upstream can. The response is marked as an estimate. It is called once per count, with the whole
   * text of the request; images and other media count as fixed numbers. If it throws, rejects, returns no number, or does not settle
   * within `limits.callbackMs`, the failure is logged and characters are counted. Default: OpenAI's o200k_base if the package
   * `gpt-tokenizer` is installed, else four characters per token.
   */
  tokenizer?: Tokenizer
  /** Storage of responses to `/v1/responses`, for `previous_response_id`, references to items, and retrieval. */
  responses?: ResponsesConfig
  /** Files and conversations that clients create at upstreams. */
  objects?: ObjectsConfig<NoInfer<U>>
  /**
   * Compaction of conversations (`compaction_trigger`, `POST /v1/responses/compact`) for upstreams that cannot compact them: a model
   * writes a summary. `'refuse'`: such requests get a 400. Default: the requested model writes it, with the gateway's own prompt.
   */
  compaction?: CompactionConfig | 'refuse'
  /**
   * Rules for references to stored objects (files, responses), by kind. `'own'`: objects that the gateway knows as the caller's.
   * `'pass'`: also unknown objects. A list: these ids for every caller, in addition to the caller's own. A response that the gateway knows
   * as another caller's is always rejected. Default of each kind: `'own'`.
   */
  references?: ReferencesConfig
  /** Plugins, called in this order. Default: none. */
  plugins?: readonly Plugin<NoInfer<I>>[]
  /** Size and time limits of calls. See `Limits` for the defaults. */
  limits?: Limits
  /** Retries and fallbacks. `false`: one attempt per call. See `RetryConfig` for the defaults. */
  retry?: RetryConfig | false
  /** Circuit breaker of each target. `false`: none. See `BreakerConfig` for the defaults. */
  breaker?: BreakerConfig | false
  /** Storage of cooldowns of targets and keys; see `HealthState`. Default: the memory of this process. */
  health?: HealthState
  /**
   * Creates temporary storage for one upload (a multipart body), until it is sent to the upstream. Default: a temporary file in the Node
   * adapters; elsewhere memory, within `limits.bodyBytes`.
   */
  spool?: () => Spool
  /**
   * Permits the gateway to fetch images, documents and audio that a chat request refers to by URL, and to send them as data to upstreams
   * that accept no URL. See `mediaFetcher` of `@modelgate/node`. Default: nothing is fetched.
   */
  media?: MediaPolicy
  /** Path prefix under which the host serves the gateway, such as `/ai`. Removed before routes are matched. Default: none. */
  basePath?: string
  /**
   * Sends upstream calls in place of the adapter's transport. Time limits apply even if it ignores its signal; a late response is
   * cancelled. Default: the adapter's transport.
   */
  fetch?: typeof fetch
  /**
   * Sends upstream calls in every adapter, in place of the adapter's own transport: on Node, for example `undiciTransport(options)` of
   * `@modelgate/node`. Not used for realtime sessions. Cannot be combined with `fetch`.
   */
  transport?: Transport
  /** Receives warnings and errors. `false`: no output. Default: `console`. */
  logger?: Logger | false
}

/**
 * Verifies a credential. Returns the caller's identity, or null for an unknown credential (401).
 *
 * A thrown GatewayError is sent to the client. Every other failure is logged and sent as a 500: another exception, a promise that does
 * not settle within `limits.callbackMs`, and a value that is not an identity, such as `true` or an object without `id`.
 *
 * @example const auth: Authenticate = async (token) => (await findUser(token)) ?? null
 */
export interface Authenticate<I extends Identity = Identity> {
  (credential: string, request: AuthRequest): I | null | Promise<I | null>
  /** A plugin for the identities that this function returns, such as their limits. It is called before the plugins of `plugins`. */
  readonly plugin?: Plugin
}

/** The request of a credential that `auth` verifies. */
export interface AuthRequest {
  readonly method: string
  readonly path: string
  /** Returns a header of the client by its lower-case name. */
  header(name: string): string | undefined
}

/**
 * Receives log messages: `console`, a logger of pino or winston, or an object with these two functions. It is not awaited, and its
 * exceptions and rejections are ignored. Each logger receives errors in its own form, complete with their causes; see `toLogger`.
 */
export interface Logger {
  warn(message: string, details?: unknown): void
  error(message: string, details?: unknown): void
}

/** Returns the number of tokens of a text. */
export type Tokenizer = (text: string) => number | Promise<number>

/** Storage of responses to `/v1/responses`. */
export interface ResponsesConfig {
  /**
   * Store of responses. `false`: nothing is stored, and no reference counts as a caller's own. Default: the memory of this process with
   * at most 32 Mi characters; none with `auth: 'none'`.
   */
  store?: ResponseStore | false
  /** Lifetime of a stored response in milliseconds. Default: 24 hours. */
  ttlMs?: number
}

/** Where model cards come from, and who sees their prices. `card` of a target and of a plan, and `modelRules` of an upstream, precede them. */
export interface ModelCardsConfig {
  /**
   * Cards of models by their names at upstreams. `false`: none. Default: the table of well-known models that the package contains
   * (`@modelgate/core/model-cards`).
   */
  table?: ModelCardTable | false
  /**
   * Model lists and the Playground show the prices of the table, and model lists those of plugins. Default: false; they show only the
   * prices of a configured `card`.
   */
  prices?: boolean
}

/** Files, conversations and other objects that clients create at upstreams. */
export interface ObjectsConfig<U extends string = string> {
  /**
   * Upstreams that store new objects, by preference: the first one whose API has the kind of object in the client's format. Default: the
   * only upstream that has it; with several, clients receive an error that names this option.
   */
  upstreams?: readonly U[]
  /**
   * Milliseconds for which the gateway remembers the owner of an object. After that, its owner can no longer use it. Default: 30 days.
   */
  ttlMs?: number
}

/** How the gateway compacts conversations in place of upstreams that cannot. */
export interface CompactionConfig {
  /** Model that writes the summary, a name of `models`. Default: the requested model. */
  model?: string
  /** Instruction for the summary, sent as the last message of the conversation. Default: the gateway's own. */
  prompt?: string
  /**
   * Encrypts summaries, which clients keep and send back: a text of at least 32 characters. Set the same one in all processes, and keep it:
   * items of another secret are rejected. Default: a random one of this process, so that items are not readable after a restart.
   */
  secret?: string
}

/** Route of a model: the name of an upstream (with the same model name there), a target, a list of targets tried in order, or a plan. */
export type ModelRoute<U extends string = string, I extends Identity = Identity> =
  | U
  | Target<U, I>
  | readonly (U | Target<U, I>)[]
  | RoutePlan<U, I>

/** Targets of a model, with the settings for the choice among them. */
export interface RoutePlan<U extends string = string, I extends Identity = Identity> {
  targets: readonly (U | Target<U, I>)[]
  /** Order of targets with the same priority. Default: `'weighted'` if a target has a `weight`, else `'order'`. */
  strategy?: Strategy
  /** Prefers a target that preserves the whole request over others of the same priority. Default: true. */
  preferLossless?: boolean
  /** Facts about the model for clients, in place of those that all targets have in common. See `Target.card`. */
  card?: ModelCard
  /** Retries for this model; unset members are those of the gateway's `retry`. */
  retry?: RetryConfig
  /**
   * Milliseconds without a first event until the next target is called in parallel (hedging). The first response is used, the other call
   * is aborted; both may be billed. Default: never.
   */
  hedgeMs?: number
  /**
   * Point of a stream until which the gateway keeps its events back, for at most `holdMs`. A stream that fails before is retried or falls back.
   * `'end'`: the client gets a stream once it is complete, so that it never sees a broken one. Default: `'first-event'`.
   */
  holdUntil?: HoldUntil
}

/** Point of a stream until which a failure can still lead to another attempt. */
export type HoldUntil = 'first-event' | 'end'

/**
 * Order of targets with the same priority. `'order'`: as configured. `'weighted'`: random, in proportion to `weight`. `'fastest'`: by the
 * recent time to the first event. `'sticky'`: the same target for the same session, cache key or prompt prefix, so that the provider's
 * prompt cache is used.
 */
export type Strategy = 'order' | 'weighted' | 'fastest' | 'sticky'

/**
 * A target of a model: an upstream, and the model's name there.
 *
 * @example { upstream: 'azure', model: 'my-deployment', priority: 1, limits: { firstByteMs: 20_000 } }
 */
export interface Target<U extends string = string, I extends Identity = Identity> {
  /** Name of an upstream in `upstreams`. */
  upstream: U
  /** Model name at the upstream. Each `*` is replaced by the text that the `*` of the route's name matched. Default: the client's model name. */
  model?: string
  /** Loss policy for calls to this target. Default: `onLoss` of the gateway. */
  onLoss?: OnLoss
  /** Targets with a lower number are tried first; the others are fallbacks. Default: 0. */
  priority?: number
  /** Share of calls among targets of the same priority, for the strategies `weighted` and `sticky`. Default: 1. */
  weight?: number
  /**
   * Requests that this target accepts: those that use one of the features (`'images'`), or those for which the function returns `true`.
   * `'fits'`: those that fit the model's context window by an estimate. In a list, `'fits'` must hold in addition to one of the others.
   *
   * A function must be synchronous; put values that have to be looked up into the identity that `auth` returns. If it throws, the target
   * is skipped with a warning; a promise counts as false and is logged as an error. Default: all requests.
   *
   * @example ['fits', (request) => request.identity?.plan === 'free']
   */
  when?: TargetCondition<I> | readonly TargetCondition<I>[]
  /**
   * Facts about the model of this target, for model lists, the Playground and `when: 'fits'`. They precede those of the upstream's
   * `modelRules` and of the shipped table.
   */
  card?: ModelCard
  /**
   * Top-level fields of the upstream's request, in the upstream's format, for requests that do not set them. Objects are completed, not
   * replaced.
   */
  defaults?: JsonObject
  /**
   * Top-level fields of the upstream's request, in the upstream's format, that replace those of the client. `null` removes a field; objects
   * are merged. A replaced value of the client is reported as a note.
   */
  overrides?: JsonObject
  /**
   * `'auto'`: requests ask for their prompts to be cached, for clients that do not ask for it themselves. Requests in the `messages` and
   * `converse` formats get cache marks, requests in the `chat` and `responses` formats a `prompt_cache_key`. Requests that contain marks or
   * a key stay unchanged. Default: nothing is added.
   */
  cache?: 'auto'
  /** Time limits of calls to this target, in place of the gateway's `limits`. */
  limits?: TargetLimits
}

/** A condition of a target: see `Target.when`. */
export type TargetCondition<I extends Identity = Identity> = Feature | 'fits' | ((request: RequestTraits<I>) => boolean)

/** A capability that a request needs, in addition to text. */
export type Feature = 'tools' | 'images' | 'audio' | 'video' | 'documents' | 'json' | 'reasoning' | 'stream'

/** Properties of a request, for `when` of a target. */
export interface RequestTraits<I extends Identity = Identity> {
  /** Model name of the client. */
  readonly model: string
  readonly operation: Operation
  /** Format of the client. */
  readonly format: Format
  readonly stream: boolean
  readonly identity: I | null
  /** Body of the client, in its own format. For uploads: the fields. */
  readonly body: JsonObject
  /** Size of the body in characters, about four per token. */
  readonly bodyChars: number
  /** Returns a header of the client by its lower-case name. */
  header(name: string): string | undefined
  /** Returns whether the request uses a feature. */
  uses(feature: Feature): boolean
}

/** Retries and fallbacks of a call. */
export interface RetryConfig {
  /** Largest number of upstream calls per client call, including the first one. Default: 3. */
  attempts?: number
  /**
   * Longest wait before a retry in milliseconds, if the upstream requests one (`Retry-After`, `RetryInfo`). A longer wait is not made but
   * reported to the client. Default: 10 seconds.
   */
  maxWaitMs?: number
  /**
   * Longest wait in milliseconds, requested by the upstream, for which the gateway stays at the target although another one is untried.
   * Default: 0, the gateway falls back at once.
   */
  stayMs?: number
  /** First back-off in milliseconds, if the upstream requests no wait. It doubles with each retry; each wait is a random part of it. Default: 500 ms. */
  backoffMs?: number
  /** Longest back-off in milliseconds. Default: 8 seconds. */
  maxBackoffMs?: number
  /** Retry budget of an upstream, as a share of its calls of the last ten seconds. Default: 0.2. */
  budgetRatio?: number
  /** Retries per upstream within ten seconds that are allowed in any case. Default: 3. */
  budgetFloor?: number
}

/**
 * Circuit breaker of a target. It opens after failures and then rejects calls, except one probe every `restMs`. Each caller has its own
 * breaker; it opens for all callers if the upstream itself fails, or if calls of enough callers fail (docs/guide/retries.md).
 */
export interface BreakerConfig {
  /** Consecutive failures that open it. Default: 5. */
  failures?: number
  /** Share of failed calls among the last `window` calls that opens it. Default: 0.5. */
  failureRate?: number
  /** Number of recent calls for `failureRate`, which does not apply before there are so many. Default: 20. */
  window?: number
  /** Milliseconds until one call is sent as a probe. Default: 5 seconds. */
  restMs?: number
}
