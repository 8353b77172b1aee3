/** Returns the value below which this share of all values lies; NaN for an empty list. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** Formats milliseconds. */
export const ms = (value: number): string =>
  Number.isNaN(value) ? '–' : value < 10 ? `${value.toFixed(1)} ms` : `${Math.round(value)} ms`

/** Formats bytes. */
export const mb = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`

/** Runs all jobs, `width` at a time, and returns the results in order. */
export async function inParallel<Job, Result>(
  jobs: readonly Job[],
  width: number,
  run: (job: Job, place: number) => Promise<Result>,
): Promise<Result[]> {
  const results = new Array<Result>(jobs.length)
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < jobs.length) {
      const place = next++
      results[place] = await run(jobs[place] as Job, place)
    }
  }
  await Promise.all(Array.from({ length: Math.min(width, jobs.length) }, worker))
  return results
}

/** Waits for a condition; returns false if it does not hold within this time. */
export async function holdsWithin(holds: () => boolean | Promise<boolean>, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs
  while (!(await holds())) {
    if (performance.now() > end) return false
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return true
}

/** Returns every distinct complaint with its count, the most frequent first. */
export function tally(complaints: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const complaint of complaints) counts.set(complaint, (counts.get(complaint) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1]).map(([complaint, count]) => `${count} × ${complaint}`)
}
