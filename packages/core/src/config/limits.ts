import { maxTimerMs } from '../base/async.ts'
import type { Limits } from './config.ts'

export const defaultLimits: Required<Limits> = {
  bodyBytes: 32 * 1024 * 1024,
  uploadBytes: 512 * 1024 * 1024,
  depth: 128,
  values: 350_000,
  holdMs: 30_000,
  firstByteMs: 600_000,
  idleMs: 300_000,
  totalMs: 2 ** 31 - 1,
  clientStallMs: 300_000,
  callbackMs: 30_000,
  // Every 15 s is promised, and timers are never early.
  heartbeatMs: 14_000,
  answerBytes: 64 * 1024 * 1024,
  realtimeIdleMs: 900_000,
  realtimeMessageBytes: 16 * 1024 * 1024,
}

/** The limits in force. An undefined one is the default, and an endless time is the longest there is. */
export function resolveLimits(limits: Limits = {}): Required<Limits> {
  const all = { ...defaultLimits }
  for (const name of Object.keys(defaultLimits) as (keyof Limits)[]) {
    const value = limits[name]
    if (value !== undefined) all[name] = name.endsWith('Ms') ? Math.min(value, maxTimerMs) : value
  }
  return all
}
