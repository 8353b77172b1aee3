/** How many names that nobody has ever answered to are told apart. */
const maxUnproven = 100
/** How many names are told apart at all. */
const maxNames = 2000
const other = '_OTHER'

/**
 * Names of models as a metric may have them. Where a route has a `*` the client makes up the rest, and each name would be a
 * time series of its own: those that have never had an answer are bounded, and then all are.
 */
export function createBoundedNames(): (name: string, answered: boolean) => string {
  const known = new Set<string>()
  let unproven = 0
  return (name, answered) => {
    if (known.has(name)) return name
    if (known.size >= maxNames || name.length > 128 || (!answered && unproven >= maxUnproven)) return other
    if (!answered) unproven++
    known.add(name)
    return name
  }
}
