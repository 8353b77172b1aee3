import type { CallRecord, Ending } from '../accounting/call-record.ts'
import type { Signal } from '../base/signal.ts'
import type { GatewayContext } from '../calls/call.ts'
import type { GatewayConfig } from '../config/config.ts'
import type { Identity } from '../config/identity.ts'
import type { Codec, WireCodec } from '../formats/codec.ts'
import type { RequestBody } from '../formats/request-body.ts'
import type { Inbound, Reply } from '../http/inbound.ts'
import type { Transport } from '../http/transport.ts'
import type { CallerRecords } from './responses/records.ts'
import type { Route } from './routes.ts'

/** The part of a configuration that handlers work with. A call keeps the one it began with. */
export interface HandlerConfig {
  readonly config: GatewayConfig
  readonly shared: GatewayContext
  /** Responses are stored for later calls. */
  readonly keepsResponses: boolean
  recordsOf(identity: Identity | null): Promise<CallerRecords>
  /**
   * Checks the references to stored state in a request, except those that the response store resolves. Undefined where the
   * request contains none. Rejects with a GatewayError `invalid_request`.
   */
  checkReferences(route: Route, request: RequestBody, identity: Identity | null): Promise<void> | undefined
  /** The request with its references replaced by what they refer to. Rejects as `checkReferences` does. */
  resolveReferences(route: Route, request: RequestBody, identity: Identity | null): Promise<RequestBody>
}

/** A call that matched a route. Its caller is authenticated, its body has not been read. */
export interface RoutedCall {
  readonly setup: HandlerConfig
  readonly shared: GatewayContext
  readonly route: Route
  /** Values of the names in the route's path. */
  readonly params: Readonly<Record<string, string>>
  /** The codec of the response, errors included. */
  readonly codec: WireCodec
  readonly inbound: Inbound
  readonly record: CallRecord
  readonly transport: Transport
  readonly signal: Signal
  /**
   * Settles the call and removes it from the running ones. Later calls do nothing. Called by whatever goes on after the reply (the
   * relay of a stream, a realtime session); the pipeline ends all other calls.
   */
  readonly end: (ending: Ending) => void
  /**
   * Reads the JSON body and checks it. Rejects with a GatewayError.
   *
   * @param passes whether a request for a model probably passes unchanged; a large body is then not parsed in full. Default: false
   */
  readBody(
    validate: Codec['checkRequest'] | Promise<Codec['checkRequest']>,
    passes?: (model: string) => boolean,
  ): Promise<RequestBody>
}

/** Handles every call of one operation. Rejects with the GatewayError to respond with. */
export type Handler = (call: RoutedCall) => Promise<Reply>
