import fc, { type Arbitrary } from 'fast-check'
import { afterAll, beforeAll, expect, vi } from 'vitest'

/** `FUZZ_RUNS=1000000` is the long run; without it, a short one with the same seed every time. */
const wanted = Number(process.env.FUZZ_RUNS ?? 0)
export const longRun = wanted > 0
/** Of the long run a new one each time, printed so that a failure can be had again: `FUZZ_SEED=… FUZZ_RUNS=…`. One value alone: `FUZZ_REPLAY=…`. */
const seed = Number(process.env.FUZZ_SEED ?? (longRun ? Date.now() % 0x7fffffff : 20261121))
const batch = 20_000
/** For a test's own limit, in milliseconds. */
export const fuzzPatience = longRun ? 24 * 3_600_000 : 240_000

/** Slower than this is a hang, in milliseconds of the processor: others share the machine. */
const hangMs = 1000
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

let apartMs = 0
/** Work of the test itself, such as writing an answer of a hundred megabytes: nobody hangs meanwhile. */
export function apart<T>(work: () => T): T {
  const begun = cpuMs()
  const result = work()
  apartMs += cpuMs() - begun
  return result
}

let lost: unknown[] = []
const onLost = (reason: unknown): void => void lost.push(reason)
const own = Object.getOwnPropertyNames(Object.prototype).length

/** The clock of the machine: that of the gateway is moved by the runs. */
const realNow = performance.now.bind(performance)

/** For each test file: timers that the runs may move, and an eye on promises that nobody looks after. */
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

/** The longest that anything here may wait for by itself: the limit for a first byte, and some. */
const longestWaitMs = 3_600_000

/**
 * What the work comes to. Throws where it comes to nothing: neither after so many turns of the loop, nor when the time has come
 * for every timer there is.
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
  // What the system does in threads of its own: loading a module, a digest.
  for (let turns = 0; turns < 2000 && !over; turns++) await turn()
  for (const end = realNow() + 5000; realNow() < end && !over; ) await turn()
  if (!over) throw new Error('it hangs: nothing is left that could wake it')
  return work
}

/** Told apart by their first line, whatever numbers are in it. */
const kindOf = (complaint: string): string => (complaint.split('\n', 1)[0] ?? '').replace(/\d+/g, '#').slice(0, 200)

/**
 * Tries a property on many values. The short form fails with the smallest value that breaks it; the long one goes on, and fails
 * with one value for each kind of complaint.
 *
 * @param complaint what is wrong; undefined: nothing
 * @param short how many runs in the short form; in the long form `FUZZ_RUNS` of them
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
    console.log(`fuzz: ${name}: ${Math.round(realNow() - at)} ms: ${found ?? 'nothing is wrong'}`)
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
      return `a rejection nobody handled: ${textOf(first)}`
    }
    if (Object.getOwnPropertyNames(Object.prototype).length !== own || 'polluted' in {})
      return 'Object.prototype has been altered'
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
  const told = [...kinds.values()].map(({ count, example }) => `${count} × ${example}`)
  throw new Error(`${name}: FUZZ_SEED=${seed}: ${kinds.size} kinds of complaints\n\n${told.join('\n\n')}`)
}

const textOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error))

/** Complaints with the case they are about, cut to what can be read. */
export const about = (complaint: string | undefined, ...facts: readonly string[]): string | undefined =>
  complaint === undefined
    ? undefined
    : [complaint, ...facts.map((fact) => (fact.length > 3000 ? `${fact.slice(0, 3000)}…` : fact))].join('\n')
