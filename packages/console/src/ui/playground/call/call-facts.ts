import type { CallFacts } from '../../../calls.ts'

const soonMs = 60
/** The gateway notices a disconnect after a moment. */
const laterMs = 300

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Fetches the gateway's facts about a finished call, mainly its cost. They exist a moment after the last byte. */
export async function fetchCallFacts(
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
      // The response is shown without them.
    }
  }
  return undefined
}
