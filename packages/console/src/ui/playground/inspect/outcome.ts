import type { CallAttempt, CallFacts } from '../../../calls.ts'
import type { Exchange } from '../formats/format.ts'

/** An upstream and its model. */
export interface TargetName {
  readonly upstream: string
  readonly model: string
}

export interface CallOutcome {
  /** `good` only if the response arrived completely. */
  readonly look?: 'good' | 'bad'
  readonly headline: string
  readonly attempts: readonly CallAttempt[]
  /** The target that responded, else the last one that was called. Absent: no upstream was called, or its name is hidden. */
  readonly target?: TargetName
  /** True if the target sent a response. */
  readonly responded: boolean
}

export const hasResponded = ({ error }: CallAttempt): boolean => error === undefined

/**
 * Describes the course of a call: what the client received, the attempts, and the target that responded.
 *
 * @param isNamed false: the gateway hides what is behind it
 */
export function outcomeOf(exchange: Exchange, facts: CallFacts | undefined, isNamed: boolean): CallOutcome {
  const { outcome, status, responseHeaders = {} } = exchange
  const attempts = facts?.attempts ?? []
  const reported = targetOf({
    upstream: responseHeaders['modelgate-upstream'],
    model: responseHeaders['modelgate-model'],
  })
  const winner = attempts.findLast(hasResponded)
  const target = targetOf(winner ?? attempts.at(-1) ?? {}) ?? (isNamed ? reported : undefined)
  const responded = winner !== undefined || (status !== undefined && status < 300)
  const name = target === undefined ? undefined : `${target.upstream} ${target.model}`
  const common = { attempts, responded, ...(target === undefined ? {} : { target }) }
  const failures = attempts.filter((attempt) => !hasResponded(attempt) && attempt.error !== 'cancelled').length

  if (outcome === 'running') return { ...common, headline: 'The call is running.' }
  if (outcome === 'stopped')
    return {
      ...common,
      headline: responded ? `You stopped the call while ${name ?? 'the upstream'} responded.` : 'You stopped the call.',
    }
  if (outcome === 'finished')
    return {
      ...common,
      look: 'good',
      headline: `${name ?? 'The upstream'} responded${failures === 0 ? '' : ` after ${counted(failures)}`}.`,
    }
  return { ...common, look: 'bad', headline: failure(exchange, { responded, failures, name }) }
}

function failure(
  { status, responseHeaders = {} }: Exchange,
  { responded, failures, name }: { responded: boolean; failures: number; name: string | undefined },
): string {
  if (status === undefined) return 'The gateway could not be reached.'
  if (responded) return `${name ?? 'The upstream'} began to respond, but the response is incomplete.`
  if (responseHeaders['modelgate-attempts'] === undefined)
    return `The gateway rejected the call with status ${status}. No upstream was called.`
  const course = failures > 1 ? `${failures} attempts failed` : `${name ?? 'The upstream'} failed`
  return failures > 1 ? `${course}. The client received status ${status}.` : `${course}: status ${status}.`
}

const counted = (failures: number): string => (failures === 1 ? 'a failed attempt' : `${failures} failed attempts`)

const targetOf = ({
  upstream,
  model,
}: {
  readonly upstream?: string | undefined
  readonly model?: string | undefined
}): TargetName | undefined => (upstream === undefined || model === undefined ? undefined : { upstream, model })
