import { GatewayError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/types.ts'
import { parseWholeNumber } from '../shared/json-text.ts'

/**
 * A model as Anthropic lists it. An unknown release date is written as the epoch, by Anthropic's own convention, and limits
 * and capabilities that are not known as null.
 */
export const encodeModel = (name: string): JsonObject => ({
  type: 'model',
  id: name,
  display_name: name,
  created_at: '1970-01-01T00:00:00Z',
  capabilities: null,
  max_input_tokens: null,
  max_tokens: null,
})

const pageSize = 20
const largestPage = 1000

/** A page of at most `limit` models (20 unless told, up to 1000) behind `after_id` or in front of `before_id`. */
export function encodeModelList(names: readonly string[], query: URLSearchParams = new URLSearchParams()): JsonObject {
  const limit = limitIn(query.get('limit'))
  const after = place(names, 'after_id', query)
  const before = place(names, 'before_id', query)
  if (after !== undefined && before !== undefined)
    throw refused('before_id', 'after_id and before_id cannot be combined')
  const start = before === undefined ? (after ?? -1) + 1 : Math.max(0, before - limit)
  const end = before ?? Math.min(names.length, start + limit)
  const page = names.slice(start, end)
  return {
    data: page.map(encodeModel),
    // In the direction asked for.
    has_more: before === undefined ? end < names.length : start > 0,
    first_id: page[0] ?? null,
    last_id: page.at(-1) ?? null,
  }
}

function limitIn(text: string | null): number {
  if (text === null) return pageSize
  const limit = parseWholeNumber(text)
  if (limit === undefined)
    throw refused('limit', 'Input should be a valid integer, unable to parse string as an integer')
  if (limit < 1) throw refused('limit', 'Input should be greater than or equal to 1')
  if (limit > largestPage) throw refused('limit', `Input should be less than or equal to ${largestPage}`)
  return limit
}

function place(names: readonly string[], key: string, query: URLSearchParams): number | undefined {
  const id = query.get(key)
  if (id === null) return undefined
  const index = names.indexOf(id)
  if (index < 0) throw refused(key, `there is no model '${id.slice(0, 100)}' in this list`)
  return index
}

const refused = (param: string, message: string): GatewayError =>
  new GatewayError('invalid_request', `${param}: ${message}`, { param })
