import type { CallRecord, Ending } from '../accounting/call-record.ts'
import type { Signal } from '../base/signal.ts'
import type { GatewayContext } from '../calls/call.ts'
import type { WireCodec } from '../formats/codec.ts'
import { wireCodecOf } from '../formats/codec-registry.ts'
import type { RequestBody } from '../formats/request-body.ts'
import type { Inbound } from '../http/inbound.ts'
import type { Transport } from '../http/transport.ts'
import type { RoutedCall } from '../operations/handler.ts'
import { referenceSchemeOf } from '../operations/references/notice.ts'
import type { Route, RouteMatch } from '../operations/routes.ts'
import { checkRequiredHeader, readJsonBody } from './read-body.ts'
import type { ConfigSnapshot } from './snapshot.ts'

/** A call as its operation's handler gets it. A class, because methods on a prototype cost a call nothing. */
export class GatewayCall implements RoutedCall {
  readonly setup: ConfigSnapshot
  readonly shared: GatewayContext
  readonly route: Route
  readonly params: RouteMatch['params']
  readonly codec: WireCodec
  readonly inbound: Inbound
  readonly record: CallRecord
  readonly transport: Transport
  readonly signal: Signal
  readonly end: (ending: Ending) => void

  constructor(
    setup: ConfigSnapshot,
    { route, params }: RouteMatch,
    codec: WireCodec,
    inbound: Inbound,
    record: CallRecord,
    transport: Transport,
    signal: Signal,
    end: (ending: Ending) => void,
  ) {
    this.setup = setup
    this.shared = setup.shared
    this.route = route
    this.params = params
    this.codec = codec
    this.inbound = inbound
    this.record = record
    this.transport = transport
    this.signal = signal
    this.end = end
  }

  readBody(validate: ReturnType<WireCodec['validation']>, passes?: (model: string) => boolean): Promise<RequestBody> {
    const { route, params, inbound, shared } = this
    if (route.requires !== undefined) checkRequiredHeader(inbound, route.requires)
    const { model } = params
    const { modelPrefix } = wireCodecOf(route.format)
    const fromPath = model === undefined ? undefined : { model, stream: route.stream === true, modelPrefix }
    return readJsonBody(inbound, validate, shared.limits, fromPath, passes, referenceSchemeOf(route))
  }
}
