import type { FakeFormat, FakeOperation } from '../contract/request.ts'

export type RouteOperation = 'generate' | 'compact' | 'count-tokens' | 'models' | 'stored' | 'objects' | 'serve'

/** The parsed path of a request. */
export interface Route {
  readonly operation: RouteOperation
  readonly format: FakeFormat
  /** Operation other than generation. */
  readonly served: FakeOperation | undefined
  /** Method of the path on its model or item: `embedContent`, `input_items`. */
  readonly action: string | undefined
  /** Id of a stored item in the path. */
  readonly item?: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Model in the path. */
  readonly model: string | undefined
  /** Streaming as the path selects it; undefined: the body selects it. */
  readonly stream: boolean | undefined
  /** True if a stream is one JSON array instead of events. */
  readonly array: boolean
  /** API version in the path. */
  readonly version: string
}
