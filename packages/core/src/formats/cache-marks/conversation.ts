import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'

/** Characters of JSON per token, for the comparison with a model's minimum. */
const charsPerToken = 4

/** Estimates the tokens of a part of a prompt. */
export const tokensOf = (value: Json | undefined): number =>
  value === undefined || value === null ? 0 : JSON.stringify(value).length / charsPerToken

/**
 * Returns the indexes of the messages at whose end the next request of the conversation can read the cache: the newest message of the
 * user, and the one before the last response, which the previous request ended with. A request without tools and without a response is
 * often the only one with this message: then there is none.
 */
export function stableEnds(messages: readonly Json[], hasTools: boolean): number[] {
  const isFromUser = (message: Json | undefined): boolean => isObject(message) && message.role === 'user'
  const newest = messages.findLastIndex(isFromUser)
  const response = messages.findLastIndex((message, index) => index < newest && !isFromUser(message))
  if (newest < 0 || (response < 0 && !hasTools)) return []
  const previous = messages.findLastIndex((message, index) => index < response && isFromUser(message))
  return previous < 0 ? [newest] : [previous, newest]
}

/** Returns a list with one item replaced. */
export const withItem = (list: readonly Json[], index: number, item: Json): Json[] =>
  list.map((present, at) => (at === index ? item : present))

/** Returns whether an object with this key is anywhere in a value. */
export function holdsKey(value: Json | undefined, key: string): boolean {
  if (Array.isArray(value)) return value.some((item) => holdsKey(item, key))
  if (!isObject(value)) return false
  return value[key] !== undefined || Object.values(value).some((inner) => holdsKey(inner, key))
}

/** Members of a request body to set. */
export type BodyChanges = { readonly [field: string]: Json }

/** The request and the model that a body is written for. */
export interface MarkedCall {
  readonly body: JsonObject
  readonly model: string
  /** Fields that the upstream lacks. See Quirks. */
  readonly lacks: { readonly [field: string]: unknown }
  /** Identifies the conversation, without naming its caller. Absent: unknown. */
  readonly conversation?: string | undefined
}
