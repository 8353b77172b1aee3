import { readFileSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import type { Upstream } from '../../base/raw-upstream.ts'
import { sendGoodResponse, sleep } from '../../base/upstream-responses.ts'
import type { CheckContext, Target } from '../check.ts'
import { exchange } from '../client.ts'
import { percentile } from '../measurements.ts'

/** Effects of an action on other clients. */
export interface ObservedEffects {
  /** Growth of the resident memory at its peak; undefined without /proc. */
  readonly grownBytes: number | undefined
  /** The slowest of the other client's calls, and the 90th percentile, in milliseconds; NaN if none ended. */
  readonly worstMs: number
  readonly p90Ms: number
  /** The slowest of the same calls directly to the upstream at the same time: the share of the machine and this kit. */
  readonly directMs: number
  /** Number of failed calls of the other client. */
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

/** Starts to measure how far a process grows. Returns a function that returns the peak. */
export function watchMemory(pid: number | undefined): () => number | undefined {
  const base = pid === undefined ? undefined : statusLine(pid, 'VmRSS')
  if (pid === undefined || base === undefined) return () => undefined
  let highest = base
  let forgotten = false
  try {
    // Resets the kernel's high-water mark, which misses no peak between two readings.
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

/** Runs a client that repeats a small ordinary call after each response and a pause. */
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

/** Pause of the other client between calls: long enough not to be the load itself. */
const restMs = 3

/**
 * Runs an action on a gateway while another client sends small calls, and watches the process's memory. A gateway of
 * this kit collects garbage first, so that the measured growth belongs to the action.
 */
export async function observeDuring<T>(
  target: Target,
  upstream: Upstream,
  act: () => Promise<T>,
): Promise<{ readonly result: T; readonly noticed: ObservedEffects }> {
  await target.local?.stats()
  const [pair] = target.pairs
  if (pair === undefined) throw new Error('the target serves no pair')
  const scene = upstream.play(sendGoodResponse)
  const through = new Agent({ keepAlive: true })
  const straight = new Agent({ keepAlive: true })
  const direct: Target = { ...target, origin: upstream.origin }
  const beside = { client: pair.upstream, upstream: pair.upstream } as const
  const small = async (to: Target, callPair: typeof pair, agent: Agent): Promise<boolean> =>
    (await exchange(to, { ...callPair, text: scene.marker }, { agent })).status === 200
  // The first calls pay for connections and lazily loaded code.
  for (let round = 0; round < 5; round++) {
    await small(target, pair, through)
    await small(direct, beside, straight)
  }
  const grown = watchMemory(target.pid)
  const others = keepCalling(() => small(target, pair, through), restMs)
  const machine = keepCalling(() => small(direct, beside, straight), restMs)
  try {
    const result = await act()
    const [throughGateway, own] = await Promise.all([others(), machine()])
    return {
      result,
      noticed: {
        grownBytes: grown(),
        worstMs: throughGateway.times.length === 0 ? Number.NaN : Math.max(...throughGateway.times),
        p90Ms: percentile(throughGateway.times, 0.9),
        directMs: Math.max(0, ...own.times),
        failed: throughGateway.failed,
        calls: throughGateway.times.length,
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
 * Runs an action up to three times until it succeeds, or fails in a way that is independent of time. Returns the last
 * run. Effects of the gateway repeat, effects of other load do not, so a limit in milliseconds can be enforced in every
 * case.
 */
export async function retryWhileSlow<T>(run: () => Promise<T>, isOver: (outcome: T) => boolean): Promise<T> {
  for (let round = 1; ; round++) {
    const outcome = await run()
    if (round === 3 || isOver(outcome)) return outcome
  }
}

/** Starts a gateway with smaller limits; returns the target itself if it cannot be configured. */
export const withLimits = async (
  { target, fresh }: CheckContext,
  limits: NonNullable<Parameters<CheckContext['fresh']>[0]['limits']>,
): Promise<Target> => (await fresh({ limits })) ?? target
