import { availableParallelism } from 'node:os'
import type { Env } from '../terminal/command-context.ts'
import { FlagOrEnvironmentError } from '../terminal/errors.ts'
import type { ModelgateConfig } from './define-config.ts'

/** The flag of `start` that sets the number of workers. */
export interface WorkerFlags {
  readonly workers?: string | undefined
}

const maxWorkers = 128

/**
 * Returns the number of processes that serve calls: the flag wins over the environment, the environment over the file. Throws an Error that
 * names the invalid setting.
 */
export function workersOf({ workers }: WorkerFlags, env: Env, config: ModelgateConfig): number {
  const [name, given] = (
    [
      ['--workers', workers],
      ['MODELGATE_WORKERS', env.MODELGATE_WORKERS || undefined],
      ['workers', config.workers],
    ] as const
  ).find(([, value]) => value !== undefined) ?? ['workers', 1]
  if (given === 'auto') return Math.min(availableParallelism(), maxWorkers)
  const number = typeof given === 'number' || /^\d+$/.test(String(given)) ? Number(given) : Number.NaN
  if (!Number.isInteger(number) || number < 1 || number > maxWorkers)
    throw new (name === 'workers' ? Error : FlagOrEnvironmentError)(
      `Invalid ${name} '${String(given)}': set it to auto, or to a number from 1 to ${maxWorkers}.`,
    )
  return number
}
