import { type Signal, stopReason } from './signal.ts'

/** Waits. Rejects as soon as the signal is aborted, with why. */
export function sleep(ms: number, signal: Signal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', leave)
      reject(stopReason(signal))
    }
    const timer = setTimeout(
      () => {
        signal.removeEventListener('abort', leave)
        resolve()
      },
      Math.min(Math.ceil(ms), maxTimerMs),
    )
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave)
  })
}

/** Timers take no more; beyond it they fire at once. Nearly 25 days: as good as never. */
export const maxTimerMs = 2 ** 31 - 1
