import { isObject, type JsonObject } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type { CacheHint, Located, PromptCache } from '../ir.ts'
import { drop, leftover, type Unread, unread } from '../shared/json-fields.ts'
import { cachePlace, loss } from '../shared/report.ts'

/** Decodes `cache_control` and removes it from the fields. An unknown kind stays in them and passes through unchanged. */
export function decodeCache(fields: Unread): CacheHint | undefined {
  if (!isObject(fields.cache_control)) return undefined
  const { type, ttl, ...rest } = unread(fields.cache_control)
  const known = type === 'ephemeral' && (ttl === undefined || ttl === null || ttl === '5m' || ttl === '1h')
  if (!known || leftover(rest) !== undefined) return undefined
  drop(fields, 'cache_control')
  return ttl === '5m' || ttl === '1h' ? { ttl } : {}
}

/** Anthropic's lifetimes for those of OpenAI. Its default is five minutes. */
const lifetimes = { '5m': '5m', '30m': undefined, '1h': '1h', '12h': '1h' } as const

/** Returns the value of `cache_control` for a cache hint, or for the automatic cache of a request. */
export function cacheControl({ ttl }: CacheHint | PromptCache): JsonObject {
  const known = ttl === undefined ? undefined : lifetimes[ttl]
  return known === undefined ? { type: 'ephemeral' } : { type: 'ephemeral', ttl: known }
}

/** Reports a cache hint of a node that is not sent, or that this format cannot mark. */
export function reportCache(node: Located & { cache?: CacheHint }, context: CodecContext): void {
  if (node.cache !== undefined)
    context.report.add(loss(cachePlace(node), 'a cache hint is not allowed in this place', 'unsupported', 'note'))
}
