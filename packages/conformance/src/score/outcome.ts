import { setTimeout as pause } from 'node:timers/promises'
import type { Check, ScoredFormat, Verdict } from './check.ts'
import { createContext, type Target } from './context.ts'
import { CheckFailed, CheckSkipped, NotServed } from './expectations.ts'
import { describeRejection, type Rejection, rejectionOf } from './rejection.ts'

/** Result of a check with its reason. */
export interface Outcome {
  readonly verdict: Verdict
  readonly why?: string
}

/**
 * Runs one check, with retries if the server was busy.
 * @param closed formats that are not served, with the reasons
 */
export async function outcomeOf(
  check: Check,
  target: Target,
  closed: ReadonlyMap<ScoredFormat, string>,
  { retries = 2, signal }: { readonly retries?: number | undefined; readonly signal?: AbortSignal | undefined },
  count: () => void,
): Promise<Outcome> {
  const { needs, format, dependsOn } = check
  if (needs !== undefined && target.models[needs] === undefined)
    return { verdict: 'skipped', why: `no ${needs} model was given or found in the server’s list` }
  const door = closed.get(format) ?? (dependsOn === undefined ? undefined : closed.get(dependsOn))
  if (door !== undefined) return { verdict: 'not served', why: door }
  for (let again = retries; ; again--) {
    const { outcome, busy } = await oneTry(check, target, signal, count)
    if (busy === undefined || again <= 0 || signal?.aborted === true) return outcome
    // A cancelled run does not wait for the retry.
    await pause(busy, undefined, signal === undefined ? {} : { signal }).catch(() => {})
  }
}

const longestWaitMs = 30_000

/**
 * Runs a check once. `busy` is the number of milliseconds to wait before a retry; undefined if the server was not busy.
 */
async function oneTry(
  check: Check,
  target: Target,
  outer: AbortSignal | undefined,
  count: () => void,
): Promise<{ outcome: Outcome; busy?: number }> {
  const ending = new AbortController()
  const timer = setTimeout(() => ending.abort(), target.timeoutMs)
  const signal = outer === undefined ? ending.signal : AbortSignal.any([outer, ending.signal])
  const context = createContext(target, { call: count }, signal)
  const over = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new CheckFailed(lateness(target.timeoutMs))), { once: true })
  })
  try {
    await Promise.race([check.run(context), over])
    return { outcome: { verdict: 'passed' } }
  } catch (error) {
    if (ending.signal.aborted) return { outcome: { verdict: 'failed', why: lateness(target.timeoutMs) } }
    const refusal = rejectionOf(error)
    const busy = refusal !== undefined && [429, 503, 529].includes(refusal.status)
    return { outcome: judged(error, refusal, check, target), ...(busy ? { busy: waitOf(context.last()) } : {}) }
  } finally {
    clearTimeout(timer)
    // Aborts calls that the check left open.
    ending.abort()
  }
}

const lateness = (ms: number): string => `no response within ${ms / 1000} seconds`

const waitOf = (headers: Headers): number =>
  Math.min(longestWaitMs, (Number.parseFloat(headers.get('retry-after') ?? '') || 2) * 1000)

function judged(
  error: unknown,
  refusal: Rejection | undefined,
  { isEntry, hasExtraPaths }: Check,
  { models, modelOf }: Target,
): Outcome {
  if (error instanceof NotServed) return { verdict: 'not served', why: error.message }
  if (error instanceof CheckSkipped) return { verdict: 'skipped', why: error.message }
  if (error instanceof CheckFailed) return { verdict: 'failed', why: oneLine(error.message) }
  if (refusal === undefined) return { verdict: 'failed', why: oneLine(inWords(error)) }
  const why = describeRejection(refusal)
  // A missing path is not a missing model: errors that name the model count as failures.
  const named = [...Object.values(models), ...Object.values(modelOf)].some((name) => refusal.message.includes(name))
  const missing = (isEntry === true || hasExtraPaths === true) && [404, 405].includes(refusal.status) && !named
  // Some servers report a missing operation in the message, others by the status.
  const unsupported = isEntry === true && unserved.test(refusal.message)
  const absent = missing || unsupported || refusal.status === 501
  return { verdict: absent ? 'not served' : 'failed', why }
}

const unserved = /\b(not|un)[ -]?(supported|implemented)\b|\bdoes not (support|do this)\b/i

/** Describes an exception and its cause. */
function inWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause instanceof Error && error.cause.message !== '' ? ` (${error.cause.message})` : ''
  return `${error.constructor.name}: ${error.message}${cause}`
}

const oneLine = (text: string): string => {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length > 400 ? `${line.slice(0, 399)}…` : line
}
