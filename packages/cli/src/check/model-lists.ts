import type { Upstream } from '@modelgate/core'
import { isRecord } from '../config/expand.ts'

/** The endpoint that lists an upstream's models, and how to read its responses. */
export interface ModelList {
  /** Returns the URL of a page. @param after cursor from the previous page */
  url(after: string | undefined): string
  /** Returns the names on a page and the cursor of the next one; undefined if the response is not such a list. */
  read(response: unknown): { readonly names: readonly string[]; readonly next?: string | undefined } | undefined
  /** Additional request headers. */
  readonly headers?: Readonly<Record<string, string>>
  /** Reason why listed names differ from those that calls use. If set, names are not compared. */
  readonly incomparableReason?: string
  /** Converts a name used in calls to the name in the list. Default: unchanged. */
  toListedName?(model: string): string
}

/** Reads `field` of each object in the list `at` of a response. */
const namesAt = (response: unknown, at: string, field: string): string[] | undefined => {
  const list = isRecord(response) ? response[at] : undefined
  if (!Array.isArray(list)) return undefined
  return list.flatMap((one) => (isRecord(one) && typeof one[field] === 'string' ? [one[field]] : []))
}

const textAt = (response: unknown, field: string): string | undefined => {
  const value = isRecord(response) ? response[field] : undefined
  return typeof value === 'string' && value !== '' ? value : undefined
}

const withQuery = (url: string, query: Readonly<Record<string, string | undefined>>): string => {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
  const text = new URLSearchParams(given).toString()
  return text === '' ? url : `${url}${url.includes('?') ? '&' : '?'}${text}`
}

/** OpenAI's list, which most providers copy. Together returns the array without an object around it. */
const openaiList = (url: string, apart?: string): ModelList => ({
  url: () => url,
  read(response) {
    const names = namesAt(Array.isArray(response) ? { data: response } : response, 'data', 'id')
    return names && { names }
  },
  ...(apart === undefined ? {} : { incomparableReason: apart }),
})

const anthropicList = (url: string): ModelList => ({
  url: (after) => withQuery(url, { limit: '1000', after_id: after }),
  read(response) {
    const names = namesAt(response, 'data', 'id')
    const more = isRecord(response) && response.has_more === true
    return names && { names, next: more ? textAt(response, 'last_id') : undefined }
  },
})

/** Google's names are paths: `models/gemini-…`, `publishers/google/models/gemini-…`. */
const googleList = (url: string, at: string): ModelList => ({
  url: (after) => withQuery(url, { pageSize: at === 'models' ? '1000' : '200', pageToken: after }),
  read(response) {
    const names = namesAt(response, at, 'name')
    return (
      names && {
        names: names.map((name) => name.slice(name.lastIndexOf('/') + 1)),
        next: textAt(response, 'nextPageToken'),
      }
    )
  },
})

const cohereList = (url: string): ModelList => ({
  url: (after) => withQuery(url, { page_size: '1000', page_token: after }),
  read(response) {
    const names = namesAt(response, 'models', 'name')
    return names && { names, next: textAt(response, 'next_page_token') }
  },
})

/** Bedrock lists models on its management host. Inference profiles prefix the name with a region. */
const bedrockList = (url: string): ModelList => ({
  url: () => url,
  read(response) {
    const names = namesAt(response, 'modelSummaries', 'modelId')
    return names && { names }
  },
  toListedName: (model) => model.replace(/^(us|us-gov|eu|apac|jp|au|ca|global)\./, ''),
})

/**
 * Finds the model list of an upstream by its paths, so that copies of factory results with other members are recognized too.
 *
 * @returns the list, or the reason why there is none
 */
export function modelListOf({ baseURL, formats, operations = {}, query = '' }: Upstream): ModelList | string {
  const { host } = new URL(baseURL)
  const { chat, messages, responses, gemini, converse } = formats
  if (host.endsWith('openrouter.ai')) return openaiList(`${baseURL}/models/user`)
  if (host === 'api.perplexity.ai') return 'Perplexity has no list of models'
  if (converse !== undefined || messages === '/model') return bedrockManagement(baseURL)
  if (gemini?.includes('/publishers/google/') === true) return vertexList(baseURL, gemini)
  if (gemini !== undefined) return googleList(baseURL + gemini, 'models')
  const path = chat ?? responses ?? messages
  if (path === undefined) return Object.keys(operations).length > 0 ? 'no list of models' : 'no format is configured'
  if (path.startsWith('/openai/')) {
    const v1 = path.startsWith('/openai/v1/')
    return openaiList(
      `${baseURL}${v1 ? '/openai/v1/models' : '/openai/models'}${query}`,
      'Azure lists models, but calls use deployment names',
    )
  }
  if (path.startsWith('/models/')) return "Azure's inference API has no list of models"
  if (path.startsWith('/compatibility/')) return cohereList(`${baseURL}/v1/models`)
  if (path.startsWith('/anthropic/')) return 'Claude on Azure has no list of models'
  const below = path.replace(/\/(chat\/completions|responses|messages)$/, '')
  const url = `${baseURL}${below}/models${query}`
  return chat === undefined && responses === undefined ? anthropicList(url) : openaiList(url)
}

/** The list has another API version and takes the project from a header instead of the path. */
function vertexList(baseURL: string, path: string): ModelList {
  const project = /\/projects\/([^/]+)\//.exec(path)?.[1]
  return {
    ...googleList(`${baseURL}/v1beta1/publishers/google/models`, 'publisherModels'),
    ...(project === undefined ? {} : { headers: { 'x-goog-user-project': project } }),
    incomparableReason: 'the list of Vertex AI is incomplete',
  }
}

function bedrockManagement(baseURL: string): ModelList | string {
  const found = /^https:\/\/bedrock-runtime\.([a-z0-9-]+)\.(amazonaws\.com(?:\.cn)?)$/.exec(baseURL)
  if (found === null) return 'the management host that lists Bedrock models is unknown for this address'
  return bedrockList(`https://bedrock.${found[1]}.${found[2]}/foundation-models`)
}
