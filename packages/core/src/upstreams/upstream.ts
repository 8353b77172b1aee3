import type { JsonObject } from '../base/json/types.ts'
import type { Format, OperationName, UpstreamFormat } from '../base/names.ts'
import type { ModelRule, Quirks } from '../formats/target-traits.ts'

/** Where calls can go: a provider, as data. `openai()`, `anthropic()` and their kin make one. */
export interface Upstream {
  /** Origin and path prefix, without a trailing slash. */
  readonly baseURL: string
  /**
   * The chat formats it speaks natively, best first, each with its path below `baseURL`; for a format that names the model
   * in the path, the path up to the name. In a path, here and below, `{model}` stands for the model's name, and `{id}` for
   * the same as one segment, its slashes encoded.
   */
  readonly formats: { readonly [F in UpstreamFormat]?: string }
  /** Whether it speaks one of its formats for a model, where that depends on the model. Default: each for every model. */
  readonly serves?: (format: UpstreamFormat, model: string) => boolean
  /**
   * What it does beside chat: for each operation the dialects it speaks, best first, each with its path below `baseURL`.
   * Default: nothing.
   */
  readonly operations?: { readonly [O in OperationName]?: { readonly [dialect: string]: string } }
  /**
   * Where it counts tokens, by the format of its counting endpoint, best first: paths as in `formats`. Default: nowhere, and
   * counts are estimates.
   */
  readonly countTokens?: { readonly [F in Format]?: string }
  /** Path of its WebSocket for realtime sessions, below `baseURL`. Default: it has none. */
  readonly realtime?: string
  /** Query of every call, with its question mark: `?api-version=…`. Default: none. */
  readonly query?: string
  /** How a format travels to it, where that is not as the format's own vendor has it. */
  readonly hosting?: { readonly [F in UpstreamFormat]?: Hosting }
  /** Headers of every call: a version, and a credential where there is but one. They never reach a client. */
  readonly headers: Readonly<Record<string, string>>
  /** The credentials, where calls are spread over several: each call uses one. Default: none, `headers` are all it takes. */
  readonly keys?: readonly UpstreamKey[]
  /**
   * Makes what is made anew for each call: a signature, an access token that expires. A rejection is a configuration's fault
   * (`upstream_auth`) and is logged; it is never the client's.
   *
   * @returns headers to add to the call's own, by lower-case name
   */
  readonly authorize?: (
    call: OutgoingCall,
  ) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>
  /** Client headers passed on, by lower-case name. Everything else stays here. */
  readonly passHeaders: readonly string[]
  readonly quirks: Quirks
  /** What its models accept: the first rule that matches a model's name applies to translated requests. Default: everything. */
  readonly modelRules?: readonly ModelRule[]
  /**
   * Problems of the options that its factory was called with, each beginning with the option's name. `createGateway` rejects an upstream
   * that has any. Default: none.
   */
  readonly problems?: readonly string[]
}

/** One of several credentials of an upstream. */
export interface UpstreamKey {
  /** The headers that carry it. They never reach a client. */
  readonly headers: Readonly<Record<string, string>>
  /** Its share of the calls beside the other keys. Default 1. */
  readonly weight?: number
}

/** A call as it is about to be sent. */
export interface OutgoingCall {
  readonly method: string
  readonly url: string
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  /** Undefined where there is none, and for uploads, which are sent as they are read. */
  readonly body: string | Uint8Array | undefined
}

/** How a format travels to an upstream that hosts another vendor's models under rules of its own. Pure, without I/O. */
export interface Hosting {
  /** What follows the format's path for a whole answer and for a stream, in place of the format's own: `/{model}:rawPredict`. */
  readonly modelInPath?: { readonly whole: string; readonly stream: string }
  /** What the body says differently there. */
  edit?(call: HostedCall): BodyEdit
  /** The same for the body of a token count. Default: nothing. */
  editCount?(call: HostedCall): BodyEdit
  /** A stream's bytes as server-sent events of the format. Throws GatewayError for an error within. Default: that is what they are. */
  toEvents?(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>
}

/** What a hosting's edit may look at. */
export interface HostedCall {
  /** The body as the format's own vendor would get it. */
  readonly body: JsonObject
  readonly model: string
  readonly stream: boolean
  /** A header of the client, by lower-case name. */
  header(name: string): string | undefined
}

/** Changes to a body's top level. */
export interface BodyEdit {
  readonly set?: JsonObject
  readonly drop?: readonly string[]
}

/** A provider's key, or several: calls are spread over them, and one that is limited or refused rests alone. */
export type ApiKey = string | readonly (string | WeightedKey)[]

/** A key with its share of the calls. */
export interface WeightedKey {
  readonly key: string
  /** Its share of the calls beside the other keys. Default 1. */
  readonly weight?: number
}

/** What every upstream maker takes. */
export interface UpstreamOptions {
  /**
   * The provider's key, or several. They are sent to this upstream only, and appear in no error, header or log. Leave it
   * out for a server that needs none; a provider that needs one refuses the call, which is a 502 to the client (`upstream_auth`).
   * `createGateway` rejects a key that is present but `undefined` or empty: its environment variable is probably not set.
   */
  apiKey?: ApiKey | undefined
  /** Base address, where it is not the provider's own. */
  baseURL?: string | undefined
  /** Further headers of every call. */
  headers?: Record<string, string>
  /**
   * What models accept, where that differs from the provider's documentation or a deployment has a name of its own:
   * `[{ model: 'my-deployment', like: 'gpt-5.4' }]`. These rules come before the built-in ones.
   */
  modelRules?: readonly ModelRule[]
}
