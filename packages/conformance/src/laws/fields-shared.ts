import type { Json, JsonObject } from '../base/json.ts'

/** One thing a client can write, and what must become of it when the upstream speaks the other format. */
export interface Field {
  readonly name: string
  /** Merged over the smallest request of the format. */
  readonly give: JsonObject
  /** JSON Pointers into the upstream's request with what must stand there. */
  readonly arrives?: { readonly [pointer: string]: Json }
  /** JSON Pointer into the client's body that the loss report must name. */
  readonly lost?: string
  /** The loss is no reason to refuse the call, not even with `onLoss: 'reject'`. */
  readonly harmless?: boolean
  /** What is lost would make the answer meaningless: the call is refused whatever `onLoss` says. */
  readonly refused?: boolean
}

/** A conversation of one user message with these parts. */
export const user = (...content: Json[]): JsonObject => ({ messages: [{ role: 'user', content }] })
export const png = 'iVBORw0KGgo='
export const pdf = 'JVBERi0='
export const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
