import fc, { type Arbitrary } from 'fast-check'
import { afterAll, beforeAll, expect, vi } from 'vitest'

/** `FUZZ_RUNS=1000000` selects the long run; otherwise a short run with a fixed seed. */
const wanted = Number(process.env.FUZZ_RUNS ?? 0)
export const longRun = wanted > 0
/**
 * The long run uses a new seed each time and prints it. `FUZZ_SEED=… FUZZ_RUNS=…` reproduces a failure, `FUZZ_REPLAY=…`
 * a single value.
 */
const seed = Number(process.env.FUZZ_SEED ?? (longRun ? Date.now() % 0x7fffffff : 20261121))
const batch = 20_000
/** Timeout of a test, in milliseconds. */
export const fuzzPatience = longRun ? 24 * 3_600_000 : 240_000

/** CPU time in milliseconds that counts as a hang. */
const hangMs = 1000
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

let apartMs = 0
/** Excludes the test's own work, such as writing a response of a hundred megabytes, from the measured time. */
export function excludeFromTiming<T>(work: () => T): T {
  const begun = cpuMs()
  const result = work()
  apartMs += cpuMs() - begun
  return result
}

let lost: unknown[] = []
const onLost = (reason: unknown): void => void lost.push(reason)
const own = Object.getOwnPropertyNames(Object.prototype).length

/** The machine's clock: the runs advance the gateway's clock. */
const realNow = performance.now.bind(performance)

/** Installs fake timers and a check for unhandled rejections in each test file. */
export function watchProcess(): void {
  beforeAll(() => {
    process.on('unhandledRejection', onLost)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] })
  })
  afterAll(() => {
    vi.useRealTimers()
    process.off('unhandledRejection', onLost)
  })
}

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/** Longest wait of any timer: the first-byte limit plus a margin. */
const longestWaitMs = 3_600_000

/**
 * Resolves with the result of the work. Throws if it settles neither after many turns of the event loop nor after all
 * timers have fired.
 */
export async function settled<T>(work: Promise<T>): Promise<T> {
  let over = false
  const end = (): void => {
    over = true
  }
  work.then(end, end)
  for (let turns = 0; turns < 30 && !over; turns++) await turn()
  for (let waited = 0; waited < longestWaitMs && !over; waited += 60_000) {
    await vi.advanceTimersByTimeAsync(60_000)
    await turn()
  }
  // Allows for work in system threads: loading a module, a digest.
  for (let turns = 0; turns < 2000 && !over; turns++) await turn()
  for (const end = realNow() + 5000; realNow() < end && !over; ) await turn()
  if (!over) throw new Error('the call hangs: no timer or other work is pending')
  return work
}

/** Groups complaints by their first line without numbers. */
const kindOf = (complaint: string): string => (complaint.split('\n', 1)[0] ?? '').replace(/\d+/g, '#').slice(0, 200)

/**
 * Tests a property with many values. The short run fails with the smallest failing value; the long run continues and
 * reports one value per kind of complaint.
 *
 * @param complaint returns the error, or undefined
 * @param short number of runs in the short form; the long form has `FUZZ_RUNS`
 */
export async function fuzz<T>(
  name: string,
  values: Arbitrary<T>,
  complaint: (value: T) => Promise<string | undefined> | string | undefined,
  short: number,
): Promise<void> {
  if (process.env.FUZZ_REPLAY !== undefined) {
    const at = realNow()
    const found = await complaint(JSON.parse(process.env.FUZZ_REPLAY) as T)
    console.log(`fuzz: ${name}: ${Math.round(realNow() - at)} ms: ${found ?? 'no complaint'}`)
    return
  }
  const runs = longRun ? wanted : short
  const begun = realNow()
  const kinds = new Map<string, { count: number; example: string }>()
  let done = 0
  const judged = async (value: T): Promise<string | undefined> => {
    const cpu = cpuMs()
    const at = realNow()
    apartMs = 0
    let found: string | undefined
    try {
      found = await complaint(value)
    } catch (error) {
      found = `it throws: ${textOf(error)}`
    }
    done++
    if (found !== undefined) return found
    const took = realNow() - at
    if (took > hangMs && cpuMs() - cpu - apartMs > hangMs) return `it took ${Math.round(took)} ms`
    if (lost.length > 0) {
      const [first] = lost
      lost = []
      return `unhandled rejection: ${textOf(first)}`
    }
    if (Object.getOwnPropertyNames(Object.prototype).length !== own || 'polluted' in {})
      return 'Object.prototype was modified'
    return undefined
  }
  for (let from = 0; from < runs; from += batch) {
    const details = await fc.check(
      fc.asyncProperty(values, async (value) => {
        const found = await judged(value)
        if (found === undefined) return
        if (!longRun) throw new Error(found)
        const known = kinds.get(kindOf(found))
        if (known === undefined) {
          kinds.set(kindOf(found), { count: 1, example: `${found}\n${JSON.stringify(value)}` })
          process.stderr.write(`fuzz: ${name}: after ${done}: ${kindOf(found)}\n`)
        } else known.count++
      }),
      { seed: seed + from, numRuns: Math.min(batch, runs - from) },
    )
    if (details.failed)
      throw new Error(
        `${name}: FUZZ_SEED=${seed}: ${textOf(details.errorInstance)}\n${JSON.stringify(details.counterexample)}`,
      )
    if (longRun) process.stderr.write(`fuzz: ${name}: ${done} of ${runs} (seed ${seed})\n`)
  }
  const seconds = (realNow() - begun) / 1000
  console.log(`fuzz: ${name}: ${done} runs, seed ${seed}, ${seconds.toFixed(1)} s`)
  expect(done).toBeGreaterThanOrEqual(runs)
  if (kinds.size === 0) return
  const reported = [...kinds.values()].map(({ count, example }) => `${count} × ${example}`)
  throw new Error(`${name}: FUZZ_SEED=${seed}: ${kinds.size} kinds of complaints\n\n${reported.join('\n\n')}`)
}

const textOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error))

/** Appends the facts of a case to a complaint, truncated to a readable length. */
export const withFacts = (complaint: string | undefined, ...facts: readonly string[]): string | undefined =>
  complaint === undefined
    ? undefined
    : [complaint, ...facts.map((fact) => (fact.length > 3000 ? `${fact.slice(0, 3000)}…` : fact))].join('\n')
