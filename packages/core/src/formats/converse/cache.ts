import type { JsonObject } from '../../base/json/types.ts'
import type { CodecContext } from '../codec.ts'
import type { Located } from '../ir.ts'
import { pointer } from '../shared/pointer.ts'
import { loss } from '../shared/report.ts'
import type { ConverseTraits } from './models.ts'

export interface Cached extends Located {
  cache?: { ttl?: '5m' | '1h' }
}

/** The mark that goes behind a node that is to be cached; none, and a note, where the model takes none. */
export function cachePoint(
  { cache, at = '' }: Cached,
  marks: ConverseTraits['cache'],
  { report }: CodecContext,
): JsonObject[] {
  if (cache === undefined) return []
  const place = pointer(at, 'cache_control')
  if (marks === undefined) {
    report.add(loss(place, 'the model takes no marks for a cache here', 'unsupported', 'note'))
    return []
  }
  if (cache.ttl === '1h' && !marks.hour)
    report.add(loss(place, 'the model caches for five minutes, not for an hour', 'approximated', 'note'))
  const ttl = cache.ttl !== undefined && marks.hour ? { ttl: cache.ttl } : {}
  return [{ cachePoint: { type: 'default', ...ttl } }]
}
