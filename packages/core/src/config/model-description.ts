import type { Operation } from '../base/names.ts'
import type { Effort } from '../formats/ir.ts'

/** Prices of a model for display. Prices of tokens are for one million. An absent price is unknown; 0 is free. */
export interface ModelPrice {
  /** ISO 4217 code, such as `USD`. */
  readonly currency: string
  /** Input tokens. */
  readonly input?: number
  /** Output tokens. */
  readonly output?: number
  /** Input tokens read from a cache. */
  readonly cachedInput?: number
  /** One generated image. */
  readonly image?: number
  /** One minute of input audio. */
  readonly minute?: number
  /** One million characters of generated speech. */
  readonly characters?: number
  /** One search or call. */
  readonly request?: number
}

/** What the gateway knows about a model that clients can request. Names no upstream. */
export interface ModelDescription {
  /** Model name of the client. */
  readonly id: string
  /** Operations that at least one target supports. Chat generation is `generate`. */
  readonly operations: readonly Operation[]
  /** Reasoning efforts that at least one target accepts; `[]`: the model does not reason. Absent: unknown. */
  readonly efforts?: readonly Effort[]
  /** Maximum number of tokens of a request and its response, of the smallest target. Absent: unknown. */
  readonly contextWindow?: number
  /** The different prices of its targets. Absent: no plugin knows a price. */
  readonly prices?: readonly ModelPrice[]
}
