import type { Limit, Window } from '../token.ts'
import { checkKeys, countOf, listOf, modelsOf, shown, wrong } from './check-counts.ts'

const counts = ['requests', 'tokens', 'inputTokens', 'outputTokens', 'concurrent'] as const
const known = ['models', 'window', ...counts]
const words: readonly unknown[] = ['second', 'minute', 'hour', 'day']
/** Seconds: 31 days. */
const longestWindow = 2_678_400

/**
 * The limits of a token as they are kept. Throws a GatewayError `invalid_request` whose `param` is the field at fault, such as
 * `limits[0].requests`.
 */
export function checkLimits(value: unknown): readonly Limit[] {
  return listOf(value, 'limits', '{ requests: 60, window: "minute" }').map((one, at) => {
    const place = Array.isArray(value) ? `limits[${at}]` : 'limits'
    checkKeys(one, place, known)
    const limit: { -readonly [K in keyof Limit]: Limit[K] } = {}
    const models = modelsOf(one, place)
    if (models !== undefined) limit.models = models
    const window = windowOf(one.window, place)
    if (window !== undefined) limit.window = window
    for (const key of counts) {
      // Who is to have nothing of a model is not given the model.
      const count = countOf(one, key, place, 1)
      if (count !== undefined) limit[key] = count
    }
    if (counts.every((key) => limit[key] === undefined))
      throw wrong(`'${place}' limits nothing: give at least one of ${counts.join(', ')}.`, place)
    return limit
  })
}

function windowOf(value: unknown, place: string): Window | undefined {
  if (value === undefined || words.includes(value)) return value as Window | undefined
  if (typeof value === 'number' && value >= 0.001 && value <= longestWindow && Number.isInteger(value * 1000))
    return value
  throw wrong(
    `'${place}.window' is ${shown(value)}: give ${words.join(', ')}, or seconds up to ${longestWindow}.`,
    `${place}.window`,
  )
}
