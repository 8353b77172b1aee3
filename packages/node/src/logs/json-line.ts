import type { FinishEvent } from '@modelgate/core'
import { describeFailure, isFailure, kindOf } from './call-failures.ts'
import { type LineLevel, levelNumbers } from './levels.ts'
import { maxLength, stringify, toJson } from './text.ts'

/** Maximum number of fields of losses in a line. */
export const maxLossFields = 5

/** Fields of a line in addition to those of pino. */
export type Fields = Readonly<Record<string, unknown>>

/** Returns a line in pino's format. */
export function jsonLine(level: LineLevel, message: string, fields: Fields): string {
  const rest = stringify(fields)
  const start = `{"level":${levelNumbers[level]},"time":${Date.now()},"msg":${stringify(message)}`
  return rest === '{}' ? `${start}}` : `${start},${rest.slice(1)}`
}

/** Rounds milliseconds to tenths. */
const tenths = (ms: number): number => Math.round(ms * 10) / 10

/** Returns the line of a call in pino's format. Absent values are left out. `call` is the model and its target. */
export function jsonCallLine(level: LineLevel, event: FinishEvent, call: string): string {
  const { requestId, identity, operation, format, model, upstream, upstreamModel, status, attempts, usage, cost } =
    event
  const { losses, firstEventMs, outcome, stream } = event
  const failure = level === 'info' && outcome === 'finished' ? '' : describeFailure(event)
  let line = `{"level":${levelNumbers[level]},"time":${Date.now()},"msg":${toJson(call)}`
  if (failure !== '') line = `${line.slice(0, -1)}: ${stringify(failure).slice(1)}`
  line += `,"requestId":${toJson(requestId)}`
  if (identity !== null) {
    line += `,"identity":${toJson(String(identity.id))}`
    if (typeof identity.name === 'string') line += `,"token":${toJson(identity.name)}`
  }
  line += `,"operation":"${operation}","format":"${format}","model":${toJson(model)}`
  if (upstream !== undefined) line += `,"upstream":${toJson(upstream)}`
  if (upstreamModel !== undefined) line += `,"upstreamModel":${toJson(upstreamModel)}`
  line += `,"stream":${stream},"attempts":${attempts.length},"status":${status},"outcome":"${outcome}"`
  const kind = kindOf(event)
  if (kind !== undefined) line += `,"error":"${kind}"`
  line += `,"durationMs":${tenths(event.durationMs)}`
  if (firstEventMs !== undefined) line += `,"firstEventMs":${tenths(firstEventMs)}`
  if (usage !== undefined) line += `,"input":${usage.input.total},"output":${usage.output.total}`
  if (cost !== undefined) line += `,"cost":${cost.amount},"currency":${toJson(cost.currency)}`
  line += `,"losses":${losses.length}`
  if (losses.length > 0)
    line += `,"lossFields":${stringify(losses.slice(0, maxLossFields).map(({ path }) => path.slice(0, maxLength)))}`
  if (failure !== '') line += failuresJson(event)
  return `${line}}`
}

/** Returns the failed attempts as a member of JSON; '' without any. */
function failuresJson({ attempts }: FinishEvent): string {
  const failures = attempts.filter(isFailure).map(({ upstream, model, key, reason, status, error, cause }) => ({
    upstream,
    model,
    key,
    reason,
    status,
    error,
    ...cause,
  }))
  return failures.length === 0 ? '' : `,"failures":${stringify(failures)}`
}
