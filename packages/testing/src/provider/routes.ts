import type { FakeFormat } from '../contract/request.ts'
import type { RequestHead } from '../formats/dialect.ts'
import type { Route, RouteOperation } from '../formats/route.ts'
import type { Service } from '../services/service.ts'
import { serviceMethods, services } from '../services/services.ts'
import { objectPath } from '../services/stored-objects.ts'

/** A route with its service. */
export interface MatchedRoute extends Route {
  /** Undefined for generation. */
  readonly service: Service | undefined
}

const posts: Readonly<Record<string, readonly [RouteOperation, FakeFormat]>> = {
  '/chat/completions': ['generate', 'chat'],
  '/messages': ['generate', 'messages'],
  '/messages/count_tokens': ['count-tokens', 'messages'],
  '/responses': ['generate', 'responses'],
  '/responses/compact': ['compact', 'responses'],
  '/responses/input_tokens': ['count-tokens', 'responses'],
}
const methods: Readonly<Record<string, RouteOperation>> = {
  generateContent: 'generate',
  streamGenerateContent: 'generate',
  countTokens: 'count-tokens',
}
/** Vertex has the same methods below a project, a location and a publisher. */
const publisher = /^(\/projects\/[^/]+\/locations\/[^/]+)?\/publishers\/google(?=\/models\/)/

/** Matches a path with or without a version: base URLs may contain it. */
export function matchRoute(head: RequestHead): MatchedRoute | undefined {
  const uploads = head.path.startsWith('/upload/')
  const path = uploads ? head.path.slice('/upload'.length) : head.path
  const version = /^\/(v[12](?:(?:alpha|beta)1?)?)(?=\/)/.exec(path)?.[1]
  const short = (version === undefined ? path : path.slice(version.length + 1))
    .replace(/(?<=.)\/$/, '')
    .replace(publisher, '')
  const base = {
    service: undefined,
    served: undefined,
    action: undefined,
    model: undefined,
    stream: undefined,
    array: false,
    version: version ?? 'v1',
  }
  const post = version === 'v2' || uploads ? undefined : posts[short]
  if (post) return { ...base, operation: post[0], format: post[1], method: 'POST' }
  const atPath = services[version === 'v2' ? `/v2${short}` : short]
  if (atPath)
    return { ...base, operation: 'serve', service: atPath, served: atPath.operation, format: 'chat', method: 'POST' }
  const call = /^\/models\/(.+):([A-Za-z]+)$/.exec(short)
  const action = call?.[2] ?? ''
  const service = serviceMethods[action]
  const operation = service ? 'serve' : methods[action]
  if (call && operation) {
    const stream = action === 'streamGenerateContent'
    const array = stream && new URLSearchParams(head.query).get('alt') !== 'sse'
    return {
      ...base,
      operation,
      service,
      served: service?.operation,
      action,
      format: 'gemini',
      method: 'POST',
      model: decodeModel(call[1] ?? ''),
      stream,
      array,
    }
  }
  const isGoogle = uploads || formatOf(head) === 'gemini'
  const object = objectPath(uploads ? `/upload${short}` : short, head.method, isGoogle)
  if (uploads && !object) return undefined
  if (object) {
    const { kind, id } = object
    const format = isGoogle ? 'gemini' : (objectFormats[kind] ?? formatOf(head))
    const method = head.method as Route['method']
    return { ...base, operation: 'objects', format, method, action: kind, ...(id === undefined ? {} : { item: id }) }
  }
  const stored = /^\/responses\/([^/]+)(?:\/(input_items))?$/.exec(short)
  if (stored) {
    const [, item = '', action] = stored
    const method = action === undefined && head.method === 'DELETE' ? 'DELETE' : 'GET'
    return { ...base, operation: 'stored', format: 'responses', method, item, action }
  }
  const models = /^\/models(?:\/([^:]+))?$/.exec(short)
  if (!models) return undefined
  const model = models[1] === undefined ? undefined : decodeModel(models[1])
  return { ...base, operation: 'models', format: formatOf(head), method: 'GET', model }
}

/** Formats of stored objects that do not depend on the headers. */
const objectFormats: Readonly<Record<string, FakeFormat>> = {
  conversations: 'responses',
  batches: 'chat',
  'messages/batches': 'messages',
  'realtime/calls': 'chat',
  skills: 'messages',
}

function decodeModel(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Returns the format of the client, for paths of several formats and for unknown ones. */
export function formatOf(head: RequestHead): FakeFormat {
  const { headers, path, query } = head
  if (headers['anthropic-version'] !== undefined) return 'messages'
  if (headers['x-goog-api-key'] !== undefined || /^\/v1(alpha|beta)/.test(path)) return 'gemini'
  return headers.authorization === undefined && new URLSearchParams(query).has('key') ? 'gemini' : 'chat'
}
