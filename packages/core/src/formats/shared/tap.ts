import { GatewayError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/types.ts'
import { parseObject } from './json-text.ts'

const opens = (char: number): boolean => char === 0x7b || char === 0x5b // { [
const closes = (char: number): boolean => char === 0x7d || char === 0x5d // } ]
const isBlank = (char: number): boolean => char === 0x20 || (char >= 0x09 && char <= 0x0d)

/**
 * Throws GatewayError `upstream_bad_response` for an event that cannot be JSON, by its two ends: half an event in the middle
 * of a stream would leave a hole in an answer that then ends well. Parsing each event to be sure would cost more than all
 * else that a tap does.
 */
export function checkWhole(data: string): void {
  let from = 0
  let to = data.length - 1
  while (from < to && isBlank(data.charCodeAt(from))) from++
  while (to > from && isBlank(data.charCodeAt(to))) to--
  if (opens(data.charCodeAt(from)) && closes(data.charCodeAt(to)) && to > from) return
  throw notJson()
}

/** The object that an event holds which is to be read anyway. Throws as `checkWhole` does. */
export function wholeObject(data: string): JsonObject {
  const value = parseObject(data)
  if (value === undefined) throw notJson()
  return value
}

/** For an event that was read, and is none. */
export const notJson = (): GatewayError =>
  new GatewayError('upstream_bad_response', 'The upstream sent an event in its stream that is not JSON.')
