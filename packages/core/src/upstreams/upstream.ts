import type { JsonObject } from '../base/json/json.ts'
import type { OperationName, SharedFormat, UpstreamFormat } from '../base/names.ts'
import type { HostedBody } from '../formats/codec.ts'
import type { Loss } from '../formats/ir.ts'
import type { ModelRule, Quirks } from '../formats/target-traits.ts'
import type { FramingName } from '../http/framing/framing.ts'

/**
 * A provider as data: its address, formats, operations and credentials. Provider factories such as `openai()` and `anthropic()`
 * create one.
 */
export interface Upstream {
  /** Origin and path prefix, without a trailing slash. */
  readonly baseURL: string
  /**
   * Chat formats that the provider speaks natively, best first, each with its path below `baseURL`. If the format names the model in
   * the path, this is the path up to the model's name. In this and all other paths `{model}` is replaced by the model's name, and
   * `{id}` by the name as a single segment with its slashes encoded.
   */
  readonly formats: { readonly [F in UpstreamFormat]?: string }
  /** Returns whether the provider speaks one of its `formats` for this model. Default: it speaks each of them for every model. */
  readonly serves?: (format: UpstreamFormat, model: string) => boolean
  /**
   * Returns whether requests of clients that speak another format are translated to one of its `formats` for this model. Default: as
   * `serves`.
   */
  readonly translates?: (format: UpstreamFormat, model: string) => boolean
  /**
   * Operations other than chat. Each lists the dialects that the provider speaks, best first, with their paths below `baseURL`.
   * Default: none.
   */
  readonly operations?: { readonly [O in OperationName]?: { readonly [dialect: string]: string } }
  /**
   * Endpoints that count tokens, by the format of their bodies, best first. Paths are written as in `formats`. Default: none; the
   * gateway then estimates counts.
   */
  readonly countTokens?: { readonly [F in SharedFormat]?: string }
  /**
   * How the provider compacts conversations in the responses format. `path` of an endpoint that returns the compacted window, below
   * `baseURL`; `trigger`: it accepts the item `compaction_trigger`. Default: neither; the gateway then lets a model write a summary.
   */
  readonly compaction?: { readonly path?: string; readonly trigger?: true }
  /**
   * Formats in which the provider also accepts requests on a WebSocket, at the URL of the format. A client's own WebSocket then holds one
   * to the provider. Default: none.
   */
  readonly webSockets?: readonly UpstreamFormat[]
  /** Path of the WebSocket for realtime sessions, below `baseURL`. Default: the provider has none. */
  readonly realtime?: string
  /** Path of the WebSocket for sessions of Gemini's Live API, below `baseURL`. Default: the provider has none. */
  readonly live?: string
  /**
   * Objects that the provider stores for its clients, by kind. Each lists the formats of clients whose API for them the provider has,
   * with its path below `baseURL`. Default: none.
   */
  readonly objects?: { readonly [K in ObjectKind]?: { readonly [F in SharedFormat]?: string } }
  /** Query string of every call, with its question mark: `?api-version=…`. Default: none. */
  readonly query?: string
  /** Differences in how a host serves a format of another vendor. Default: none. */
  readonly hosting?: { readonly [F in UpstreamFormat]?: Hosting }
  /** Headers of every call, such as a version, or the credential if there is only one. They never reach a client. */
  readonly headers: Readonly<Record<string, string>>
  /** Credentials over which calls are spread; each call uses one. Default: none, so that `headers` hold the only credential. */
  readonly keys?: readonly UpstreamKey[]
  /**
   * Creates headers for a single call, such as a signature or a short-lived access token. A rejection is logged and fails the call with
   * `upstream_auth`, because the gateway's configuration is at fault and not the client's request.
   *
   * @returns headers to add to the call's own, by lower-case name
   */
  readonly authorize?: (
    call: OutgoingCall,
  ) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>
  /** Client headers that are forwarded, by lower-case name. All others are dropped. */
  readonly passHeaders: readonly string[]
  readonly quirks: Quirks
  /**
   * Settings that the provider's models accept. The first rule that matches a model's name applies to translated requests. Default: no
   * rules, so that every setting is sent.
   */
  readonly modelRules?: readonly ModelRule[]
  /**
   * Problems of the options that its factory was called with, each beginning with the option's name. `createGateway` rejects an upstream
   * that has any. Default: none.
   */
  readonly problems?: readonly string[]
}

/** A kind of objects that providers keep for the client that created them. */
export type ObjectKind = 'files' | 'conversations' | 'caches' | 'batches' | 'calls' | 'skills'

/** One of several credentials of an upstream. */
export interface UpstreamKey {
  /** Headers that carry the credential. They never reach a client. */
  readonly headers: Readonly<Record<string, string>>
  /** Share of the calls, relative to the other keys. Default 1. */
  readonly weight?: number
}

/** An HTTP call to an upstream, before it is sent. */
export interface OutgoingCall {
  readonly method: string
  readonly url: string
  /** Keys are lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** Undefined if there is no body, and for uploads, which are sent while they are read. */
  readonly body: string | Uint8Array | undefined
}

/** Differences in how a host serves another vendor's format, such as Claude on Vertex AI. Its functions are pure and do no I/O. */
export interface Hosting {
  /** Path endings for whole responses and for streams, in place of the format's own: `/{model}:rawPredict`. */
  readonly modelInPath?: { readonly whole: string; readonly stream: string }
  /** The form of the bodies that the host reads. Clients that write the same one are not edited by `edit`. Default: the vendor's own. */
  readonly body?: HostedBody
  /** Returns the changes that the host requires in a request's body. Default: none. */
  edit?(call: HostedCall): BodyEdit
  /** Returns the changes to a body that a client wrote in the form `body`. Default: none, so that it keeps every byte. */
  editHosted?(call: HostedCall): BodyEdit
  /** Returns the changes that the host requires in the body of a token count. Default: none. */
  editCount?(call: HostedCall): BodyEdit
  /**
   * Converts a response stream to server-sent events of the format. Throws GatewayError for an error within the stream. Default: the
   * stream already consists of such events.
   */
  toEvents?(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>
  /** The framing of the streams that `toEvents` converts. Clients that read the same one get the host's frames unchanged. */
  readonly framing?: FramingName
}

/** Input of a hosting's `edit` and `editCount`. */
export interface HostedCall {
  /** The body as the format's own vendor would receive it. */
  readonly body: JsonObject
  readonly model: string
  readonly stream: boolean
  /** Returns a header of the client by its lower-case name. */
  header(name: string): string | undefined
  /**
   * Returns whether the body's text contains a member more than once, or an object on the path to it. `body` has only the last occurrence.
   *
   * @param path names from the body's root to the member
   */
  isRepeated(...path: readonly string[]): boolean
}

/** Changes to the top-level members of a body. */
export interface BodyEdit {
  readonly set?: JsonObject
  readonly drop?: readonly string[]
  /** Parts of the request that the changes remove. */
  readonly losses?: readonly Loss[]
}

/**
 * A provider's key, or several keys over which calls are spread. A key that the provider rejects or limits enters a cooldown on its own;
 * the other keys stay in use.
 */
export type ApiKey = string | readonly (string | WeightedKey)[]

/** A key with its share of the calls. */
export interface WeightedKey {
  readonly key: string
  /** Share of the calls, relative to the other keys. Default 1. */
  readonly weight?: number
}

/** Options that every provider factory accepts. */
export interface UpstreamOptions {
  /**
   * The provider's API key, or several. The gateway sends it to this upstream only and masks it in errors, headers and logs.
   *
   * Leave it out for a server that requires no key. If a provider rejects the missing key, clients receive a 502 (`upstream_auth`).
   * `createGateway` rejects a key that is present but `undefined` or empty, because its environment variable is probably not set.
   */
  apiKey?: ApiKey | undefined
  /** Base URL of the API. Default: the provider's own; see the factory. */
  baseURL?: string | undefined
  /** Additional headers of every call. They override the factory's own. Default: none. */
  headers?: Record<string, string>
  /**
   * Rules about what models accept, for deployments with their own names or settings that differ from the provider's documentation:
   * `[{ model: 'my-deployment', like: 'gpt-5.4' }]`. They take precedence over the built-in rules. Default: none.
   */
  modelRules?: readonly ModelRule[]
}
