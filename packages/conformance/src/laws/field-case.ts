import type { Json, JsonObject } from '../base/json.ts'

/** A field of a client format, and the required result if the upstream has the other format. */
export interface Field {
  readonly name: string
  /** Merged into the smallest request of the format. */
  readonly give: JsonObject
  /** JSON Pointers into the upstream's request with the required values. */
  readonly arrives?: { readonly [pointer: string]: Json }
  /** JSON Pointer into the client's body that the loss report must name. */
  readonly lost?: string
  /** The loss never rejects the call, not even with `onLoss: 'reject'`. */
  readonly harmless?: boolean
  /** The loss would make the response meaningless: the call is rejected regardless of `onLoss`. */
  readonly refused?: boolean
}

/** Returns a conversation of one user message with these parts. */
export const user = (...content: Json[]): JsonObject => ({ messages: [{ role: 'user', content }] })
export const png = 'iVBORw0KGgo='
export const pdf = 'JVBERi0='
export const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
