import type { JsonObject, Member } from '../base/json/json.ts'
import type { Loss } from './ir.ts'

/** A request body in all forms that the lanes need, read once. */
export interface RequestBody {
  readonly bytes: Uint8Array
  readonly text: string
  readonly members: readonly Member[]
  readonly value: JsonObject
  /** The top-level fields, available without parsing a large body as a whole. */
  readonly fields: JsonObject
  /** Present for a large body, whose text, members and value are created on first use. */
  readonly outline?: RequestOutline | undefined
  /** See `WireCodec.modelPrefix`. */
  readonly modelPrefix?: string | undefined
  /** What an adaptation could not put into the body. Absent: nothing. */
  readonly losses?: readonly Loss[] | undefined
  /** Forgets the text of a large body until it is needed again: a call may wait for its upstream for minutes. */
  releaseText?(): void
}

/** The outline of a large body, before all of it is parsed. Bodies with seals have none. */
export interface RequestOutline {
  /** Positions of the fields in the body's bytes. */
  readonly members: readonly Member[]
  /** Estimated number of tokens. */
  readonly tokens: number
}
