import type { WireCodec } from './formats/codec.ts'
import { wireCodecOf } from './formats/wire.ts'
import type { Inbound } from './inbound.ts'
import { tellingErrors } from './operations/load.ts'
import type { OperationName } from './operations/operation.ts'
import { type Match, type Route, routes } from './routes.ts'

/** Operations with a dialect of their own for errors; made once, as every call looks here. */
const dialectCodecs = new Map(
  routes.flatMap((route) =>
    route.dialect === undefined
      ? []
      : [[route, tellingErrors(wireCodecOf(route.format), route.operation as OperationName)] as const],
  ),
)
const listRoute = routes.find(({ operation }) => operation === 'list-models') as Route

/** The codec to respond with: the route's, unless a header identifies another family of clients. Unknown paths: as the model list. */
export function codecFor(found: Match | null, inbound: Inbound): WireCodec {
  const route = found?.route ?? listRoute
  if (route.dialect !== undefined) return dialectCodecs.get(route) ?? wireCodecOf(route.format)
  if (route.formatByHeader === undefined) return wireCodecOf(route.format)
  for (const [header, format] of Object.entries(route.formatByHeader))
    if (inbound.header(header) !== undefined) return wireCodecOf(format)
  return wireCodecOf(route.format)
}
