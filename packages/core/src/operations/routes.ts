import { lazy } from '../base/async.ts'
import type { ErrorInfo } from '../base/errors.ts'
import type { JsonObject } from '../base/json/json.ts'
import type { Format, Operation, OperationName } from '../base/names.ts'
import type { ClientWireCodec } from '../formats/codec.ts'
import { wireCodecs } from '../formats/codec-registry.ts'
import type { Inbound } from '../http/inbound.ts'
import { handleGenerate } from './generate.ts'
import { encodeError as encodeRerankError } from './rerank/error.ts'
import type { Handler, Route, RouteMatch } from './route.ts'

/** Three providers share one path for their model lists; their own headers distinguish their clients. */
const listDialects = {
  'anthropic-version': 'messages',
  'vendor-version': 'messages',
  'x-goog-api-key': 'gemini',
} as const
const dated = { names: ['anthropic-version', 'vendor-version'], shape: 'date' } as const

/** The actions of a model that the path names. */
const modelActions = (prefix: string): readonly Route[] =>
  (
    [
      { path: `${prefix}/{model}:generateContent`, operation: 'generate' },
      {
        path: `${prefix}/{model}:streamGenerateContent`,
        operation: 'generate',
        stream: true,
        framing: 'json-array',
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

/** Every path of the gateway (SPECIFICATION, Endpoints). The first match wins. */
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
  // Newer SDKs use /v1, those of Google Cloud a prefix of their own.
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
 * WebSocket upgrades on known paths. `fallback`: POST offers the same, and 426 makes clients use it at once; `unavailable`: 501.
 */
export const upgrades: { readonly [path: string]: 'fallback' | 'unavailable' } = {
  '/v1/responses': 'fallback',
  '/v1/realtime': 'unavailable',
}

/** The format of errors for unknown paths. */
export const defaultErrorFormat: Format = 'chat'

const versions = ['/v1/v1/', '/v1/v1beta/', '/v1/v2/']

/**
 * Returns the path as the table spells it. A doubled version prefix is the most common mistake with a base URL, so
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
  // Longer suffixes first: an action after the name is no part of the name.
  open.sort((a, b) => b.suffix.length - a.suffix.length)

  /** Returns the actions of models below a path. */
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
    // Without its version, a path matches its own method only: the host may have a /messages page.
    const known = candidates[0] as Route
    if (!clean.startsWith('/v1') || known.handle !== undefined) return null
    const actions = known.operation === 'get-model' && action.test(clean) ? actionsOf(clean) : []
    const [some] = actions
    if (some !== undefined) return { route: some.route, params, actions: actions.map(({ suffix }) => suffix) }
    return { route: known, params, allow: candidates.map((candidate) => candidate.method).join(', ') }
  }
}

/** An action after a model's name. A tag (`qwen3:8b`) contains digits. */
const action = /:[A-Za-z]+$/

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** Encoders of error bodies, for operations whose errors differ from those of the route's format. */
const errorEncoders: { readonly [O in Operation]?: (error: ErrorInfo, requestId: string) => JsonObject } = {
  rerank: encodeRerankError,
}

/** The codecs of these operations' routes. Built once, because every call reads the map. */
const operationCodecs = new Map(
  routes.flatMap((route) => {
    const encodeBody = errorEncoders[route.operation]
    return encodeBody === undefined ? [] : [[route, withErrorBody(wireCodecs[route.format], encodeBody)] as const]
  }),
)

function withErrorBody(
  codec: ClientWireCodec,
  encodeBody: (error: ErrorInfo, requestId: string) => JsonObject,
): ClientWireCodec {
  return {
    ...codec,
    encodeError: (error, requestId) => ({
      ...codec.encodeError(error, requestId),
      body: encodeBody(error, requestId),
    }),
  }
}

const listRoute = routes.find(({ operation }) => operation === 'list-models') as Route

/** Returns the codec of the response: the route's, unless a header identifies clients of another provider. For unknown paths, that of the model list. */
export function codecFor(found: RouteMatch | null, inbound: Inbound): ClientWireCodec {
  const route = found?.route ?? listRoute
  if (route.dialect !== undefined) return operationCodecs.get(route) ?? wireCodecs[route.format]
  if (route.formatByHeader === undefined) return wireCodecs[route.format]
  for (const [header, format] of Object.entries(route.formatByHeader))
    if (inbound.header(header) !== undefined) return wireCodecs[format]
  return wireCodecs[route.format]
}

const modelOperation = lazy(() => import('./model-operations.ts').then((found) => found.handleModelOperation))
const storedResponse = lazy(() => import('./stored-responses.ts').then((found) => found.handleStoredResponse))

type OtherOperation = Exclude<Operation, OperationName>

/** The handlers of operations that are not in `modelOperations`. Only generation is part of the entry; the first call of another one loads its handler. */
const handlers: { readonly [O in OtherOperation]: () => Handler | Promise<Handler> } = {
  generate: () => handleGenerate,
  'count-tokens': lazy(() => import('./count-tokens.ts').then((found) => found.handleCountTokens)),
  'list-models': lazy(() => import('./models.ts').then((found) => found.handleListModels)),
  'get-model': lazy(() => import('./models.ts').then((found) => found.handleGetModel)),
  'get-response': storedResponse,
  'delete-response': storedResponse,
  'list-input-items': storedResponse,
  'cancel-response': storedResponse,
  // A plain request: upgrades do not come here (see `Gateway.realtime`).
  realtime: lazy(() => import('./realtime/handshake.ts').then((found) => found.handleWithoutUpgrade)),
  plugin: lazy(() => import('./plugin-route.ts').then((found) => found.handlePluginRoute)),
}

const isOther = (operation: Operation): operation is OtherOperation => Object.hasOwn(handlers, operation)

/** The handler of an operation: a promise until it is loaded. */
export const handlerOf = (operation: Operation): Handler | Promise<Handler> =>
  isOther(operation) ? handlers[operation]() : modelOperation()
