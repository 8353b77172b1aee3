import { lazy } from '../base/async.ts'
import type { ErrorInfo } from '../base/errors.ts'
import type { JsonObject } from '../base/json/json.ts'
import type { Format, Operation } from '../base/names.ts'
import type { AdaptationName } from '../formats/adaptations/adaptations.ts'
import type { ClientWireCodec } from '../formats/codec.ts'
import { isCodecDialect, loadDialectWire, loadWire } from '../formats/codec-registry.ts'
import type { Inbound } from '../http/inbound.ts'
import { mounts } from './families.ts'
import type { Route, RouteMatch } from './route.ts'
import { routes } from './routes.ts'

/** The format of errors for unknown paths that are not below a family's prefix. */
export const defaultErrorFormat: Format = 'chat'

const dialectFolders = mounts.flatMap(({ prefix, formats: [format = defaultErrorFormat] }) =>
  prefix.includes('{') ? [] : [{ folder: `${prefix}/`, format }],
)

/** Returns the format of errors for an unknown path: that of the family whose prefix it has. */
const formatOfUnknown = (path: string): Format | undefined =>
  dialectFolders.find(({ folder }) => path.includes(folder))?.format

type ErrorEncoder = (error: ErrorInfo, requestId: string) => JsonObject

const rerankError = () => import('./rerank/error.ts').then(({ encodeError }) => encodeError)

/** Loaders of the encoders of error bodies, for operations whose errors differ from those of the route's format. */
const errorEncoders: { readonly [O in Operation]?: () => Promise<ErrorEncoder> } = { rerank: rerankError }

/** The same for adaptations of clients. */
const adaptedErrors: { readonly [A in AdaptationName]?: () => Promise<ErrorEncoder> } = {
  cohere: rerankError,
  openrouter: () =>
    import('../formats/adaptations/openrouter-error.ts').then(({ openRouterError }) => (error) => ({
      error: openRouterError(error),
    })),
}

type CodecLoader = () => ClientWireCodec | Promise<ClientWireCodec>

/** The codecs of routes with errors or bodies of their own. Built once, because every call reads the map. */
const ownCodecs = new Map(
  routes
    .flatMap((route) => [route, ...(route.byAgent ?? []).map(([, other]) => other)])
    .flatMap((route): readonly (readonly [Route, CodecLoader])[] => {
      const { dialect, adaptation, operation } = route
      if (isCodecDialect(dialect)) return [[route, () => loadDialectWire(dialect)]]
      const loadEncoder = errorEncoders[operation] ?? (adaptation === undefined ? undefined : adaptedErrors[adaptation])
      if (loadEncoder === undefined) return []
      return [[route, lazy(async () => withErrorBody(await loadWire(route.format), await loadEncoder()))]]
    }),
)

function withErrorBody(codec: ClientWireCodec, encodeBody: ErrorEncoder): ClientWireCodec {
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
 * Loads the codec of the response: the route's, unless a header identifies clients of another provider. For unknown paths, that of the
 * family whose prefix they have, or of the model list. Returns it without a promise once it has been loaded.
 */
export function loadCodecFor(found: RouteMatch | null, inbound: Inbound): ClientWireCodec | Promise<ClientWireCodec> {
  const unknown = found === null ? formatOfUnknown(inbound.path) : undefined
  if (unknown !== undefined) return loadWire(unknown)
  const route = found?.route ?? listRoute
  if (route.formatByHeader !== undefined)
    for (const [header, format] of Object.entries(route.formatByHeader))
      if (inbound.header(header) !== undefined) return loadWire(format)
  const loadOwn = route.dialect === undefined && route.adaptation === undefined ? undefined : ownCodecs.get(route)
  return loadOwn === undefined ? loadWire(route.format) : loadOwn()
}
