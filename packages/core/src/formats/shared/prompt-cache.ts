import { isObject, type JsonObject, put } from '../../base/json/json.ts'
import type { CacheHint, Located, ModelRequest, PromptCache, Report } from '../ir.ts'
import { drop, leftover, type Unread, unread } from './json-fields.ts'
import { cachePlace, fieldPointer, loss } from './report.ts'

// The prompt cache of a request: OpenAI's fields, which chat and responses have in common, and what other formats lack.

const lifetimes = ['30m', '12h'] as const

const isLifetime = (value: unknown): value is (typeof lifetimes)[number] | undefined =>
  value === undefined || lifetimes.some((known) => known === value)

/** Reads `prompt_cache_breakpoint` of a part. Unknown forms stay unread. */
export function decodeBreakpoint(fields: Unread): CacheHint | undefined {
  if (!isObject(fields.prompt_cache_breakpoint)) return undefined
  const { mode, ttl, ...rest } = unread(fields.prompt_cache_breakpoint)
  if (mode !== 'explicit' || !isLifetime(ttl) || leftover(rest) !== undefined) return undefined
  drop(fields, 'prompt_cache_breakpoint')
  return ttl === undefined ? { isBreakpoint: true } : { ttl, isBreakpoint: true }
}

/** Writes the breakpoint of a part. Reports a lifetime that OpenAI does not have. */
export function encodeBreakpoint(out: JsonObject, node: Located & { cache?: CacheHint }, report: Report): void {
  const { ttl } = node.cache ?? {}
  if (ttl === '1h')
    report.add(loss(cachePlace(node), 'OpenAI keeps it for 30 minutes instead of an hour', 'approximated', 'note'))
  out.prompt_cache_breakpoint = { mode: 'explicit', ...(ttl === '30m' || ttl === '12h' ? { ttl } : {}) }
}

/** Reads `prompt_cache_options`. Unknown members leave it unread as a whole. */
export function decodeCacheOptions(fields: Unread): PromptCache | undefined {
  if (!isObject(fields.prompt_cache_options)) return undefined
  const { mode, ttl, prewarm, ...rest } = unread(fields.prompt_cache_options)
  const isKnown =
    (mode === undefined || mode === 'implicit' || mode === 'explicit') &&
    isLifetime(ttl) &&
    (prewarm === undefined || typeof prewarm === 'boolean') &&
    leftover(rest) === undefined
  if (!isKnown) return undefined
  drop(fields, 'prompt_cache_options')
  const cache: PromptCache = {}
  if (mode !== undefined) cache.automatic = mode === 'implicit'
  put(cache, 'ttl', ttl)
  if (prewarm === true) cache.prewarm = true
  if (Object.keys(cache).length === 0) return undefined
  cache.isBreakpoint = true
  return cache
}

/** Writes `prompt_cache_options`, unless its values are the defaults. Reports a lifetime that OpenAI does not have. */
export function encodeCacheOptions(out: JsonObject, cache: PromptCache, at: string, report: Report): void {
  const { automatic, ttl, prewarm } = cache
  if (ttl === '1h')
    report.add(loss(at, 'OpenAI keeps the cache for 30 minutes instead of an hour', 'approximated', 'note'))
  const options: JsonObject = {
    ...(automatic === false ? { mode: 'explicit' } : {}),
    ...(ttl === '30m' || ttl === '12h' ? { ttl } : {}),
    ...(prewarm === true ? { prewarm } : {}),
  }
  if (Object.keys(options).length > 0) out.prompt_cache_options = options
}

/** Reports lifetimes of hints that a format with `cache_control` shortens. */
export function reportLifetimes({ turns, tools }: ModelRequest, report: Report): void {
  const check = (node: Located & { cache?: CacheHint }): void => {
    const ttl = node.cache?.ttl
    if (ttl === '30m' || ttl === '12h')
      report.add(
        loss(
          cachePlace(node),
          `the cache keeps it for ${ttl === '12h' ? 'an hour' : 'five minutes'}, not for '${ttl}'`,
          'approximated',
          'note',
        ),
      )
  }
  for (const turn of turns) {
    check(turn)
    turn.parts.forEach(check)
  }
  tools?.list.forEach(check)
}

/** Reports that the format cannot fill the cache without generating a response, and so cannot do what the client wants. */
export function reportPrewarm(request: ModelRequest, format: string, report: Report): void {
  if (request.cache?.prewarm !== true) return
  const detail = `${format} cannot fill the prompt cache without generating a response`
  report.add(loss(fieldPointer('cache.prewarm', request.at, undefined), detail, 'unsupported', 'fatal'))
}

/** Reports the cache settings of a request for a format that has none. */
export function reportCacheSettings(request: ModelRequest, format: string, report: Report): void {
  const { automatic, ttl } = request.cache ?? {}
  reportPrewarm(request, format, report)
  for (const [field, value] of Object.entries({ automatic, ttl }))
    if (value !== undefined)
      report.add(
        loss(
          fieldPointer(`cache.${field}`, request.at, undefined),
          `${format} has no settings of the cache`,
          'unsupported',
          'note',
        ),
      )
}
