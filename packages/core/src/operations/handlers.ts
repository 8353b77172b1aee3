import { lazy } from '../base/async.ts'
import { type ErrorInfo, GatewayError } from '../base/errors.ts'
import type { JsonObject } from '../base/json/json.ts'
import type { Format, Operation, OperationName } from '../base/names.ts'
import { jsonReply } from '../calls/reply.ts'
import type { AdaptationName } from '../formats/adaptations/adaptations.ts'
import { openRouterError } from '../formats/adaptations/openrouter-error.ts'
import type { ClientWireCodec, CodecDialect } from '../formats/codec.ts'
import { codecDialects, wireCodecs } from '../formats/codec-registry.ts'
import type { Inbound } from '../http/inbound.ts'
import { mounts } from './families.ts'
import { handleGenerate } from './generate.ts'
import { encodeError as encodeRerankError } from './rerank/error.ts'
import type { Handler, Route, RouteMatch } from './route.ts'
import { routes } from './routes.ts'

/** The format of errors for unknown paths that are not below a family's prefix. */
export const defaultErrorFormat: Format = 'chat'

const dialectFolders = mounts.flatMap(({ prefix, formats: [format = defaultErrorFormat] }) =>
  prefix.includes('{') ? [] : [{ folder: `${prefix}/`, format }],
)

/** Returns the format of errors for an unknown path: that of the family whose prefix it has. */
const formatOfUnknown = (path: string): Format | undefined =>
  dialectFolders.find(({ folder }) => path.includes(folder))?.format

/** Encoders of error bodies, for operations whose errors differ from those of the route's format. */
const errorEncoders: { readonly [O in Operation]?: (error: ErrorInfo, requestId: string) => JsonObject } = {
  rerank: encodeRerankError,
}

const isCodecDialect = (dialect: string | undefined): dialect is CodecDialect =>
  dialect !== undefined && Object.hasOwn(codecDialects, dialect)

/** The same for adaptations of clients. */
const adaptedErrors: { readonly [A in AdaptationName]?: (error: ErrorInfo, requestId: string) => JsonObject } = {
  cohere: encodeRerankError,
  openrouter: (error) => ({ error: openRouterError(error) }),
}

/** The codecs of routes with errors or bodies of their own. Built once, because every call reads the map. */
const ownCodecs = new Map(
  routes
    .flatMap((route) => [route, ...(route.byAgent ?? []).map(([, other]) => other)])
    .flatMap((route) => {
      const { dialect, adaptation, operation } = route
      if (isCodecDialect(dialect)) return [[route, codecDialects[dialect]] as const]
      const encodeBody = errorEncoders[operation] ?? (adaptation === undefined ? undefined : adaptedErrors[adaptation])
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

/**
 * Returns the codec of the response: the route's, unless a header identifies clients of another provider. For unknown paths, that of the
 * family whose prefix they have, or of the model list.
 */
export function codecFor(found: RouteMatch | null, inbound: Inbound): ClientWireCodec {
  const unknown = found === null ? formatOfUnknown(inbound.path) : undefined
  if (unknown !== undefined) return wireCodecs[unknown]
  const route = found?.route ?? listRoute
  if (route.formatByHeader !== undefined)
    for (const [header, format] of Object.entries(route.formatByHeader))
      if (inbound.header(header) !== undefined) return wireCodecs[format]
  if (route.dialect === undefined && route.adaptation === undefined) return wireCodecs[route.format]
  return ownCodecs.get(route) ?? wireCodecs[route.format]
}

const modelOperation = lazy(() => import('./model-operations.ts').then((found) => found.handleModelOperation))
const storedObject = lazy(() => import('./objects/handle.ts').then((found) => found.handleObject))
const storedResponse = lazy(() => import('./stored-responses.ts').then((found) => found.handleStoredResponse))

const handleNotOffered: Handler = async ({ route }) => {
  throw new GatewayError('not_implemented', `${route.path}: ${route.notOffered ?? 'The gateway does not offer it.'}`)
}

const handlePing: Handler = async ({ record }) => jsonReply(record, {})

type OtherOperation = Exclude<Operation, OperationName>

/** The handlers of operations that are not in `modelOperations`. Only generation is part of the entry; the first call of another one loads its handler. */
const handlers: { readonly [O in OtherOperation]: () => Handler | Promise<Handler> } = {
  generate: () => handleGenerate,
  'count-tokens': lazy(() => import('./count-tokens.ts').then((found) => found.handleCountTokens)),
  compact: lazy(() => import('./responses/compaction/compact.ts').then((found) => found.handleCompact)),
  'list-models': lazy(() => import('./models.ts').then((found) => found.handleListModels)),
  'get-model': lazy(() => import('./models.ts').then((found) => found.handleGetModel)),
  'model-info': lazy(() => import('./models.ts').then((found) => found.handleModelInfo)),
  ping: () => handlePing,
  'not-offered': () => handleNotOffered,
  'get-response': storedResponse,
  'delete-response': storedResponse,
  'list-input-items': storedResponse,
  'cancel-response': storedResponse,
  'create-object': storedObject,
  'create-cache': storedObject,
  'list-objects': storedObject,
  'get-object': storedObject,
  'update-object': storedObject,
  'delete-object': storedObject,
  'get-object-content': storedObject,
  invoke: lazy(() => import('./invoke/invoke.ts').then((found) => found.handleInvoke)),
  // A plain request: upgrades do not come here (see `Gateway.realtime`).
  realtime: lazy(() => import('./realtime/handshake.ts').then((found) => found.handleWithoutUpgrade)),
  'static-response': lazy(() => import('./static-response.ts').then((found) => found.handleStaticResponse)),
  plugin: lazy(() => import('./plugin-route.ts').then((found) => found.handlePluginRoute)),
}

const isOther = (operation: Operation): operation is OtherOperation => Object.hasOwn(handlers, operation)

/** The handler of an operation: a promise until it is loaded. */
export const handlerOf = (operation: Operation): Handler | Promise<Handler> =>
  isOther(operation) ? handlers[operation]() : modelOperation()
