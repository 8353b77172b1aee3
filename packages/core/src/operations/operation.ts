import type { TokenCounting } from '../accounting/call-record.ts'
import { GatewayError } from '../base/errors.ts'
import { type Json, type JsonObject, pointer } from '../base/json/json.ts'
import type { OperationName, SharedFormat } from '../base/names.ts'
import type { ExpectedUse } from '../config/admission.ts'
import type { ClientCodec, ResponseTap, StreamTap, TargetTraits } from '../formats/codec.ts'
import type { BillableUnits, Report, Usage } from '../formats/ir.ts'
import type { Unread } from '../formats/shared/json-fields.ts'
import { loss } from '../formats/shared/report.ts'
import type { SseEvent } from '../http/sse/sse.ts'
import type { Lane } from '../lanes/lane.ts'
import type { FormDialect } from './multipart/read-form.ts'

/** The gateway's functions for a dialect. */
export interface OperationContext {
  readonly report: Report
  /** A new unique id with the given prefix. */
  newId(prefix: string): string
  /** Seconds since 1970. */
  now(): number
}
export interface TargetContext extends OperationContext {
  readonly target: TargetTraits
}
/** Context of a response: the request decides which parts of it are shown. */
export interface ResponseContext<Request> extends OperationContext {
  readonly request: Request
}

/**
 * The client's half of one dialect of an operation, pure and synchronous like a codec. `Request` and `Response` are the operation's own
 * intermediate representation. A dialect without `decodeRequest` passes through only.
 */
export interface ClientDialect<Request, Response> {
  readonly name: string
  /**
   * Checks a body from a client: required fields, types and bounds, in the provider's own wording. Unknown fields are kept.
   * Throws GatewayError with `param`. Absent: the dialect has no JSON bodies.
   */
  validate?(body: Json): JsonObject
  /** Multipart bodies of its clients. Absent: there are none. */
  readonly form?: FormDialect
  /** Returns whether a body requests a stream. Default: `stream: true`, in dialects with streams. */
  streams?(body: JsonObject): boolean
  decodeRequest?(body: JsonObject, context: OperationContext): Request
  encodeResponse?(response: Response, context: ResponseContext<Request>): JsonObject
  /** Encodes a response that is not JSON; undefined for those that are. */
  encodeBody?(
    response: Response,
    context: ResponseContext<Request>,
  ): { readonly body: string | Uint8Array; readonly contentType: string } | undefined
  /** Splits a whole response into events for a streaming client. Absent: a whole response to a streaming call is an error. */
  toEvents?(body: JsonObject, request: JsonObject): readonly SseEvent[]
  /** Creates a tap for a stream. Absent: the dialect has no streams. */
  tapStream?(request: JsonObject): StreamTap
  /** Returns the billed units of a successful response, as far as the request states them. */
  unitsOf?(request: JsonObject): BillableUnits
  /** Returns the expected use of a request, so that budgets can reserve it. For uploads, the argument holds each file's size. */
  expectedUse?(request: JsonObject): ExpectedUse
  /** The model for requests without one. Default: a model is required. */
  readonly defaultModel?: string
}

/** One dialect of an operation, with the upstream's half. A dialect without `validate` and `form` is for upstreams only. */
export interface Dialect<Request, Response> extends ClientDialect<Request, Response> {
  /** The format whose codec decodes the errors of these upstreams. */
  readonly errors: SharedFormat
  encodeRequest?(request: Request, context: TargetContext): JsonObject
  /** Throws GatewayError `upstream_bad_response` for a body that is no response. */
  decodeResponse?(body: Json, context: ResponseContext<Request>): Response
  /** Pass-through: see Lane. */
  readonly passes?: Lane['passes']
  /** Pass-through: top-level members to set in addition to the model's name, for bodies that also name it elsewhere. */
  passThroughEdit?(body: JsonObject, target: TargetTraits): JsonObject | undefined
  /** Returns whether a JSON body under a good status is a response. Default: it is, unless it states an error. */
  isResponse?(body: JsonObject): boolean
  /** See UpstreamWireCodec. */
  errorWithin?(body: JsonObject): JsonObject | undefined
  /** Pass-through: reads the usage of a whole response. May throw; only accounting depends on it. */
  tapResponse(body: JsonObject): ResponseTap
  /** For dialects that name the model in the URL: the end of the path, with `{model}` for the name. */
  readonly modelInPath?: string
  /** Returns whether a model of an upstream accepts the dialect, by its name. Default: all do. */
  serves?(model: string): boolean
}

/** An operation in all its dialects. If an upstream does not speak the client's, the first one that it speaks is used. */
export interface Operation<Request, Response> {
  readonly name: OperationName
  /** Its responses contain credentials that the provider issues. Default: false. */
  readonly issuesCredentials?: true
  /** Present: it is billed by tokens. */
  readonly counted?: TokenCounting
  readonly dialects: readonly Dialect<Request, Response>[]
  /** Dialects that no upstream speaks. */
  readonly clientDialects?: readonly ClientDialect<Request, Response>[]
  /** Returns the usage of a translated response, for the call record. */
  usageOf?(response: Response): Usage | undefined
  unitsOf?(response: Response): BillableUnits | undefined
  /** For upstreams without any of the dialects: a codec that turns the call into chat generation. */
  viaChat?(body: JsonObject): ClientCodec
}

/** An operation whose request and response types only its own dialects know. */
export type AnyOperation = Operation<unknown, unknown>
/** A dialect whose request and response types are not known here. */
export type AnyDialect = Dialect<unknown, unknown>
/** The same for the client's half of a dialect. */
export type AnyClientDialect = ClientDialect<unknown, unknown>

/** The 400 for a model whose upstream has no endpoint for an operation. */
export const unsupportedOperation = (model: string, operation: string): GatewayError =>
  new GatewayError(
    'invalid_request',
    `The model '${model}' does not support ${operation}: its upstream has no endpoint for it.`,
    { param: 'model' },
  )

/** Fields whose loss changes no response. */
const harmless: ReadonlySet<string> = new Set(['user', 'priority', 'metadata', 'safety_identifier'])

/** Reports fields that a decoder did not read: the upstream does not get them. Nulls lose nothing. */
export function reportUnread(fields: Unread, report: Report, at = ''): void {
  for (const key of Object.keys(fields))
    if (fields[key] != null)
      report.add(
        loss(
          pointer(at, key),
          `${key} has no counterpart in the API format of the upstream`,
          'unsupported',
          harmless.has(key) ? 'note' : 'warn',
        ),
      )
}
