import type { Attempt, Cost, FinishEvent, UsageBasis } from '@modelgate/core'

/** What is told of a call that is over, to whoever knows its id: numbers, nothing that was said, nobody's name. */
export interface CallFacts {
  readonly requestId: string
  readonly usage?: {
    readonly input: number
    readonly output: number
    readonly cached?: number
    readonly reasoning?: number
  }
  readonly basis?: UsageBasis
  /** Absent: unknown. */
  readonly cost?: Cost
  readonly attempts: readonly CallAttempt[]
  /** Milliseconds in the gateway. */
  readonly durationMs: number
}

/** `upstream` and `model` only where the Playground may show what is behind the gateway. */
export type CallAttempt = Pick<Attempt, 'reason'> &
  Partial<Pick<Attempt, 'upstream' | 'model' | 'status' | 'latencyMs' | 'error'>>

export interface CallBook {
  write(event: FinishEvent): void
  read(requestId: string): CallFacts | undefined
}

/**
 * The last calls, in memory. Their ids are 131 random bits that only the caller is told, so that whoever names one has made
 * that call, or was shown it.
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

function factsOf({ requestId, usage, basis, cost, attempts, durationMs }: FinishEvent, named: boolean): CallFacts {
  return {
    requestId,
    ...(usage === undefined ? {} : { usage: countsOf(usage) }),
    ...(basis === undefined ? {} : { basis }),
    ...(cost === undefined ? {} : { cost: { amount: cost.amount, currency: cost.currency } }),
    attempts: attempts.map(({ reason, upstream, model, status, latencyMs, error }) => ({
      reason,
      ...(named ? { upstream, model } : {}),
      ...(status === undefined ? {} : { status }),
      ...(latencyMs === undefined ? {} : { latencyMs }),
      ...(error === undefined ? {} : { error }),
    })),
    durationMs,
  }
}

const countsOf = ({ input, output }: NonNullable<FinishEvent['usage']>): NonNullable<CallFacts['usage']> => ({
  input: input.total,
  output: output.total,
  ...(input.cacheRead === undefined ? {} : { cached: input.cacheRead }),
  ...(output.reasoning === undefined ? {} : { reasoning: output.reasoning }),
})
