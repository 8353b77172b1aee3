import type { CallEnding, CallRecord } from '../accounting/call-record.ts'
import type { Signal } from '../base/async.ts'
import type { JsonObject } from '../base/json/json.ts'
import type { Format, Operation, OperationName } from '../base/names.ts'
import type { CallParts, GatewayContext, TargetCall } from '../calls/call.ts'
import type { GatewayConfig } from '../config/config.ts'
import type { Explanation } from '../config/explanation.ts'
import type { Identity } from '../config/identity.ts'
import type { PluginRoute } from '../config/plugin.ts'
import type { ReferencePolicy } from '../config/references.ts'
import type { Adaptation } from '../formats/adaptations/adaptation.ts'
import type { AdaptationName } from '../formats/adaptations/adaptations.ts'
import type { ClientCodec, ClientWireCodec } from '../formats/codec.ts'
import type { ReferenceScheme } from '../formats/references/places.ts'
import type { RequestBody } from '../formats/request-body.ts'
import type { Framing, FramingName } from '../http/framing/framing.ts'
import type { Inbound, Reply } from '../http/inbound.ts'
import type { Transport } from '../http/transport.ts'
import type { Generation, RequestWriter, StoredState } from '../lanes/lane.ts'
import type { ObjectKind } from '../upstreams/upstream.ts'
import type { CallerRecords } from './responses/records.ts'

/** Code that an edition of the gateway may leave out, as in `LaneParts`. */
export interface HandlerParts extends CallParts {
  /** The code that stores responses and resolves references to them. */
  loadResponseStore(): ResponseStoreCode | Promise<ResponseStoreCode>
  loadAdaptation(name: AdaptationName): Adaptation | Promise<Adaptation>
  /** Edits of exchanges with clients that need an adaptation. */
  loadAdaptedLane(): AdaptedLane | Promise<AdaptedLane>
  loadFraming(name: FramingName): Framing | Promise<Framing>
  loadExplanation(): Promise<ExplanationCode>
}
type AdaptedLane = typeof import('../lanes/adapted.ts')

/** The functions of `responses/index.ts`. */
interface ResponseStoreCode {
  generateAndStore(
    call: RoutedCall,
    received: RequestBody,
    records: CallerRecords,
    generate: GenerateResponse,
  ): Promise<Reply>
  resolveReferences(
    scheme: ReferenceScheme,
    request: RequestBody,
    records: CallerRecords,
    options: { readonly policy: ReferencePolicy; readonly maxChars: number },
  ): Promise<{ readonly request: RequestBody } & Pick<StoredState, 'onlyUpstream' | 'unknown' | 'notOwned'>>
}

/** The functions of `explain.ts`. */
interface ExplanationCode {
  explainOverHttp(call: RoutedCall, request: RequestBody): Promise<Explanation>
  explain(call: RoutedCall, received: RequestBody, hidesConfigured: boolean): Promise<Explanation>
}

/** The part of a configuration that handlers work with. A call keeps the one it began with. */
export interface HandlerConfig {
  readonly config: GatewayConfig
  readonly shared: GatewayContext
  readonly parts: HandlerParts
  /** Replaces the adapter's transport. */
  readonly transport: Transport | undefined
  /** Responses are stored for later calls. */
  readonly keepsResponses: boolean
  recordsOf(identity: Identity | null): Promise<CallerRecords>
  /**
   * Checks the references to stored state in a request, except those that the response store resolves. Rejects with a GatewayError
   * `invalid_request`. Resolves to the upstream of an object that only one upstream has.
   */
  checkReferences(
    scheme: ReferenceScheme,
    request: RequestBody,
    identity: Identity | null,
  ): Promise<StoredState['holder']>
  /** Replaces the references of a request by what they refer to. Rejects as `checkReferences` does. */
  resolveReferences(route: Route, request: RequestBody, identity: Identity | null): Promise<ResolvedReferences>
}

/** A request whose references are resolved. */
export interface ResolvedReferences {
  readonly request: RequestBody
  /** The upstreams that may be sent the references that are left. Absent: all. */
  readonly stored?: StoredState | undefined
}

/** A call that matched a route. Its caller is authenticated, its body has not been read. */
export interface RoutedCall {
  readonly snapshot: HandlerConfig
  readonly shared: GatewayContext
  readonly route: Route
  /** Values of the names in the route's path. */
  readonly params: Readonly<Record<string, string>>
  /** The codec of the response, errors included. */
  readonly codec: ClientWireCodec
  readonly inbound: Inbound
  readonly record: CallRecord
  readonly transport: Transport
  readonly signal: Signal
  /**
   * Settles the call and removes it from the running ones. Later calls do nothing. The relay of a stream and a realtime
   * session call it, since they continue after the reply; the pipeline ends all other calls.
   */
  readonly end: (ending: CallEnding) => void
  /**
   * Reads the JSON body and checks it. Rejects with a GatewayError.
   *
   * @param passes whether a request for a model probably passes unchanged; a large body is then not parsed in full. Default: false
   */
  readBody(
    validate: ClientCodec['checkRequest'] | Promise<ClientCodec['checkRequest']>,
    passes?: (model: string) => boolean,
  ): Promise<RequestBody>
}

/** Handles every call of one operation. Rejects with the GatewayError to respond with. */
export type Handler = (call: RoutedCall) => Promise<Reply>

/** How a request depends on stored responses, and the targets that may respond if not all of the model's. */
export interface GenerationState extends Pick<Generation, 'kept' | 'stored'>, Pick<TargetCall, 'plan'> {
  /** Changes how requests are written. */
  readonly adapt?: ((own: RequestWriter) => RequestWriter) | undefined
}

/** Generates the response to a request whose references are resolved. */
export type GenerateResponse = (call: RoutedCall, request: RequestBody, state: GenerationState) => Promise<Reply>

/** A header that a route requires: the first present one of `names`, with a date (`2023-06-01`). */
export interface RequiredHeader {
  readonly names: readonly [string, ...string[]]
  readonly shape: 'date'
}

/** A row of the route table. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /**
   * `/v1/models/{model}`: a name in braces matches one segment. The last one matches the rest of the path, slashes included, up to the
   * text after its braces (`{model}:generateContent`).
   */
  readonly path: string
  /** The vendor whose clients use this path, for paths other than those of the four formats. */
  readonly family?: string
  readonly operation: Operation
  /** The format of requests, responses and errors. */
  readonly format: Format
  /** For model operations: the client's dialect. For chat generation: a dialect of the format (see `CodecDialect`). */
  readonly dialect?: string
  /** For model lists: the client's dialect of the format. Default: the format's own. */
  readonly listDialect?: 'cohere' | 'mistral' | 'openrouter' | 'publisher'
  /** The clients' deviations from the format. Default: none. */
  readonly adaptation?: AdaptationName
  /** Other routes of the same path and method, for clients whose `user-agent` begins so. */
  readonly byAgent?: readonly (readonly [agent: string, route: Route])[]
  /** Another format for clients that send this header: three providers share one path for their model lists. */
  readonly formatByHeader?: { readonly [header: string]: Format }
  /**
   * Also serves the path without its version prefix, for clients whose base URL lacks it. Not for `GET /models` and the like, where the
   * host may have a page.
   */
  readonly unversionedAlias?: boolean
  /** A host may have a page of its own at this path: in an app with other routes, it is served below a prefix only. */
  readonly hostMayOwn?: boolean
  /** Another operation of the same path, for bodies whose first instance has one of these members. */
  readonly byInstance?: {
    readonly members: readonly string[]
    readonly operation: OperationName
    readonly dialect: string
  }
  /** The query may hold the credential (`?key=`). */
  readonly queryKey?: boolean
  /** The WebSocket subprotocols may hold the credential. */
  readonly protocolKey?: boolean
  /**
   * What a WebSocket upgrade of this path opens: a realtime session, or a connection each of whose messages is a call of this route.
   * Default: nothing.
   */
  readonly upgrade?: 'realtime' | 'responses'
  readonly requires?: RequiredHeader
  /** The model's name, with the path's parameters. Default: `{model}`. */
  readonly modelName?: string
  /** For paths that name the model: whether the response is streamed. */
  readonly stream?: boolean
  /**
   * The body is that of another path, and is changed before it is read: the model that the path names replaces the body's, `stream: true` is
   * set, and the members in `drop` are removed. Default: a body has no `model` and `stream` if the path states them.
   */
  readonly rewritesBody?: { readonly drop?: readonly string[] }
  /** Members that are added to bodies without them, before a body is read: defaults that differ from those of other formats. */
  readonly bodyDefaults?: JsonObject
  /**
   * Names of models in bodies may end with this tag, and mean the model without it, unless there is one with the tag. `name` is another
   * spelling of `model`.
   */
  readonly modelTag?: string
  /** A body is JSON, even with another content type. */
  readonly ignoresContentType?: boolean
  /** The response to every request, for endpoints that clients expect and that report nothing. */
  readonly response?: JsonObject
  /** The message of the error for every request, for endpoints that clients know and the gateway does not offer. */
  readonly refusal?: string
  /** Realtime: the kind of all sessions of this path. Default: the query states it. */
  readonly sessionKind?: 'live'
  /** Realtime: the query parameter that names the model if the path does not (default: `model`), and those that are ignored. */
  readonly sessionQuery?: { readonly model?: string; readonly ignored: readonly string[] }
  /** The kind of stored objects, for operations on them. */
  readonly object?: ObjectKind
  /** Chat generation: clients read the records of their calls later, by the id of the response. */
  readonly recordsGenerations?: boolean
  /** Requests may refer to earlier responses, which are stored. */
  readonly usesStoredResponses?: boolean
  /** For paths that are known but not offered: the reason, and what to do. */
  readonly notOffered?: string
  /** The handler of a plugin's route. */
  readonly handle?: PluginRoute['handle']
  /** A plugin's route that is also served while the gateway drains. */
  readonly whileDraining?: PluginRoute['whileDraining']
  /** The framing of a stream. Default: server-sent events. */
  readonly framing?: FramingName
  /** A stream consists of server-sent events in spite of `framing` if the query requests it (`alt=sse`). */
  readonly eventsIf?: { readonly name: string; readonly value: string }
}

/** A match of a path and method. */
export interface RouteMatch {
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
  /** Set if the path is known but the method is not: the response is 405 with this `allow`. */
  readonly allow?: string
  /** Set if the path names an action that models do not have (`:foo`): the response is 404 and lists the actions. */
  readonly actions?: readonly string[]
}
