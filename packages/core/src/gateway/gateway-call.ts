import type { Ending, Ledger } from '../accounting/call-record.ts'
import type { Signal } from '../base/signal.ts'
import type { Shared } from '../calls/call.ts'
import type { WireCodec } from '../formats/codec.ts'
import type { RequestBody } from '../formats/request-body.ts'
import { wireCodecOf } from '../formats/wire-codecs.ts'
import type { Inbound } from '../http/inbound.ts'
import type { Transport } from '../http/transport.ts'
import type { RoutedCall } from '../operations/handler.ts'
import { schemeOf } from '../operations/references/notice.ts'
import type { Match, Route } from '../operations/routes.ts'
import { checkRequiredHeader, readRequest } from './read-body.ts'
import type { Setup } from './snapshot.ts'

/** A call as its operation's handler gets it. A class, because methods on a prototype cost a call nothing. */
export class GatewayCall implements RoutedCall {
  readonly setup: Setup
  readonly shared: Shared
  readonly route: Route
  readonly params: Match['params']
  readonly codec: WireCodec
  readonly inbound: Inbound
  readonly ledger: Ledger
  readonly transport: Transport
  readonly signal: Signal
  readonly end: (ending: Ending) => void

  constructor(
    setup: Setup,
    { route, params }: Match,
    codec: WireCodec,
    inbound: Inbound,
    ledger: Ledger,
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
    this.ledger = ledger
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
    return readRequest(inbound, validate, shared.limits, fromPath, passes, schemeOf(route))
  }
}
