/** What a model costs. Prices of tokens are for a million of them. What is not given is unknown, not free: free is 0. */
export interface Price {
  /** Input tokens that came from no cache. */
  readonly input?: number
  /** Input tokens read from a cache. Default: as `input`. */
  readonly cachedInput?: number
  /** Input tokens written to a cache. Default: as `input`. */
  readonly cacheWrite?: number
  /** Those of them that are kept for an hour. Default: as `cacheWrite`. */
  readonly cacheWrite1h?: number
  readonly output?: number
  /** Output tokens spent on reasoning. Default: as `output`. */
  readonly reasoning?: number
  /** Tokens of sound. Default: as `input` and `output`. */
  readonly audioInput?: number
  readonly audioOutput?: number
  /** Tokens of images. Default: as `input` and `output`. */
  readonly imageInput?: number
  readonly imageOutput?: number
  /** One image made. Default: what its tokens cost, where the model counts them. */
  readonly image?: number
  /** A minute of audio read, to the second's part. Default: what its tokens cost, where the model counts them. */
  readonly minute?: number
  /** A million characters spoken. Default: what the tokens cost, where the model counts them. */
  readonly characters?: number
  /** One search that the provider made for the model. */
  readonly search?: number
  /** One call, beside all else. Default: nothing. */
  readonly request?: number
}

/** A price table: what stands in a prices file. */
export interface PriceTable {
  /** ISO 4217. Default `'USD'`. */
  readonly currency?: string
  /**
   * By the model's name at the upstream, or `upstream/model` for one upstream; `*` stands for anything in a model's name. Exact
   * names win over those with a `*`; then `upstream/model` over `model`; then the name with the most characters beside its `*`.
   */
  readonly models: Readonly<Record<string, Price>>
}
