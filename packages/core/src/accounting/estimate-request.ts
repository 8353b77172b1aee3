import { isObject, type Json, type JsonObject } from '../base/json/json.ts'
import type { RequestBody } from '../formats/request-body.ts'
import type { TokenCounting } from './call-record.ts'
import { estimateBody } from './estimate-body.ts'

/** Estimated tokens of a request. */
export interface EstimatedRequest {
  readonly input: number
  /** Limit of the output tokens. Undefined: the request has none. 0: the operation has no output. */
  readonly output: number | undefined
}

const nothing: EstimatedRequest = { input: 0, output: 0 }

/** Estimates the tokens of a request before the call. @param counted how the operation's tokens are counted; undefined: it has none */
export function estimateRequest(counted: TokenCounting | undefined, request: RequestBody): EstimatedRequest {
  if (counted === undefined) return nothing
  const { output } = counted
  const input = request.outline?.tokens ?? estimateBody(request.value)
  if (output === undefined) return { input, output: 0 }
  const body = request.fields
  const each = largestAt(body, output.fields)
  const times = largestAt(body, output.countFields ?? []) ?? 1
  return { input, output: each === undefined ? undefined : each * times }
}

function largestAt(body: JsonObject, paths: readonly string[]): number | undefined {
  let largest: number | undefined
  for (const path of paths) {
    const bound = boundAt(body, path)
    if (bound === unbounded) return undefined
    if (bound !== undefined) largest = Math.max(bound, largest ?? bound)
  }
  return largest
}

const unbounded = -1

/**
 * Returns the bound in a field, `unbounded` for an invalid value. Nothing else checks it: some servers generate without a bound for a
 * negative number, and others accept a number in a string.
 */
function boundAt(body: JsonObject, path: string): number | undefined {
  let at: Json | undefined = body
  for (const name of path.split('.')) at = isObject(at) ? at[name] : undefined
  if (at === undefined || at === null) return undefined
  const bound = typeof at === 'string' && /^\d+$/.test(at) ? Number(at) : at
  return typeof bound === 'number' && bound >= 0 ? bound : unbounded
}
