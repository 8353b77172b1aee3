import type { CallFacts } from '../../calls.ts'

const soonMs = 60
/** The gateway takes a moment to learn that somebody has left. */
const laterMs = 300

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** What the gateway knows of a call that is over: its cost, above all. The books are closed a moment after the last byte. */
export async function fetchFacts(
  gateway: string,
  requestId: string,
  { stopped }: { stopped: boolean },
): Promise<CallFacts | undefined> {
  for (const ms of [stopped ? laterMs : soonMs, laterMs]) {
    await pause(ms)
    try {
      const response = await fetch(`${gateway}/console/calls/${encodeURIComponent(requestId)}`, { cache: 'no-store' })
      if (response.ok) return (await response.json()) as CallFacts
    } catch {
      // The answer stands without it.
    }
  }
  return undefined
}
