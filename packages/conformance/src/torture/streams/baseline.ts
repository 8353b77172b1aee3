import { readdirSync } from 'node:fs'
import { sendGoodResponse } from '../../base/upstream-responses.ts'
import type { CheckContext } from '../check.ts'
import { exchange } from '../client.ts'
import { holdsWithin } from '../measurements.ts'

/** Resources of a gateway: counts by name. */
export type Baseline = Readonly<Record<string, number>>

/** Undefined if the system does not report it. */
function openFiles(pid: number | undefined): number | undefined {
  try {
    return pid === undefined ? undefined : readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return undefined
  }
}

/**
 * Returns everything that keeps our process busy; for other gateways their open files if the process is known, and
 * connections at the upstream.
 */
export async function holdings({ target, upstream }: CheckContext): Promise<Baseline> {
  const connections = { 'upstream connections': await upstream.connections() }
  if (target.local !== undefined) {
    const { fds, resources } = await target.local.stats()
    return { fds, ...resources, ...connections }
  }
  const fds = openFiles(target.pid)
  return { ...(fds === undefined ? {} : { fds }), ...connections }
}

/** Longer than a gateway keeps idle connections to its upstream. */
const calmMs = 8000

/** Returns the resources of an idle gateway that has served every pair. */
export async function baselineOf(setting: CheckContext): Promise<Baseline> {
  const { target, upstream } = setting
  for (const pair of target.pairs)
    for (const stream of [false, true]) {
      const scene = upstream.play(sendGoodResponse)
      await exchange(target, { ...pair, text: scene.marker, stream })
      scene.end()
    }
  await holdsWithin(async () => (await upstream.connections()) === 0, calmMs)
  return holdings(setting)
}

/** Returns the resources beyond the baseline. */
export function beyond(before: Baseline, now: Baseline): string[] {
  return Object.entries(now).flatMap(([name, count]) => {
    const more = count - (before[name] ?? 0)
    return more > 0 ? [`${more} ${name}`] : []
  })
}
