import { GatewayError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/json.ts'
import { parseWholeNumber } from '../../base/json/parse.ts'
import { modelPrefix } from './spelling.ts'

/** The methods that every model supports, as the URL names them. */
const supportedMethods = ['generateContent', 'streamGenerateContent', 'countTokens']

/** Returns one entry of the model list. */
export const encodeModel = (name: string): JsonObject => ({
  name: `${modelPrefix}${name}`,
  baseModelId: name,
  version: '001',
  displayName: name,
  description: '',
  supportedGenerationMethods: supportedMethods,
})

const defaultPageSize = 50
const maxPageSize = 1000

/**
 * Returns a page of at most `pageSize` models (default 50, at most 1000, as Google documents) after the model that `pageToken`
 * names. Both may be written in snake_case. The last page has no `nextPageToken`. Throws `invalid_request` for invalid values.
 */
export function encodeModelList(names: readonly string[], query: URLSearchParams = new URLSearchParams()): JsonObject {
  const size = parsePageSize(query.get('pageSize') ?? query.get('page_size'))
  const start = startIndex(names, query.get('pageToken') ?? query.get('page_token'))
  const page = names.slice(start, start + size)
  const last = page.at(-1)
  return {
    models: page.map(encodeModel),
    ...(last !== undefined && start + size < names.length ? { nextPageToken: last } : {}),
  }
}

/** Returns the page size. Zero means the default, as clients of protocol buffers send it. */
function parsePageSize(text: string | null): number {
  if (text === null || text === '') return defaultPageSize
  const size = parseWholeNumber(text)
  if (size === undefined)
    throw invalidRequest('pageSize', `Invalid value at 'page_size' (TYPE_INT32), ${JSON.stringify(text.slice(0, 100))}`)
  if (size < 0) throw invalidRequest('pageSize', '* ListModelsRequest.page_size: page_size must not be negative.\n')
  return size === 0 ? defaultPageSize : Math.min(size, maxPageSize)
}

/** Returns the start index. The token is the last name of the previous page, so that every gateway instance understands it. */
function startIndex(names: readonly string[], token: string | null): number {
  if (token === null || token === '') return 0
  const index = names.indexOf(token)
  if (index < 0) throw invalidRequest('pageToken', '* ListModelsRequest.page_token: invalid page token.\n')
  return index + 1
}

const invalidRequest = (param: string, message: string): GatewayError =>
  new GatewayError('invalid_request', message, { param })
