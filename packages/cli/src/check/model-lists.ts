import type { Upstream } from '@modelgate/core'
import { isRecord } from '../config/is-record.ts'

/** Where an upstream lists its models, and how its answer is read. */
export interface ModelList {
  /** Whole address of a page. @param after what the page before said comes next */
  url(after: string | undefined): string
  /** The names on a page, and what the next one is asked by. Undefined: this is no such list. */
  read(answer: unknown): { readonly names: readonly string[]; readonly next?: string | undefined } | undefined
  /** Further headers of the question. */
  readonly headers?: Readonly<Record<string, string>>
  /** Why names on it are not those that calls use; then nothing is compared. */
  readonly apart?: string
  /** A name as calls use it in the list's own words. Default: the same. */
  listed?(model: string): string
}

/** Lists of objects: `at` is the list's name in the answer, `field` the name's in each. */
const namesAt = (answer: unknown, at: string, field: string): string[] | undefined => {
  const list = isRecord(answer) ? answer[at] : undefined
  if (!Array.isArray(list)) return undefined
  return list.flatMap((one) => (isRecord(one) && typeof one[field] === 'string' ? [one[field]] : []))
}

const textAt = (answer: unknown, field: string): string | undefined => {
  const value = isRecord(answer) ? answer[field] : undefined
  return typeof value === 'string' && value !== '' ? value : undefined
}

const withQuery = (url: string, query: Readonly<Record<string, string | undefined>>): string => {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
  const text = new URLSearchParams(given).toString()
  return text === '' ? url : `${url}${url.includes('?') ? '&' : '?'}${text}`
}

/** As OpenAI has it, and nearly everybody; Together answers the bare list. */
const openaiList = (url: string, apart?: string): ModelList => ({
  url: () => url,
  read(answer) {
    const names = namesAt(Array.isArray(answer) ? { data: answer } : answer, 'data', 'id')
    return names && { names }
  },
  ...(apart === undefined ? {} : { apart }),
})

const anthropicList = (url: string): ModelList => ({
  url: (after) => withQuery(url, { limit: '1000', after_id: after }),
  read(answer) {
    const names = namesAt(answer, 'data', 'id')
    const more = isRecord(answer) && answer.has_more === true
    return names && { names, next: more ? textAt(answer, 'last_id') : undefined }
  },
})

/** Google's names are paths: `models/gemini-…`, `publishers/google/models/gemini-…`. */
const googleList = (url: string, at: string): ModelList => ({
  url: (after) => withQuery(url, { pageSize: at === 'models' ? '1000' : '200', pageToken: after }),
  read(answer) {
    const names = namesAt(answer, at, 'name')
    return (
      names && {
        names: names.map((name) => name.slice(name.lastIndexOf('/') + 1)),
        next: textAt(answer, 'nextPageToken'),
      }
    )
  },
})

const cohereList = (url: string): ModelList => ({
  url: (after) => withQuery(url, { page_size: '1000', page_token: after }),
  read(answer) {
    const names = namesAt(answer, 'models', 'name')
    return names && { names, next: textAt(answer, 'next_page_token') }
  },
})

/** Bedrock's list is on the host of its management; inference profiles put a region before the name. */
const bedrockList = (url: string): ModelList => ({
  url: () => url,
  read(answer) {
    const names = namesAt(answer, 'modelSummaries', 'modelId')
    return names && { names }
  },
  listed: (model) => model.replace(/^(us|us-gov|eu|apac|jp|au|ca|global)\./, ''),
})

/**
 * Where an upstream lists its models. It is read off its paths: upstreams that were taken apart and put together again are
 * known as well.
 *
 * @returns the list, or why there is none
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
  if (path === undefined) return Object.keys(operations).length > 0 ? 'it has no list of models' : 'it speaks nothing'
  if (path.startsWith('/openai/')) {
    const v1 = path.startsWith('/openai/v1/')
    return openaiList(
      `${baseURL}${v1 ? '/openai/v1/models' : '/openai/models'}${query}`,
      'Azure lists models, calls name deployments',
    )
  }
  if (path.startsWith('/models/')) return 'the inference API of Azure has no list of models'
  if (path.startsWith('/compatibility/')) return cohereList(`${baseURL}/v1/models`)
  if (path.startsWith('/anthropic/')) return 'Claude on Azure has no list of models'
  const below = path.replace(/\/(chat\/completions|responses|messages)$/, '')
  const url = `${baseURL}${below}/models${query}`
  return chat === undefined && responses === undefined ? anthropicList(url) : openaiList(url)
}

/** By another version and without the project's path, which a header says in its place. */
function vertexList(baseURL: string, path: string): ModelList {
  const project = /\/projects\/([^/]+)\//.exec(path)?.[1]
  return {
    ...googleList(`${baseURL}/v1beta1/publishers/google/models`, 'publisherModels'),
    ...(project === undefined ? {} : { headers: { 'x-goog-user-project': project } }),
    apart: 'not all models of Vertex AI are on its list',
  }
}

function bedrockManagement(baseURL: string): ModelList | string {
  const found = /^https:\/\/bedrock-runtime\.([a-z0-9-]+)\.(amazonaws\.com(?:\.cn)?)$/.exec(baseURL)
  if (found === null) return 'models of Bedrock are listed by another host, which is not known for this address'
  return bedrockList(`https://bedrock.${found[1]}.${found[2]}/foundation-models`)
}
