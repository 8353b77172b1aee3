import type { JsonObject } from '../../../base/json/json.ts'
import type { Usage } from '../../../formats/ir.ts'
import type { RequestBody } from '../../../formats/request-body.ts'
import type { ResolvedTarget } from '../../../routing/router.ts'
import type { ObjectCall } from '../object-call.ts'
import type { ObjectUpstream } from '../send.ts'

/** The requests of a batch for one model. Limits and budgets admit them together, and they are settled together. */
export interface BatchPart {
  /** The client's name of the model. */
  readonly model: string
  readonly target: ResolvedTarget
  requests: number
  /** Estimated input tokens, and the limit of the output tokens. Undefined: a request has no limit. */
  input: number
  output: number | undefined
  /** Input tokens of the largest request. */
  largestInput: number
}

/** A batch that a client creates, after its requests were checked. */
export interface NewBatch {
  readonly upstream: ObjectUpstream
  /** The body for the upstream. */
  readonly body: string | Uint8Array
  /** At least one. */
  readonly parts: readonly BatchPart[]
  /** The part of each request by the client's id of the request, if there are several parts. */
  readonly partOf?: ReadonlyMap<string, number>
}

/** A recorded batch whose usage is not settled yet. */
export interface UnsettledBatch {
  readonly parts: readonly Pick<BatchPart, 'requests'>[]
  readonly partOf: Readonly<Record<string, number>>
}

/** The parts of an API of batches that differ between providers. */
export interface BatchDialect {
  /** Reads and checks the requests of a new batch. Throws GatewayError, which names the request. */
  read(objectCall: ObjectCall, request: RequestBody): Promise<NewBatch>
  /** Returns whether all requests of a batch are done. */
  isEnded(batch: JsonObject): boolean
  /** Reads the usage of an ended batch: one for each of its models. Throws if the upstream fails. */
  readUsage(
    objectCall: ObjectCall,
    upstream: ObjectUpstream,
    batch: JsonObject,
    unsettled: UnsettledBatch,
  ): Promise<readonly Usage[]>
  /** Returns the members of a batch that clients see with other values. */
  membersForClient?(objectCall: ObjectCall, batch: JsonObject): JsonObject
  /** Returns the ids of files with the results of a batch. They belong to its owner. */
  resultFiles?(batch: JsonObject): readonly string[]
}
