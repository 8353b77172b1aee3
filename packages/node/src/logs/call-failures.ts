import { type Attempt, type ErrorKind, type FinishEvent, GatewayError } from '@modelgate/core'
import type { LineLevel } from './levels.ts'
import { toLine, withoutValues } from './text.ts'

/** Descriptions of upstream failures. Other kinds are written with their own name. */
const descriptions: Partial<Readonly<Record<ErrorKind, string>>> = {
  upstream_auth: 'the upstream rejected the configured key',
  upstream_unreachable: 'connection failed',
  upstream_connect_timeout: 'timeout while connecting',
  upstream_timeout: 'timeout, no response',
  upstream_idle_timeout: 'timeout between two parts of the response',
  upstream_total_timeout: 'timeout of the whole call',
  upstream_bad_response: 'invalid response',
  upstream_truncated: 'response interrupted',
  upstream_error: 'upstream error',
  rate_limited: 'rate limit',
  quota_exceeded: 'quota exceeded',
  overloaded: 'overloaded',
}

/** Returns a description of a kind of error. */
export const describeKind = (kind: ErrorKind): string => descriptions[kind] ?? kind

/** Returns whether an attempt failed. Cancelled attempts did not: another one was faster, or the client disconnected. */
export const isFailure = ({ error }: Attempt): boolean => error !== undefined && error !== 'cancelled'

/** Describes a failed attempt: `openai/gpt-5: connection failed (ECONNREFUSED 127.0.0.1:9000)`. */
function describeAttempt({ upstream, model, key, status, error, cause }: Attempt): string {
  const details = [
    ...(status === undefined ? [] : [String(status)]),
    ...(cause?.code === undefined ? [] : [cause.code]),
    ...(cause?.address === undefined ? [] : [cause.address]),
  ].join(' ')
  const target = `${toLine(upstream)}/${toLine(model)}${key === undefined ? '' : ` key ${key}`}`
  return `${target}: ${error === undefined ? 'failed' : describeKind(error)}${details === '' ? '' : ` (${toLine(details)})`}`
}

/** Describes the failed attempts. Retries that failed in the same way are counted. */
function describeAttempts(attempts: readonly Attempt[]): string {
  const counts = new Map<string, number>()
  for (const attempt of attempts) {
    if (!isFailure(attempt)) continue
    const text = describeAttempt(attempt)
    counts.set(text, (counts.get(text) ?? 0) + 1)
  }
  return [...counts].map(([text, count]) => (count === 1 ? text : `${text} ${count} times`)).join('; ')
}

/** Returns the kind of the error that ended a call; undefined if the call did not fail. */
export const kindOf = ({ error, outcome }: FinishEvent): ErrorKind | undefined =>
  outcome === 'finished' ? undefined : error instanceof GatewayError ? error.info.kind : 'internal'

/**
 * Returns the level of a call: a client that disconnects is no failure, and one that an attempt failed for although another one responded
 * is a warning.
 */
export function levelOf({ status, outcome, attempts }: FinishEvent): LineLevel {
  if (outcome === 'aborted' || status === 499) return 'info'
  if (outcome === 'failed') return levelOfStatus(status)
  return attempts.some(isFailure) ? 'warn' : 'info'
}

/**
 * Describes why a call failed, or which attempts failed before the successful one. Returns '' if nothing failed. Messages of upstreams are
 * omitted: they may quote the request.
 */
export function describeFailure(event: FinishEvent): string {
  const { attempts, outcome, error } = event
  const failed = describeAttempts(attempts)
  if (outcome === 'finished') return failed === '' ? '' : `after ${failed}`
  if (outcome === 'aborted') return `client disconnected${failed === '' ? '' : ` after ${failed}`}`
  if (failed !== '') return failed
  const kind = kindOf(event) ?? 'internal'
  if (attempts.length > 0 || !(error instanceof GatewayError)) return describeKind(kind)
  return `${kind}: ${describeMessage(error.info.message)}`
}

/** Returns the level of a rejected call. */
export const levelOfStatus = (status: number): LineLevel =>
  status === 499 ? 'info' : status >= 400 && status < 500 ? 'warn' : 'error'

/** Returns a message of the gateway itself for one line. */
export const describeMessage = (message: string): string => toLine(withoutValues(message))
