import type { JsonObject } from '../../base/json/types.ts'

export interface RerankDocument {
  /** What is ranked. Absent: it is no text (an image). */
  readonly text?: string
  /** As the client wrote it, where that was an object. */
  readonly source?: JsonObject
}

export type SettingName = 'topN' | 'maxTokens' | 'maxChunks' | 'truncate'

export interface RerankRequest {
  readonly model: string
  readonly query: string
  readonly documents: readonly RerankDocument[]
  /** Number of results wanted. Default: as many as there are documents. */
  readonly topN?: number
  /** The results are to repeat the documents. */
  readonly returnDocuments: boolean
  /** Tokens of each document that are looked at. */
  readonly maxTokens?: number
  /** Pieces into which each document is cut at most. */
  readonly maxChunks?: number
  /** Whether documents that are too long are cut, or refused. */
  readonly truncate?: boolean
  /** Where the settings stand in the client's body. */
  readonly at: { readonly [S in SettingName]?: string }
}
