import { matchesModel } from '@modelgate/core'
import { createLru } from '../lru.ts'

/** What is remembered of names that clients made up must not grow with them. */
const mostRemembered = 1000
const longestRemembered = 256

/**
 * Finds what a table says of an upstream's model: exact names before patterns, `upstream/model` before `model`, then the
 * pattern with the most characters beside its stars, then the one that was written first.
 */
export function createFinder<T>(
  entries: Readonly<Record<string, T>>,
): (upstream: string, model: string) => T | undefined {
  const exact = new Map(Object.entries(entries).filter(([name]) => !name.includes('*')))
  const patterns = Object.entries(entries)
    .filter(([name]) => name.includes('*'))
    .sort(([one], [other]) => weightOf(other) - weightOf(one))
  const known = createLru<{ readonly found: T | undefined }>(mostRemembered)

  const search = (upstream: string, model: string): T | undefined => {
    const prefix = `${upstream}/`
    const found = exact.get(prefix + model) ?? exact.get(model)
    if (found !== undefined) return found
    // The prefix is compared, not matched: `*` alone is a name of any model, not of any upstream and its model.
    const own = patterns.find(([name]) => name.startsWith(prefix) && matchesModel(model, [name.slice(prefix.length)]))
    return (own ?? patterns.find(([name]) => matchesModel(model, [name])))?.[1]
  }

  return (upstream, model) => {
    const key = `${upstream}\n${model}`
    const remembered = known.get(key)
    if (remembered !== undefined) return remembered.found
    const found = search(upstream, model)
    if (key.length <= longestRemembered) known.set(key, { found })
    return found
  }
}

const weightOf = (pattern: string): number => pattern.replaceAll('*', '').length
