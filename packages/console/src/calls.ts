import type { Attempt, BillableUnits, Cost, FinishEvent, SkippedTarget, UsageBasis } from '@modelgate/core'

/** Facts about a finished call, for anyone who knows its id: numbers only, no content, no identity. */
export interface CallFacts {
  readonly requestId: string
  readonly usage?: {
    readonly input: number
    readonly output: number
    readonly cached?: number
    readonly reasoning?: number
  }
  readonly basis?: UsageBasis
  /** Images, seconds of audio, characters of speech, searches, fetched pages, code executions. Absent: none. */
  readonly units?: BillableUnits
  /** Absent if the price is unknown. */
  readonly cost?: Cost
  readonly attempts: readonly CallAttempt[]
  /** Number of losses in the request and the response, whether or not the loss policy reports them. */
  readonly losses: { readonly warnings: number; readonly notes: number }
  /** Targets that could not accept the request. Absent: none, or the Playground may not show what is behind the gateway. */
  readonly skipped?: readonly Pick<SkippedTarget, 'upstream' | 'model' | 'reason'>[]
  /** Milliseconds in the gateway. */
  readonly durationMs: number
}

/** Has `upstream` and `model` only if the Playground may show what is behind the gateway. */
export type CallAttempt = Pick<Attempt, 'reason' | 'startedMs'> &
  Partial<Pick<Attempt, 'upstream' | 'model' | 'status' | 'waitedMs' | 'latencyMs' | 'error'>>

export interface CallBook {
  write(event: FinishEvent): void
  read(requestId: string): CallFacts | undefined
}

/**
 * Creates a memory of the last calls. A call id has 131 random bits that only the caller learns, so anyone who presents one made
 * the call or was shown it.
 */
export function createCallBook({ named, size = 500 }: { named: boolean; size?: number }): CallBook {
  const calls = new Map<string, CallFacts>()
  return {
    write(event) {
      calls.set(event.requestId, factsOf(event, named))
      const [oldest] = calls.keys()
      if (calls.size > size && oldest !== undefined) calls.delete(oldest)
    },
    read: (requestId) => calls.get(requestId),
  }
}

function factsOf(event: FinishEvent, named: boolean): CallFacts {
  const { requestId, usage, basis, units, cost, attempts, losses, skipped, durationMs } = event
  const notes = losses.filter(({ severity }) => severity === 'note').length
  return {
    requestId,
    ...(usage === undefined ? {} : { usage: countsOf(usage) }),
    ...(basis === undefined ? {} : { basis }),
    ...(units === undefined ? {} : { units: { ...units } }),
    ...(cost === undefined ? {} : { cost: { amount: cost.amount, currency: cost.currency } }),
    attempts: attempts.map(({ reason, upstream, model, status, startedMs, waitedMs, latencyMs, error }) => ({
      reason,
      startedMs,
      ...(named ? { upstream, model } : {}),
      ...(status === undefined ? {} : { status }),
      ...(waitedMs === undefined ? {} : { waitedMs }),
      ...(latencyMs === undefined ? {} : { latencyMs }),
      ...(error === undefined ? {} : { error }),
    })),
    losses: { warnings: losses.length - notes, notes },
    ...(named && skipped !== undefined
      ? { skipped: skipped.map(({ upstream, model, reason }) => ({ upstream, model, reason })) }
      : {}),
    durationMs,
  }
}

const countsOf = ({ input, output }: NonNullable<FinishEvent['usage']>): NonNullable<CallFacts['usage']> => ({
  input: input.total,
  output: output.total,
  ...(input.cacheRead === undefined ? {} : { cached: input.cacheRead }),
  ...(output.reasoning === undefined ? {} : { reasoning: output.reasoning }),
})
