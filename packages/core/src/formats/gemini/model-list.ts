import { GatewayError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/types.ts'
import { parseWholeNumber } from '../shared/json-text.ts'
import { modelPrefix } from './spelling.ts'

/** What every model here can be asked for, in the words of the URL. */
const methods = ['generateContent', 'streamGenerateContent', 'countTokens']

export const encodeModel = (name: string): JsonObject => ({
  name: `${modelPrefix}${name}`,
  baseModelId: name,
  version: '001',
  displayName: name,
  description: '',
  supportedGenerationMethods: methods,
})

const usualPage = 50
const largestPage = 1000

/**
 * A page of at most `pageSize` models (50 unless told; more than 1000 are 1000, as Google has it), behind the one that
 * `pageToken` names. Both may be written in snake_case. Without a `nextPageToken` it is the last.
 */
export function encodeModelList(names: readonly string[], query: URLSearchParams = new URLSearchParams()): JsonObject {
  const size = sizeIn(query.get('pageSize') ?? query.get('page_size'))
  const start = startOf(names, query.get('pageToken') ?? query.get('page_token'))
  const page = names.slice(start, start + size)
  const last = page.at(-1)
  return {
    models: page.map(encodeModel),
    ...(last !== undefined && start + size < names.length ? { nextPageToken: last } : {}),
  }
}

/** Zero is how a client of protocol buffers says nothing. */
function sizeIn(text: string | null): number {
  if (text === null || text === '') return usualPage
  const size = parseWholeNumber(text)
  if (size === undefined)
    throw refused('pageSize', `Invalid value at 'page_size' (TYPE_INT32), ${JSON.stringify(text.slice(0, 100))}`)
  if (size < 0) throw refused('pageSize', '* ListModelsRequest.page_size: page_size must not be negative.\n')
  return size === 0 ? usualPage : Math.min(size, largestPage)
}

/** The token is the last name of the page before, so that it means the same to every instance of the gateway. */
function startOf(names: readonly string[], token: string | null): number {
  if (token === null || token === '') return 0
  const index = names.indexOf(token)
  if (index < 0) throw refused('pageToken', '* ListModelsRequest.page_token: invalid page token.\n')
  return index + 1
}

const refused = (param: string, message: string): GatewayError =>
  new GatewayError('invalid_request', message, { param })
