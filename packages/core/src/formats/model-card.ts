import type { Operation } from '../base/names.ts'
import type { Effort } from './ir.ts'

/** A kind of input or output of a model. */
export type Modality = 'text' | 'image' | 'audio' | 'video' | 'document'

/**
 * Facts about a model, for model lists, the Playground and `when: 'fits'`. Set only the facts that you know: an absent one is unknown.
 *
 * @example { contextWindow: 131_072, maxOutput: 8192, modalities: { input: ['text', 'image'] }, capabilities: { tools: true } }
 */
export interface ModelCard {
  /** Name of the model for people, in lists that have one. Default: the model name of the client. */
  readonly name?: string
  /** Maximum number of tokens of a request and its response together. */
  readonly contextWindow?: number
  /**
   * Maximum number of input tokens. Default: the context window. If it equals the context window, the response does not count towards
   * the window.
   */
  readonly maxInput?: number
  /** Maximum number of output tokens, reasoning included. */
  readonly maxOutput?: number
  readonly modalities?: ModelModalities
  readonly capabilities?: ModelCapabilities
  /** Prices for display. Clients of the gateway can see them. The cost of calls is not calculated from them. */
  readonly prices?: ModelCardPrices
}

/** Kinds of content that a model accepts and returns. */
export interface ModelModalities {
  readonly input?: readonly Modality[]
  readonly output?: readonly Modality[]
}

/** Features of a model. An absent one is unknown. */
export interface ModelCapabilities {
  /** The model calls tools. */
  readonly tools?: boolean
  /** The model returns JSON that follows a schema. */
  readonly structuredOutputs?: boolean
  /** The provider caches the beginnings of prompts. */
  readonly caching?: boolean
  /** The model can reason. */
  readonly reasoning?: boolean
  /** Reasoning efforts that the model accepts. `none` is one of them if reasoning can be switched off. */
  readonly efforts?: readonly Effort[]
  /** The model accepts a budget of reasoning tokens. */
  readonly reasoningBudget?: boolean
}

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
  /** Input tokens written to a cache. */
  readonly cacheWrite?: number
  /** One generated image. */
  readonly image?: number
  /** One minute of input audio. */
  readonly minute?: number
  /** One million characters of generated speech. */
  readonly characters?: number
  /** One search or call. */
  readonly request?: number
}

/** Prices of a model card: those of a `ModelPrice`. The default currency is `USD`. */
export type ModelCardPrices = Omit<ModelPrice, 'currency'> & { readonly currency?: string }

/** Cards of models by their names at upstreams. */
export interface ModelCardTable {
  /** Day on which the facts were last checked, as `2026-11-28`. */
  readonly checked: string
  /** The first card that matches a name applies. */
  readonly cards: readonly ModelCardRow[]
}

/** A card of a table. */
export interface ModelCardRow extends ModelCard {
  /**
   * The model's name in lower case, without a vendor (`openai/`, `us.anthropic.`). It matches the same name, and the name with a date or
   * version at its end: `gpt-5` matches `openai/gpt-5-2025-08-07`, but not `gpt-5-mini`. Dots and dashes between digits are equal.
   */
  readonly model: string
  /**
   * Host of the upstream's `baseURL`, for models that several providers serve with different limits. A parent domain matches too. Default:
   * any.
   */
  readonly host?: string
  /** Address of the documentation. */
  readonly source?: string
}

/** What the gateway knows about a model that clients can request. Names no upstream. */
export interface ModelDescription extends Omit<ModelCard, 'prices' | 'capabilities'> {
  /** Model name of the client. */
  readonly id: string
  /** Operations that at least one target supports. Chat generation is `generate`. */
  readonly operations: readonly Operation[]
  /** Reasoning efforts that at least one target accepts; `[]`: the model does not reason. Absent: unknown. */
  readonly efforts?: readonly Effort[]
  /** Features that every target has, and those that at least one target lacks. Absent: unknown. */
  readonly capabilities?: Omit<ModelCapabilities, 'efforts'>
  /** The different prices of its targets. Absent: unknown, or not shown. */
  readonly prices?: readonly ModelPrice[]
}
