import type { EstimatedBy } from './estimate.ts'
import type { Tokenizer } from './estimate-tokenizer.ts'
import type { Format, Loss, Usage } from './formats/ir.ts'
import type { Spool } from './operations/multipart/spool.ts'
import type { ResponseStore } from './state/store.ts'
import type { Transport } from './transport.ts'
import type { Upstream } from './upstreams/upstream.ts'

/** What happens when a request cannot be carried whole: nothing, a report in `modelgate-loss`, or a 400. */
export type OnLoss = 'ignore' | 'warn' | 'reject'

/** Who calls: what `auth` returns for a good credential. */
export interface Identity {
  /** Stable id of the caller, for metering. */
  readonly id: string
  /** Model names this caller may use (`name` or `prefix*`). Default: all. */
  readonly models?: readonly string[]
  /**
   * What this caller may ask for with the header `modelgate-on-loss`, call by call. Default: what is configured and
   * everything stricter.
   */
  readonly onLoss?: readonly OnLoss[]
  readonly [key: string]: unknown
}

/** What `auth` may look at beside the credential. */
export interface AuthRequest {
  readonly method: string
  readonly path: string
  header(name: string): string | undefined
}

/** Verifies a credential: the caller's identity, or null (401). A throw is a 500 and is logged. */
export type Authenticate = (credential: string, request: AuthRequest) => Identity | null | Promise<Identity | null>

/** Where a model's calls go. */
export interface Target<U extends string = string> {
  upstream: U
  /** The model's name at the upstream. Default: the name the client asked for. */
  model?: string
  /** As `onLoss` of the gateway, for calls to this target. */
  onLoss?: OnLoss
}
/** An upstream's name (same model name there), a target, or a list of targets tried in order. */
export type ModelRoute<U extends string = string> = U | Target<U> | readonly (U | Target<U>)[]

/** What a call is billed by, where that is not tokens. */
export interface Units {
  /** Images made. */
  readonly images?: number
  /** Seconds of audio read. */
  readonly seconds?: number
  /** Characters spoken. */
  readonly characters?: number
}

/** Told once for each authenticated call to a model, after its last byte, whatever happened. */
export interface FinishEvent {
  readonly requestId: string
  readonly identity: Identity | null
  readonly operation: string
  /** The client's format. */
  readonly format: Format
  /** The model as the client named it. */
  readonly model: string
  readonly upstream?: string
  readonly upstreamModel?: string
  readonly upstreamFormat?: Format
  readonly lane?: 'wire' | 'translate'
  readonly stream: boolean
  /** Status sent to the client (499: it left before one was). */
  readonly status: number
  readonly outcome: 'finished' | 'failed' | 'aborted'
  readonly usage?: Usage
  /** What is not counted in tokens. */
  readonly units?: Units
  readonly losses: readonly Loss[]
  /** Calls made upstream. */
  readonly attempts: readonly Attempt[]
  /** Set where tokens were counted without a provider: what made the estimate. */
  readonly estimate?: EstimatedBy
  /** Milliseconds from the call's arrival. */
  readonly durationMs: number
  readonly firstEventMs?: number
  /** What went wrong, in process terms; never sent to the client. */
  readonly error?: unknown
}
export interface Attempt {
  readonly upstream: string
  readonly model: string
  readonly status?: number
  /** The upstream's own id of the call, for its support. */
  readonly upstreamRequestId?: string
  readonly error?: string
}

/** The one extension concept. `on…` observes; an observer's exception is logged, never thrown. */
export interface Plugin {
  readonly name: string
  onFinish?(event: FinishEvent): void | Promise<void>
}

export interface Logger {
  warn(message: string, details?: unknown): void
  error(message: string, details?: unknown): void
}

export interface Limits {
  /** Largest request body in bytes; larger ones are answered 413. Default 32 MiB. */
  bodyBytes?: number
  /**
   * Largest upload (a multipart body) in bytes; larger ones are answered 413. Default 512 MiB. Where the server has no place to
   * put it but memory (outside of the adapters for Node), `bodyBytes` holds for uploads too.
   */
  uploadBytes?: number
  /** Deepest nesting of a request body; deeper ones are answered 400. Default 128. */
  depth?: number
  /** Milliseconds until a streaming call is answered 200 with heartbeats though the upstream has sent no event yet. Default 30,000. */
  holdMs?: number
  /** Milliseconds until an upstream that has not begun to answer is given up (504). Default 600,000. */
  firstByteMs?: number
  /** Milliseconds of upstream silence within an answer until it is given up. Default 300,000. */
  idleMs?: number
  /** Milliseconds of silence towards the client until a heartbeat is sent. Default 15,000. */
  heartbeatMs?: number
  /** Largest upstream JSON answer, and largest single stream event, in bytes. Default 64 MiB. */
  answerBytes?: number
  /** Milliseconds without a message from either side until a realtime session is closed (1001). Default 900,000. */
  realtimeIdleMs?: number
  /** Largest message of a realtime session in bytes, in both directions; larger ones close it (1009). Default 16 MiB. */
  realtimeMessageBytes?: number
}

export interface ResponsesConfig {
  /** Default: in the memory of this process, 32 Mi characters at most. `false`: nothing is kept. */
  store?: ResponseStore | false
  /** Milliseconds for which a response is kept. Default 24 hours. */
  ttlMs?: number
}

export interface GatewayConfig<U extends string = string> {
  /** Verifies credentials; or the word `'none'`: every call is let in. */
  auth: Authenticate | 'none'
  upstreams: Readonly<Record<U, Upstream>>
  /** What a client may ask for: exact names and `prefix*`. Exact names win, then the longest prefix. */
  models: Readonly<Record<string, ModelRoute<NoInfer<U>>>>
  /** What happens when a request cannot be carried whole: `'warn'` (default) says so in the `modelgate-loss` header, `'reject'` answers 400, `'ignore'` only tells onFinish. */
  onLoss?: OnLoss
  /**
   * Who may ask, with `?modelgate=explain` on a generation path, what would be sent upstream and what would be lost, without
   * a call being made. The answer holds upstream names and paths, no secrets. Default false; `gateway.explain` always works.
   */
  explain?: boolean | ((identity: Identity | null) => boolean)
  /**
   * Counts tokens where no upstream does, and the answer is marked as an estimate. Called once for a count, with all text of
   * the request; images and other media are added at fixed numbers. Default: OpenAI's o200k_base, if the package
   * `gpt-tokenizer` is installed, else four characters are taken for a token. A tokenizer that throws is logged, and
   * characters are counted.
   */
  tokenizer?: Tokenizer
  /** Where answers to `/v1/responses` are kept for `previous_response_id`, references to items, and later retrieval. */
  responses?: ResponsesConfig
  plugins?: readonly Plugin[]
  limits?: Limits
  /**
   * Where uploads (multipart bodies) are put until the upstream has them, one spool for each. Default: what the adapter brings,
   * for Node a temporary file; elsewhere memory, within `limits.bodyBytes`.
   */
  spool?: () => Spool
  /** Path prefix under which the host serves the gateway (`/ai`); stripped before matching. */
  basePath?: string
  /** Makes the upstream calls instead of the adapter's transport. */
  fetch?: typeof fetch
  /** Default: warnings and errors go to `console`. `false`: nothing. */
  logger?: Logger | false
}
export type { Transport }
