import type { Json } from '../../base/json/json.ts'
import type { ExchangeContext, TargetTraits } from '../codec.ts'
import type { ModelRequest, Report } from '../ir.ts'
import { createReport } from '../loss-report.ts'
import * as recorded from '../shared/recorded.test-support.ts'

export { eventsOf, isStream, present } from '../shared/recorded.test-support.ts'

export const readExchanges = () =>
  recorded
    .readRecorded('gemini')
    .map((exchange) => ({ ...exchange, model: /models\/([^:]+):/.exec(exchange.request.url)?.[1] ?? 'm' }))

/** Every recorded generateContent request of a real client. */
export const readClientRequests = () => recorded.readClientRequests((url) => /:(streamG|g)enerateContent/.test(url))

export function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

export const target: TargetTraits = { model: 'm', quirks: {} }
export function contextFor(
  request: Partial<ModelRequest> = {},
): ExchangeContext & { report: Report; target: TargetTraits } {
  let ids = 0
  return {
    report: createReport(),
    newId: (prefix) => `${prefix}${++ids}`,
    now: () => 1_700_000_000,
    request: { model: 'm', turns: [], stream: false, ...request },
    target,
  }
}

/** Returns a list, also for a single item in place of one. */
export const list = (value: Json | undefined): Json[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value]
