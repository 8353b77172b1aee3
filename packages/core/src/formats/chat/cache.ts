import { isObject } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { Located, Report } from '../ir.ts'
import type { Quirks } from '../quirks.ts'
import { pointer } from '../shared/pointer.ts'
import { drop, leftover, type Unread, unread } from '../shared/reader.ts'
import { loss } from '../shared/report.ts'

interface CacheHint {
  ttl?: '5m' | '1h'
}

/** `cache_control` is not chat's own field, but clients of several vendors write it here. Anything odd stays unread. */
export function decodeCache(fields: Unread): CacheHint | undefined {
  if (!isObject(fields.cache_control)) return undefined
  const inner = unread(fields.cache_control)
  const { type, ttl } = inner
  drop(inner, 'type')
  drop(inner, 'ttl')
  const fits = type === 'ephemeral' && (ttl === undefined || ttl === '5m' || ttl === '1h')
  if (!fits || leftover(inner) !== undefined) return undefined
  drop(fields, 'cache_control')
  return ttl === '5m' || ttl === '1h' ? { ttl } : {}
}

export function encodeCache(
  out: JsonObject,
  node: Located & { cache?: CacheHint },
  quirks: Quirks,
  report: Report,
): void {
  if (node.cache === undefined) return
  if (quirks.cacheControl)
    out.cache_control = { type: 'ephemeral', ...(node.cache.ttl === undefined ? {} : { ttl: node.cache.ttl }) }
  else
    report.add(
      loss(pointer(node.at ?? '', 'cache_control'), 'the cache hint has no form in chat', 'unsupported', 'note'),
    )
}
