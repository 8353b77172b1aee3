import type { ErrorInfo } from '../base/errors.ts'
import type { JsonObject } from '../base/json/types.ts'
import type { Operation } from '../base/names.ts'
import type { WireCodec } from '../formats/codec.ts'
import { wireCodecOf } from '../formats/codec-registry.ts'
import type { Inbound } from '../http/inbound.ts'
import { encodeError as encodeRerankError } from './rerank/error.ts'
import { type Route, type RouteMatch, routes } from './routes.ts'

/** Error bodies of operations whose clients read other errors than those of the route's format. */
const errorEncoders: { readonly [O in Operation]?: (error: ErrorInfo, requestId: string) => JsonObject } = {
  rerank: encodeRerankError,
}

/** The codec of each route of such an operation. Built once, because every call looks here. */
const operationCodecs = new Map(
  routes.flatMap((route) => {
    const encodeBody = errorEncoders[route.operation]
    return encodeBody === undefined ? [] : [[route, withErrorBody(wireCodecOf(route.format), encodeBody)] as const]
  }),
)

function withErrorBody(codec: WireCodec, encodeBody: (error: ErrorInfo, requestId: string) => JsonObject): WireCodec {
  return {
    ...codec,
    encodeError: (error, requestId) => ({
      ...codec.encodeError(error, requestId),
      body: encodeBody(error, requestId),
    }),
  }
}

const listRoute = routes.find(({ operation }) => operation === 'list-models') as Route

/** The codec to respond with: the route's, unless a header identifies another family of clients. Unknown paths: as the model list. */
export function codecFor(found: RouteMatch | null, inbound: Inbound): WireCodec {
  const route = found?.route ?? listRoute
  if (route.dialect !== undefined) return operationCodecs.get(route) ?? wireCodecOf(route.format)
  if (route.formatByHeader === undefined) return wireCodecOf(route.format)
  for (const [header, format] of Object.entries(route.formatByHeader))
    if (inbound.header(header) !== undefined) return wireCodecOf(format)
  return wireCodecOf(route.format)
}
