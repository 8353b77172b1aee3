import { relative } from 'node:path'

/** A path as it is said to people: relative to the working directory, where it is below it. */
export function shownPath(cwd: string, path: string): string {
  const near = relative(cwd, path)
  return near.startsWith('..') ? path : near || '.'
}
