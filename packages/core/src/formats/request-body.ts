import type { Member } from '../base/json/scan.ts'
import type { JsonObject } from '../base/json/types.ts'

/** The client's body in every form the lanes need, read once. */
export interface RequestBody {
  readonly bytes: Uint8Array
  readonly text: string
  readonly members: readonly Member[]
  readonly value: JsonObject
  /** A large body's text, members and value are made when first asked for. What needs little of them is content with these. */
  readonly outline?: RequestOutline | undefined
  /** See Codec: what the body may have in front of a model's name that its path says. */
  readonly modelPrefix?: string | undefined
}

/** What is known of a large body before all of it is read. No such body holds seals. */
export interface RequestOutline {
  /** The value's fields. Those with long texts in them are read when asked for. */
  readonly fields: JsonObject
  /** Where they stand in the body's bytes. */
  readonly members: readonly Member[]
  /** About how many tokens the body is. */
  readonly tokens: number
}

/** The body for those who look at few of its fields. */
export const bodyFields = (request: RequestBody): JsonObject => request.outline?.fields ?? request.value
