import type { ErrorInfo } from '../base/errors.ts'
import type { Json } from '../base/json/json.ts'
import type { Format, UpstreamFormat } from '../base/names.ts'
import type { Loss } from '../formats/ir.ts'
import type { OnLoss } from './identity.ts'

/** The upstream requests that a call would cause, determined without calling an upstream. */
export interface Explanation {
  readonly format: Format
  /** Model name of the client. */
  readonly model: string
  readonly stream: boolean
  /** The targets in the order in which they would be tried. */
  readonly plan: readonly ExplainedTarget[]
}

/** A target in the order in which it would be tried, with the request that it would be sent. */
export interface ExplainedTarget {
  readonly upstream: string
  readonly model: string
  readonly onLoss: OnLoss
  /** Current health problem: `doubtful` targets are tried last, `limited` and `failing` ones are not called. Absent: none. */
  readonly resting?: 'doubtful' | 'limited' | 'failing'
  /** The upstream request with secrets masked. Absent: the request cannot be translated for this target. */
  readonly request?: ExplainedRequest
  /** `wire`: pass-through of the client's bytes; `translate`: translation to `format`. */
  readonly lane?: 'wire' | 'translate'
  readonly format?: UpstreamFormat
  /** Fields that would be lost or changed. */
  readonly losses: readonly Loss[]
  /** The error for which this target would not be called. */
  readonly refused?: Pick<ErrorInfo, 'kind' | 'status' | 'message' | 'param'>
}

/** An upstream request with secrets masked. */
export interface ExplainedRequest {
  readonly method: 'POST'
  /** Path below the upstream's address, which is not shown. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Json
}
