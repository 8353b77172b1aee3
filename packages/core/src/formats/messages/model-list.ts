import { GatewayError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/json.ts'
import { parseWholeNumber } from '../../base/json/parse.ts'

/**
 * Encodes a model for Anthropic's list of models. An unknown release date is the epoch, which is Anthropic's own convention. Unknown
 * limits and capabilities are null.
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

/** Returns a page of at most `limit` models (default 20, maximum 1000) after `after_id` or before `before_id`. */
export function encodeModelList(names: readonly string[], query: URLSearchParams = new URLSearchParams()): JsonObject {
  const limit = decodeLimit(query.get('limit'))
  const after = indexOfModel(names, 'after_id', query)
  const before = indexOfModel(names, 'before_id', query)
  if (after !== undefined && before !== undefined)
    throw invalidParameter('before_id', 'after_id and before_id cannot be combined')
  const start = before === undefined ? (after ?? -1) + 1 : Math.max(0, before - limit)
  const end = before ?? Math.min(names.length, start + limit)
  const page = names.slice(start, end)
  return {
    data: page.map(encodeModel),
    // `has_more` counts in the requested direction.
    has_more: before === undefined ? end < names.length : start > 0,
    first_id: page[0] ?? null,
    last_id: page.at(-1) ?? null,
  }
}

function decodeLimit(text: string | null): number {
  if (text === null) return pageSize
  const limit = parseWholeNumber(text)
  if (limit === undefined)
    throw invalidParameter('limit', 'Input should be a valid integer, unable to parse string as an integer')
  if (limit < 1) throw invalidParameter('limit', 'Input should be greater than or equal to 1')
  if (limit > largestPage) throw invalidParameter('limit', `Input should be less than or equal to ${largestPage}`)
  return limit
}

function indexOfModel(names: readonly string[], key: string, query: URLSearchParams): number | undefined {
  const id = query.get(key)
  if (id === null) return undefined
  const index = names.indexOf(id)
  if (index < 0) throw invalidParameter(key, `this list does not contain the model '${id.slice(0, 100)}'`)
  return index
}

const invalidParameter = (param: string, message: string): GatewayError =>
  new GatewayError('invalid_request', `${param}: ${message}`, { param })
