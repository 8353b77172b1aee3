import { type JsonObject, put } from '../../base/json/json.ts'
import type { Nothing, Usage } from '../ir.ts'

/** Measured times of a response, in milliseconds since the request was sent. */
export interface Times {
  /** Until the first part of a stream. Absent: the response arrived as a whole, or has no parts. */
  readonly first?: number | undefined
  readonly total: number
}

/**
 * Returns the last fields of a response: counts of tokens, and durations in nanoseconds. Strict clients require all durations. The gateway
 * loads no model, and measures how long a stream waited for its first token; a whole response took all its time to be generated.
 * Counts are left out if the upstream reports none, which clients read as zero.
 */
export function encodeMetrics(usage: Usage | undefined, { first = 0, total }: Times): JsonObject {
  const out: JsonObject = { total_duration: nanoseconds(total), load_duration: 0 }
  const { input, output, raw: _raw, billed: _billed, ...rest } = usage ?? noUsage
  rest satisfies Nothing
  put(out, 'prompt_eval_count', input?.total)
  out.prompt_eval_duration = nanoseconds(first)
  put(out, 'eval_count', output?.total)
  out.eval_duration = nanoseconds(Math.max(0, total - first))
  return out
}

const noUsage: Partial<Usage> = {}

const nanoseconds = (milliseconds: number): number => Math.round(milliseconds * 1e6)
