import { GatewayError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/json.ts'
import { parseWholeNumber } from '../../base/json/parse.ts'
import type { Operation } from '../../base/names.ts'
import type { ModelDescription } from '../model-card.ts'
import { modelPrefix } from './spelling.ts'

/** The methods of chat models, as the URL names them. A model of an unknown kind may support others too. */
const chatMethods = ['generateContent', 'streamGenerateContent', 'countTokens']
/** The methods of models for other operations. */
const methodsOf: { readonly [O in Operation]?: readonly string[] } = {
  embeddings: ['embedContent'],
  images: ['predict'],
}

/** Returns one entry of the model list. */
export const encodeModel = (model: ModelDescription): JsonObject => {
  const { id, name, operations, contextWindow, maxInput = contextWindow, maxOutput, capabilities } = model
  return {
    name: `${modelPrefix}${id}`,
    baseModelId: id,
    version: '001',
    displayName: name ?? id,
    description: '',
    ...(maxInput === undefined ? {} : { inputTokenLimit: maxInput }),
    ...(maxOutput === undefined ? {} : { outputTokenLimit: maxOutput }),
    supportedGenerationMethods: operations.includes('generate')
      ? chatMethods
      : operations.flatMap((operation) => methodsOf[operation] ?? []),
    ...(capabilities?.reasoning === undefined ? {} : { thinking: capabilities.reasoning }),
  }
}

const defaultPageSize = 50
const maxPageSize = 1000

/**
 * Returns a page of at most `pageSize` models (default 50, at most 1000, as Google documents) after the model that `pageToken`
 * names. Both may be written in snake_case. The last page has no `nextPageToken`. Throws `invalid_request` for invalid values.
 */
export function encodeModelList(
  names: readonly string[],
  describe: (name: string) => ModelDescription,
  query: URLSearchParams,
): JsonObject {
  const size = parsePageSize(query.get('pageSize') ?? query.get('page_size'))
  const start = startIndex(names, query.get('pageToken') ?? query.get('page_token'))
  const page = names.slice(start, start + size)
  const last = page.at(-1)
  return {
    models: page.map((name) => encodeModel(describe(name))),
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
