/** Adds all items to a list, in time of their number. `push(...items)` throws where they are a hundred thousand. */
export function append<T>(list: T[], items: readonly T[]): void {
  for (const item of items) list.push(item)
}
