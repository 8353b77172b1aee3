import type { ErrorInfo } from '../base/errors.ts'
import type { Json } from '../base/json/types.ts'
import type { Format, UpstreamFormat } from '../base/names.ts'
import type { Loss } from '../formats/ir.ts'
import type { OnLoss } from './identity.ts'

/** What a call would do, found out without calling anyone. */
export interface Explanation {
  readonly format: Format
  /** The model as the client named it. */
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
  /** Set where it would be passed over for others just now, or left alone. */
  readonly resting?: 'doubtful' | 'limited' | 'failing'
  /** The request as it would be sent, secrets masked; absent where it cannot be written at all. */
  readonly request?: ExplainedRequest
  /** `wire`: the client's own bytes; `translate`: written anew in `format`. */
  readonly lane?: 'wire' | 'translate'
  readonly format?: UpstreamFormat
  /** What would not arrive, or not as it was written. */
  readonly losses: readonly Loss[]
  /** Why this target would not be called. */
  readonly refused?: Pick<ErrorInfo, 'kind' | 'status' | 'message' | 'param'>
}

/** A request as an upstream would be sent it, with secrets masked. */
export interface ExplainedRequest {
  readonly method: 'POST'
  /** Below the upstream's own address, which is not shown. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Json
}
