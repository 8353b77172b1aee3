import type { ExchangeContext, TargetTraits } from '../codec.ts'
import type { Loss, ModelRequest } from '../ir.ts'
import { createReport } from '../loss-report.ts'
import type { Machine } from '../stream-codec.ts'
import type { Quirks } from '../target-traits.ts'

/** Codec context with deterministic ids and time. */
export interface TestContext extends ExchangeContext {
  readonly target: TargetTraits
  readonly losses: readonly Loss[]
}

export function testContext(options: { request?: Partial<ModelRequest>; quirks?: Quirks } = {}): TestContext {
  const report = createReport()
  let ids = 0
  return {
    report,
    losses: report.losses,
    newId: (prefix) => `${prefix}${++ids}`,
    now: () => 1_700_000_000,
    upstream: 'chat',
    request: { model: 'm', turns: [], stream: false, ...options.request },
    target: { model: 'm', quirks: options.quirks ?? {} },
  }
}

/** Runs a machine over the inputs to their end; returns all outputs. */
export const run = <In, Out>(machine: Machine<In, Out>, inputs: readonly In[]): Out[] => [
  ...inputs.flatMap((input) => machine.push(input)),
  ...machine.end(),
]
