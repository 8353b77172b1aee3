import type { AdapterFunctions } from '@modelgate/core/adapter'
import type { Context } from 'hono'

/** The path that the gateway serves, and the position of the whole path in the request's URL. */
export interface Target {
  /** Path without the mount prefix. */
  readonly path: string
  /** Start and end of the whole path in the URL. */
  readonly start: number
  readonly end: number
}

/**
 * Finds the part of the path that the gateway serves; undefined if it serves none. Hono does not strip prefixes, and `/v1/*` may be
 * the gateway's own path or a prefix, so the gateway's `match` decides. It tries the path as it is, then without one, two, … of the
 * segments that the middleware's route has before its `*`.
 */
export function findTarget(
  c: Context,
  match: AdapterFunctions['match'],
  basePath: string | undefined,
): Target | undefined {
  const { url, method } = c.req.raw
  const { start, end } = pathIn(url)
  const path = url.slice(start, end)
  const isServed = (candidate: string, sharesRoot = false): boolean => match(method, candidate, sharesRoot) !== null
  if (basePath !== undefined) {
    const below = pathBelow(path, basePath.replace(/\/+$/, ''))
    return below !== undefined && isServed(below) ? { path: below, start, end } : undefined
  }
  // The whole path is tried first, so at the root paths that the app may have itself do not match.
  if (isServed(path, true)) return { path, start, end }
  let rest = path
  for (const segment of c.req.routePath.split('/').slice(1)) {
    if (segment.startsWith('*')) break
    const slash = rest.indexOf('/', 1)
    // Nothing is left: the path is the mount point without a trailing slash.
    rest = slash < 0 ? '/' : rest.slice(slash)
    if (isServed(rest)) return { path: rest, start, end }
    if (slash < 0) break
  }
  return undefined
}

function pathBelow(path: string, prefix: string): string | undefined {
  if (path === prefix) return '/'
  return path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : undefined
}

function pathIn(url: string): { start: number; end: number } {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  const end = url.slice(start).search(/[?#]/)
  return { start, end: end < 0 ? url.length : start + end }
}
