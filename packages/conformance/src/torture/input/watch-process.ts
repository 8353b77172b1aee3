import { readFileSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import type { Upstream } from '../../base/raw-upstream.ts'
import { answerWell, sleep } from '../../base/upstream-responses.ts'
import type { Setting, Target } from '../check.ts'
import { exchange } from '../client.ts'
import { percentile } from '../measurements.ts'

/** Effects of an act on uninvolved clients. */
export interface Noticed {
  /** Growth of the resident memory at its peak; undefined if /proc is not available. */
  readonly grownBytes: number | undefined
  /** The slowest of the other client's calls, and nine in ten, in milliseconds; NaN: none ended. */
  readonly worstMs: number
  readonly p90Ms: number
  /** The slowest of the same calls straight to the upstream at the same time: the machine's and this kit's own share. */
  readonly directMs: number
  /** Calls of the other client that went wrong. */
  readonly failed: number
  readonly calls: number
}

const statusLine = (pid: number, name: string): number | undefined => {
  try {
    const line = readFileSync(`/proc/${pid}/status`, 'latin1')
      .split('\n')
      .find((one) => one.startsWith(`${name}:`))
    return line === undefined ? undefined : Number.parseInt(line.slice(name.length + 1), 10) * 1024
  } catch {
    return undefined
  }
}

/** How far a process grows, from now on. */
export function watchMemory(pid: number | undefined): () => number | undefined {
  const base = pid === undefined ? undefined : statusLine(pid, 'VmRSS')
  if (pid === undefined || base === undefined) return () => undefined
  let highest = base
  let forgotten = false
  try {
    // From here on the kernel keeps a new high-water mark, which misses nothing between two looks.
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
    forgotten = true
  } catch {
    // Not ours to reset: then looking often has to do.
  }
  const look = (): void => {
    highest = Math.max(highest, statusLine(pid, forgotten ? 'VmHWM' : 'VmRSS') ?? 0)
  }
  const timer = setInterval(look, 10)
  return () => {
    clearInterval(timer)
    look()
    return highest - base
  }
}

/** One client that calls again as soon as it was answered and has rested; every call small and ordinary. */
function keepCalling(call: () => Promise<boolean>, restMs: number): () => Promise<{ times: number[]; failed: number }> {
  const times: number[] = []
  let failed = 0
  let over = false
  const running = (async () => {
    while (!over) {
      const begun = performance.now()
      if (!(await call())) failed++
      times.push(performance.now() - begun)
      await sleep(restMs)
    }
  })()
  return async () => {
    over = true
    await running
    return { times, failed }
  }
}

/** How long the other client rests between its calls: long enough not to be the load itself. */
const restMs = 3

/**
 * Does something to a gateway while another client makes small calls through it, and watches the process's memory. A gateway
 * of ours collects its garbage before, so that what is measured is the act's.
 */
export async function meanwhile<T>(
  target: Target,
  upstream: Upstream,
  act: () => Promise<T>,
): Promise<{ readonly result: T; readonly noticed: Noticed }> {
  await target.own?.stats()
  const [pair] = target.pairs
  if (pair === undefined) throw new Error('the target serves no pair')
  const scene = upstream.play(answerWell)
  const through = new Agent({ keepAlive: true })
  const straight = new Agent({ keepAlive: true })
  const direct: Target = { ...target, origin: upstream.origin }
  const beside = { client: pair.upstream, upstream: pair.upstream } as const
  const small = async (to: Target, asked: typeof pair, agent: Agent): Promise<boolean> =>
    (await exchange(to, { ...asked, text: scene.marker }, { agent })).status === 200
  // The first caller pays for connections and lazily loaded code.
  for (let round = 0; round < 5; round++) {
    await small(target, pair, through)
    await small(direct, beside, straight)
  }
  const grown = watchMemory(target.pid)
  const others = keepCalling(() => small(target, pair, through), restMs)
  const machine = keepCalling(() => small(direct, beside, straight), restMs)
  try {
    const result = await act()
    const [told, own] = await Promise.all([others(), machine()])
    return {
      result,
      noticed: {
        grownBytes: grown(),
        worstMs: told.times.length === 0 ? Number.NaN : Math.max(...told.times),
        p90Ms: percentile(told.times, 0.9),
        directMs: Math.max(0, ...own.times),
        failed: told.failed,
        calls: told.times.length,
      },
    }
  } finally {
    await Promise.all([others(), machine()])
    grown()
    scene.end()
    through.destroy()
    straight.destroy()
  }
}

/**
 * Runs something up to three times until it is good, or wrong in a way that is no matter of time, and gives the last run. What a gateway does wrong it does every time; what
 * the machine's other work spoils, it does not: so a limit in milliseconds can be held to in every single case.
 */
export async function upToThrice<T>(run: () => Promise<T>, isOver: (outcome: T) => boolean): Promise<T> {
  for (let round = 1; ; round++) {
    const outcome = await run()
    if (round === 3 || isOver(outcome)) return outcome
  }
}

/** A gateway of ours with smaller limits where there is one to be had; the target as it stands where it is not ours. */
export const withLimits = async (
  { target, fresh }: Setting,
  limits: NonNullable<Parameters<Setting['fresh']>[0]['limits']>,
): Promise<Target> => (await fresh({ limits })) ?? target
