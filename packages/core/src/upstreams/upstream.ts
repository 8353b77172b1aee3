import type { Quirks } from '../formats/codec.ts'
import type { Format } from '../formats/ir.ts'
import type { OperationName } from '../operations/operation.ts'

/** Where calls can go: a provider, as data. `openai()`, `anthropic()` and their kin make one. */
export interface Upstream {
  /** Origin and path prefix, without a trailing slash. */
  readonly baseURL: string
  /**
   * The chat formats it speaks natively, best first, each with its path below `baseURL`; for a format that names the model
   * in the path, the path up to the name.
   */
  readonly formats: { readonly [F in Format]?: string }
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
  /** Headers of every call: credentials and version. They never reach a client. */
  readonly headers: Readonly<Record<string, string>>
  /** Client headers passed on, by lower-case name. Everything else stays here. */
  readonly passHeaders: readonly string[]
  readonly quirks: Quirks
}

/** What every upstream maker takes. */
export interface UpstreamOptions {
  /** The provider's key. It is sent to this upstream only, and appears in no error, header or log. */
  apiKey?: string
  /** Base address, where it is not the provider's own. */
  baseURL?: string
  /** Further headers of every call. */
  headers?: Record<string, string>
}
