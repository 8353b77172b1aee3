import type { Gateway } from '@modelgate/core'
import type { Context } from 'hono'

/** What the gateway is asked for, and where its path stands in the request's URL. */
export interface Target {
  /** Path for the gateway, below the mount. */
  readonly path: string
  /** Where the whole path starts and ends in the URL. */
  readonly start: number
  readonly end: number
}

/**
 * Which part of the path the gateway answers; undefined: none of it. Hono does not strip prefixes, and `/v1/*` may be the
 * gateway's own path or a prefix: the gateway's `match` tells. Asked in turn: the path as it is, then without one, two, … of
 * the segments that the middleware's own route has before its `*`.
 */
export function findTarget(c: Context, gateway: Gateway, basePath: string | undefined): Target | undefined {
  const { url, method } = c.req.raw
  const { start, end } = pathIn(url)
  const path = url.slice(start, end)
  const answers = (one: string): boolean => gateway.match(method, one) !== null
  if (basePath !== undefined) {
    const below = pathBelow(path, basePath.replace(/\/+$/, ''))
    return below !== undefined && answers(below) ? { path: below, start, end } : undefined
  }
  if (answers(path)) return { path, start, end }
  let rest = path
  for (const segment of c.req.routePath.split('/').slice(1)) {
    if (segment.startsWith('*')) break
    const slash = rest.indexOf('/', 1)
    // Nothing left: the mount itself, without its slash.
    rest = slash < 0 ? '/' : rest.slice(slash)
    if (answers(rest)) return { path: rest, start, end }
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
