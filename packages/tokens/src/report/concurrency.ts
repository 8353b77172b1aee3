/** Returns the results of a function for all items, in their order. At most `workers` of its promises are pending at the same time. */
export async function mapWithWorkers<T, R>(
  items: readonly T[],
  workers: number,
  map: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = []
  let next = 0
  let hasFailed = false
  const work = async (): Promise<void> => {
    while (next < items.length && !hasFailed) {
      const at = next++
      try {
        results[at] = await map(items[at] as T)
      } catch (error) {
        hasFailed = true
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: workers }, work))
  return results
}

/** Runs tasks in order, at most `running` at the same time. A task that would be the `waiting + 1`st to wait calls `onFull`, which throws. */
export function createTaskQueue(running: number, waiting: number, onFull: () => never) {
  let free = running
  const queue: (() => void)[] = []
  return async <T>(task: () => Promise<T>): Promise<T> => {
    if (free > 0) free--
    else if (queue.length < waiting) await new Promise<void>((resolve) => queue.push(resolve))
    else onFull()
    try {
      return await task()
    } finally {
      const next = queue.shift()
      if (next === undefined) free++
      else next()
    }
  }
}
