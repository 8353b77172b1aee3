import { lazy } from '../base/async.ts'
import type { ErrorInfo } from '../base/errors.ts'
import type { JsonObject } from '../base/json/json.ts'
import type { Format } from '../base/names.ts'
import type { ClientWireCodec } from '../formats/codec.ts'
import { isCodecDialect, loadDialectWire, loadWire } from '../formats/codec-registry.ts'
import type { Inbound } from '../http/inbound.ts'
import type { Route, RouteMatch } from './route.ts'

/** The format of errors for unknown paths that are not below a family's prefix. */
export const defaultErrorFormat: Format = 'chat'

export type ErrorEncoder = (error: ErrorInfo, requestId: string) => JsonObject

export type ErrorEncoderFinder = (route: Route) => (() => Promise<ErrorEncoder>) | undefined

export type CodecLoader = () => ClientWireCodec | Promise<ClientWireCodec>

function withErrorBody(codec: ClientWireCodec, encodeBody: ErrorEncoder): ClientWireCodec {
  return {
    ...codec,
    encodeError: (error, requestId) => ({
      ...codec.encodeError(error, requestId),
      body: encodeBody(error, requestId),
    }),
  }
}

/** Returns the codec of the response to a request. Without a promise once it is loaded. */
export type CodecFinder = (found: RouteMatch | null, inbound: Inbound) => ClientWireCodec | Promise<ClientWireCodec>

/**
 * Creates the function that loads the codec of the response: the route's, unless a header identifies clients of another provider. For
 * unknown paths, the codec that `ofUnknownPath` returns, or that of the model list.
 *
 * @param routes contain the list of models
 * @param encoderOf returns the loader of the encoder of a route's errors, if they differ from those of its format
 */
export function codecFinder(
  routes: readonly Route[],
  ofUnknownPath: (path: string) => CodecLoader | undefined,
  encoderOf: ErrorEncoderFinder = () => undefined,
): CodecFinder {
  // Built once, because every call reads the map.
  const ownCodecs = codecsOfRoutes(routes, encoderOf)
  const listRoute = routes.find(({ operation }) => operation === 'list-models') as Route
  return (found, inbound) => {
    const unknown = found === null ? ofUnknownPath(inbound.path) : undefined
    if (unknown !== undefined) return unknown()
    const route = found?.route ?? listRoute
    if (route.formatByHeader !== undefined)
      for (const [header, format] of Object.entries(route.formatByHeader))
        if (inbound.header(header) !== undefined) return loadWire(format)
    const loadOwn = route.dialect === undefined && route.adaptation === undefined ? undefined : ownCodecs.get(route)
    return loadOwn === undefined ? loadWire(route.format) : loadOwn()
  }
}

/** Returns the codecs of routes with errors or bodies of their own. */
const codecsOfRoutes = (routes: readonly Route[], encoderOf: ErrorEncoderFinder): ReadonlyMap<Route, CodecLoader> =>
  new Map(
    routes
      .flatMap((route) => [route, ...(route.byAgent ?? []).map(([, other]) => other)])
      .flatMap((route): readonly (readonly [Route, CodecLoader])[] => {
        const { dialect } = route
        if (isCodecDialect(dialect)) return [[route, () => loadDialectWire(dialect)]]
        const loadEncoder = encoderOf(route)
        return loadEncoder === undefined ? [] : [[route, codecWithErrors(route.format, loadEncoder)]]
      }),
  )

/** Returns the loader of a format's codec with other bodies of errors. */
export const codecWithErrors = (format: Format, loadEncoder: () => Promise<ErrorEncoder>): CodecLoader =>
  lazy(async () => withErrorBody(await loadWire(format), await loadEncoder()))
