import { isObject } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { CodecContext } from '../codec.ts'
import type { Located } from '../ir.ts'
import { drop, leftover, type Unread, unread } from '../shared/json-fields.ts'
import { pointer } from '../shared/pointers.ts'
import { loss } from '../shared/report.ts'

interface CacheHint {
  ttl?: '5m' | '1h'
}

/** Takes `cache_control`. One of a kind not known here stays unread and travels as it is. */
export function decodeCache(fields: Unread): CacheHint | undefined {
  if (!isObject(fields.cache_control)) return undefined
  const { type, ttl, ...rest } = unread(fields.cache_control)
  const known = type === 'ephemeral' && (ttl === undefined || ttl === null || ttl === '5m' || ttl === '1h')
  if (!known || leftover(rest) !== undefined) return undefined
  drop(fields, 'cache_control')
  return ttl === '5m' || ttl === '1h' ? { ttl } : {}
}

/** Returns the value of `cache_control` for a cache hint. */
export const cacheControl = ({ ttl }: CacheHint): JsonObject =>
  ttl === undefined ? { type: 'ephemeral' } : { type: 'ephemeral', ttl }

/** For nodes that this format cannot mark, or that are not sent at all. */
export function reportCache(node: Located & { cache?: CacheHint }, context: CodecContext): void {
  if (node.cache !== undefined)
    context.report.add(
      loss(pointer(node.at ?? '', 'cache_control'), 'the cache hint has no place here', 'unsupported', 'note'),
    )
}
