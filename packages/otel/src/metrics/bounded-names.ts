/** Maximum number of distinct names kept for models that have never answered. */
const maxUnansweredNames = 100
/** Maximum number of distinct names in all. */
const maxNames = 2000
const other = '_OTHER'

/**
 * Creates a function that bounds the model names in a metric. With a `*` in a model route the client chooses the rest of the
 * name, and each name would be a time series of its own. Names that never had a response are bounded first, then all names.
 */
export function createBoundedNames(): (name: string, answered: boolean) => string {
  const known = new Set<string>()
  let unproven = 0
  return (name, answered) => {
    if (known.has(name)) return name
    if (known.size >= maxNames || name.length > 128 || (!answered && unproven >= maxUnansweredNames)) return other
    if (!answered) unproven++
    known.add(name)
    return name
  }
}
