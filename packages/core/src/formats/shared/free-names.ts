/**
 * Hands out names that are not taken: the wanted one, else the same with the first free number from 2 behind it. For each wanted
 * name the search goes on where it ended before: many equal names would otherwise take quadratic time.
 *
 * @param separator stands between the name and its number
 * @param taken names in use
 */
export function createFreeNames(separator: string, taken: Iterable<string>): (wanted: string) => string {
  const used = new Set(taken)
  const last = new Map<string, number>()
  return (wanted) => {
    let name = wanted
    if (used.has(name)) {
      let number = last.get(wanted) ?? 1
      do name = `${wanted}${separator}${++number}`
      while (used.has(name))
      last.set(wanted, number)
    }
    used.add(name)
    return name
  }
}
