import type { Json } from '../../base/json/types.ts'

/** What the vectors are for: providers tune them to it. */
export type Task =
  | 'query'
  | 'document'
  | 'similarity'
  | 'classification'
  | 'clustering'
  | 'question-answering'
  | 'fact-verification'
  | 'code-query'
  | 'code-document'

export type EmbeddingPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly mediaType: string; readonly data: string }
  /** What only the client's own dialect knows. */
  | { readonly type: 'native'; readonly value: Json }

/** One thing to embed; `at` is where it stands in the client's body. */
export type EmbeddingInput = { readonly at: string } & (
  | { readonly text: string }
  | { readonly tokens: readonly number[] }
  | { readonly parts: readonly EmbeddingPart[] }
)

export type SettingName = 'task' | 'title' | 'dimensions' | 'truncate' | 'user'

export interface EmbeddingsRequest {
  readonly model: string
  readonly inputs: readonly EmbeddingInput[]
  /** How the client reads vectors: numbers, or base64 of little-endian float32. */
  readonly encoding: 'float' | 'base64'
  readonly task?: Task
  /** Of a document. */
  readonly title?: string
  readonly dimensions?: number
  /** What becomes of an input that is too long. `none`: it is refused. Absent: as the upstream likes. */
  readonly truncate?: 'none' | 'start' | 'end'
  readonly user?: string
  /** Where the settings stand in the client's body. */
  readonly at: { readonly [S in SettingName]?: string }
}
