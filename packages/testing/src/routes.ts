import type { Knock } from './dialect.ts'
import type { Service } from './service.ts'
import { serviceMethods, services } from './services.ts'
import type { FakeFormat } from './types.ts'

export type Operation = 'generate' | 'count-tokens' | 'models' | 'stored' | 'serve'

/** A path's meaning. */
export interface Destination {
  readonly operation: Operation
  readonly format: FakeFormat
  /** The service, for other operations than generation. */
  readonly service: Service | undefined
  /** Method of the path on its model or item: `embedContent`, `input_items`. */
  readonly action: string | undefined
  /** Id of a stored item in the path. */
  readonly item?: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Model in the path. */
  readonly model: string | undefined
  /** Streaming as the path selects it; undefined: the body selects it. */
  readonly stream: boolean | undefined
  /** True if a stream is one JSON array instead of events. */
  readonly array: boolean
  /** API version in the path. */
  readonly version: string
}

const posts: Readonly<Record<string, readonly [Operation, FakeFormat]>> = {
  '/chat/completions': ['generate', 'chat'],
  '/messages': ['generate', 'messages'],
  '/messages/count_tokens': ['count-tokens', 'messages'],
  '/responses': ['generate', 'responses'],
  '/responses/input_tokens': ['count-tokens', 'responses'],
}
const methods: Readonly<Record<string, Operation>> = {
  generateContent: 'generate',
  streamGenerateContent: 'generate',
  countTokens: 'count-tokens',
}
/** Vertex has the same methods below a project, a location and a publisher. */
const publisher = /^(\/projects\/[^/]+\/locations\/[^/]+)?\/publishers\/google(?=\/models\/)/

/** Matches a path with or without a version: base URLs may contain it. */
export function destinationOf(knock: Knock): Destination | undefined {
  const version = /^\/(v[12](?:(?:alpha|beta)1?)?)(?=\/)/.exec(knock.path)?.[1]
  const short = (version === undefined ? knock.path : knock.path.slice(version.length + 1))
    .replace(/(?<=.)\/$/, '')
    .replace(publisher, '')
  const base = {
    service: undefined,
    action: undefined,
    model: undefined,
    stream: undefined,
    array: false,
    version: version ?? 'v1',
  }
  const post = version === 'v2' ? undefined : posts[short]
  if (post) return { ...base, operation: post[0], format: post[1], method: 'POST' }
  const service = services[version === 'v2' ? `/v2${short}` : short]
  if (service) return { ...base, operation: 'serve', service, format: 'chat', method: 'POST' }
  const call = /^\/models\/(.+):([A-Za-z]+)$/.exec(short)
  const action = call?.[2] ?? ''
  const served = serviceMethods[action]
  const operation = served ? 'serve' : methods[action]
  if (call && operation) {
    const stream = action === 'streamGenerateContent'
    const array = stream && new URLSearchParams(knock.query).get('alt') !== 'sse'
    return {
      ...base,
      operation,
      service: served,
      action,
      format: 'gemini',
      method: 'POST',
      model: decodeModel(call[1] ?? ''),
      stream,
      array,
    }
  }
  const stored = /^\/responses\/([^/]+)(?:\/(input_items))?$/.exec(short)
  if (stored) {
    const [, item = '', action] = stored
    const method = action === undefined && knock.method === 'DELETE' ? 'DELETE' : 'GET'
    return { ...base, operation: 'stored', format: 'responses', method, item, action }
  }
  const models = /^\/models(?:\/([^:]+))?$/.exec(short)
  if (!models) return undefined
  const model = models[1] === undefined ? undefined : decodeModel(models[1])
  return { ...base, operation: 'models', format: formatOf(knock), method: 'GET', model }
}

function decodeModel(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Returns the format of the client, for paths of several formats and for unknown ones. */
export function formatOf(knock: Knock): FakeFormat {
  const { headers, path, query } = knock
  if (headers['anthropic-version'] !== undefined) return 'messages'
  if (headers['x-goog-api-key'] !== undefined || /^\/v1(alpha|beta)/.test(path)) return 'gemini'
  return headers.authorization === undefined && new URLSearchParams(query).has('key') ? 'gemini' : 'chat'
}
