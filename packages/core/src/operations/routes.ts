import type { Format, Operation, OperationName } from '../base/names.ts'
import type { PluginRoute } from '../config/plugin.ts'

/** A header a route insists on: one of `names`, first wins, holding a date (`2023-06-01`). */
export interface RequiredHeader {
  readonly names: readonly [string, ...string[]]
  readonly shape: 'date'
}

/** One line of the table of routes. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /**
   * `/v1/models/{model}`: a name in braces stands for the rest of the path, slashes included, up to what follows the
   * braces (`{model}:generateContent`).
   */
  readonly path: string
  readonly operation: Operation
  /** The dialect of requests, answers and errors. */
  readonly format: Format
  /** For operations that are not of the chat formats: which of their own dialects the client speaks. */
  readonly dialect?: string
  /** Another dialect for clients that send this header: three families share one path for their model lists. */
  readonly formatByHeader?: { readonly [header: string]: Format }
  /**
   * Answered without its version prefix too, for clients whose base URL lacks it. Not for `GET /models` and the like: the host may have a
   * page there.
   */
  readonly unversionedAlias?: boolean
  /** Another operation of the same path, for bodies whose first instance has one of the members. */
  readonly byInstance?: {
    readonly members: readonly string[]
    readonly operation: OperationName
    readonly dialect: string
  }
  /** The credential may stand in the query, as `?key=`. */
  readonly queryKey?: boolean
  /** The credential may stand among the WebSocket subprotocols. */
  readonly protocolKey?: boolean
  readonly requires?: RequiredHeader
  /** Where the path names the model: it also says whether the answer is to be streamed. */
  readonly stream?: boolean
  /** Requests may refer to earlier answers, which are kept for that. */
  readonly usesStoredResponses?: boolean
  /** Answers in place of the gateway: see PluginRoute. */
  readonly handle?: PluginRoute['handle']
  /** A stream is one JSON array of its events unless the query says otherwise (`alt=sse`). */
  readonly eventsIf?: { readonly name: string; readonly value: string }
}

/** One path for the model lists of three families: their own headers tell them apart. */
const listDialects = {
  'anthropic-version': 'messages',
  'vendor-version': 'messages',
  'x-goog-api-key': 'gemini',
} as const
const dated = { names: ['anthropic-version', 'vendor-version'], shape: 'date' } as const

/** What can be asked of a model that the path names. */
const modelActions = (prefix: string): readonly Route[] =>
  (
    [
      { path: `${prefix}/{model}:generateContent`, operation: 'generate' },
      {
        path: `${prefix}/{model}:streamGenerateContent`,
        operation: 'generate',
        stream: true,
        eventsIf: { name: 'alt', value: 'sse' },
      },
      { path: `${prefix}/{model}:countTokens`, operation: 'count-tokens' },
      { path: `${prefix}/{model}:embedContent`, operation: 'embeddings', dialect: 'gemini' },
      { path: `${prefix}/{model}:batchEmbedContents`, operation: 'embeddings', dialect: 'gemini-batch' },
      {
        path: `${prefix}/{model}:predict`,
        operation: 'images',
        dialect: 'imagen',
        byInstance: { members: ['content', 'text', 'image', 'video'], operation: 'embeddings', dialect: 'vertex' },
      },
    ] as const
  ).map((route) => ({ method: 'POST', format: 'gemini', queryKey: true, ...route }))

/** Responses that were kept, by their id. */
const storedResponses: readonly Route[] = (
  [
    { method: 'GET', path: '/v1/responses/{id}', operation: 'get-response' },
    { method: 'DELETE', path: '/v1/responses/{id}', operation: 'delete-response' },
    { method: 'GET', path: '/v1/responses/{id}/input_items', operation: 'list-input-items' },
    { method: 'POST', path: '/v1/responses/{id}/cancel', operation: 'cancel-response' },
  ] as const
).map((route) => ({ format: 'responses', ...route }))

/** Images and sound. */
const media: readonly Route[] = (
  [
    { path: '/v1/images/generations', operation: 'images' },
    { path: '/v1/images/edits', operation: 'image-edits' },
    { path: '/v1/images/variations', operation: 'image-variations' },
    { path: '/v1/audio/transcriptions', operation: 'transcriptions' },
    { path: '/v1/audio/translations', operation: 'translations' },
    { path: '/v1/audio/speech', operation: 'speech' },
  ] as const
).map((route) => ({ method: 'POST', format: 'chat', dialect: 'openai', unversionedAlias: true, ...route }))

/** Every path of the gateway (SPECIFICATION, Endpoints). The first that fits answers. */
export const routes: readonly Route[] = [
  { method: 'POST', path: '/v1/chat/completions', operation: 'generate', format: 'chat', unversionedAlias: true },
  {
    method: 'POST',
    path: '/v1/messages',
    operation: 'generate',
    format: 'messages',
    unversionedAlias: true,
    requires: dated,
  },
  {
    method: 'POST',
    path: '/v1/messages/count_tokens',
    operation: 'count-tokens',
    format: 'messages',
    unversionedAlias: true,
    requires: dated,
  },
  {
    method: 'POST',
    path: '/v1/responses',
    operation: 'generate',
    format: 'responses',
    unversionedAlias: true,
    usesStoredResponses: true,
  },
  {
    method: 'POST',
    path: '/v1/responses/input_tokens',
    operation: 'count-tokens',
    format: 'responses',
    unversionedAlias: true,
    usesStoredResponses: true,
  },
  ...storedResponses,
  ...modelActions('/v1beta/models'),
  // Newer SDKs ask under /v1, those of the cloud platform below its own prefix.
  ...modelActions('/v1/models'),
  ...modelActions('/v1beta1/publishers/google/models'),
  {
    method: 'POST',
    path: '/v1/completions',
    operation: 'completions',
    format: 'chat',
    dialect: 'openai',
    unversionedAlias: true,
  },
  {
    method: 'POST',
    path: '/v1/embeddings',
    operation: 'embeddings',
    format: 'chat',
    dialect: 'openai',
    unversionedAlias: true,
  },
  { method: 'POST', path: '/v1/rerank', operation: 'rerank', format: 'chat', dialect: 'jina', unversionedAlias: true },
  { method: 'POST', path: '/v2/rerank', operation: 'rerank', format: 'chat', dialect: 'cohere' },
  {
    method: 'POST',
    path: '/v1/moderations',
    operation: 'moderations',
    format: 'chat',
    dialect: 'openai',
    unversionedAlias: true,
  },
  ...media,
  {
    method: 'POST',
    path: '/v1/realtime/client_secrets',
    operation: 'realtime-sessions',
    format: 'chat',
    dialect: 'client-secrets',
    unversionedAlias: true,
  },
  {
    method: 'POST',
    path: '/v1/realtime/sessions',
    operation: 'realtime-sessions',
    format: 'chat',
    dialect: 'sessions',
    unversionedAlias: true,
  },
  { method: 'GET', path: '/v1/realtime', operation: 'realtime', format: 'chat', protocolKey: true },
  { method: 'GET', path: '/v1/models', operation: 'list-models', format: 'chat', formatByHeader: listDialects },
  { method: 'GET', path: '/v1/models/{model}', operation: 'get-model', format: 'chat', formatByHeader: listDialects },
  { method: 'GET', path: '/v1beta/models', operation: 'list-models', format: 'gemini', queryKey: true },
  { method: 'GET', path: '/v1beta/models/{model}', operation: 'get-model', format: 'gemini', queryKey: true },
]

/**
 * WebSocket upgrades on known paths. `fallback`: the same work can be had by POST, and 426 makes clients turn to it at
 * once; `unavailable`: it cannot, 501.
 */
export const upgrades: { readonly [path: string]: 'fallback' | 'unavailable' } = {
  '/v1/responses': 'fallback',
  '/v1/realtime': 'unavailable',
}

/** In whose words those are answered of whom nothing is known. */
export const defaultErrorFormat: Format = 'chat'

/** A path and method the gateway answers. */
export interface RouteMatch {
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
  /** Set where the path is known but the method is not: the answer is 405 with this `allow`. */
  readonly allow?: string
  /** Set where the path asks for an action that the model has not (`:foo`): the answer is 404 and names those it has. */
  readonly actions?: readonly string[]
}

const versions = ['/v1/v1/', '/v1/v1beta/', '/v1/v2/']

/**
 * The path as the table writes it. One version prefix too many is the commonest mistake with a base URL, so
 * `/v1/v1/…`, `/v1/v1beta/…` and `/v1/v2/…` are collapsed, and a trailing slash is dropped.
 */
export function normalizePath(path: string): string {
  let clean = path
  for (const doubled of versions) if (clean.startsWith(doubled)) clean = clean.slice(3)
  return clean.length > 1 && clean.endsWith('/') ? clean.slice(0, -1) : clean
}

/** Compiles the table once; looking up an exact path is one map access. */
export function createMatcher(table: readonly Route[]): (method: string, path: string) => RouteMatch | null {
  const exact = new Map<string, Route[]>()
  const open: { prefix: string; name: string; suffix: string; route: Route }[] = []
  const add = (path: string, route: Route): void => {
    const known = exact.get(path)
    if (known === undefined) exact.set(path, [route])
    else known.push(route)
  }
  for (const route of table) {
    const [prefix = '', name, suffix = ''] = route.path.split(/[{}]/)
    if (name !== undefined) open.push({ prefix, name, suffix, route })
    else {
      add(route.path, route)
      if (route.unversionedAlias === true) add(route.path.slice(route.path.indexOf('/', 1)), route)
    }
  }
  // An action behind the name is no part of the name.
  open.sort((a, b) => b.suffix.length - a.suffix.length)

  /** What can be done with a model whose path begins so. */
  const actionsOf = (path: string): typeof open =>
    open.filter(({ prefix, suffix }) => suffix.startsWith(':') && path.startsWith(prefix))

  return (method, path) => {
    const clean = normalizePath(path)
    let candidates = exact.get(clean)
    let params: Record<string, string> = {}
    if (candidates === undefined) {
      const fits = open.filter(
        ({ prefix, suffix }) =>
          clean.length > prefix.length + suffix.length && clean.startsWith(prefix) && clean.endsWith(suffix),
      )
      const first = fits[0]
      if (first === undefined) return null
      const { prefix, name, suffix } = first
      candidates = fits.filter((fit) => fit.prefix === prefix && fit.suffix === suffix).map(({ route }) => route)
      params = { [name]: decode(clean.slice(prefix.length, clean.length - suffix.length)) }
    }
    const wanted = method === 'HEAD' ? 'GET' : method
    const route = candidates.find((candidate) => candidate.method === wanted)
    if (route !== undefined) return { route, params }
    // A path without its version belongs to the gateway for its own method only: the host may well have a /messages page.
    const known = candidates[0] as Route
    if (!clean.startsWith('/v1') || known.handle !== undefined) return null
    const actions = known.operation === 'get-model' && action.test(clean) ? actionsOf(clean) : []
    const [some] = actions
    if (some !== undefined) return { route: some.route, params, actions: actions.map(({ suffix }) => suffix) }
    return { route: known, params, allow: candidates.map((candidate) => candidate.method).join(', ') }
  }
}

/** An action behind a model's name. A tag (`qwen3:8b`) has digits. */
const action = /:[A-Za-z]+$/

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
