import type { TokenCounting } from '../accounting/call-record.ts'
import { GatewayError } from '../base/errors.ts'
import type { Json, JsonObject } from '../base/json/types.ts'
import type { Format, OperationName } from '../base/names.ts'
import type { ExpectedUse } from '../config/plugin.ts'
import type { Codec, ResponseTap, StreamTap, TargetTraits } from '../formats/codec.ts'
import type { BillableUnits, Report, Usage } from '../formats/ir.ts'
import type { Unread } from '../formats/shared/json-fields.ts'
import { pointer } from '../formats/shared/pointers.ts'
import { loss } from '../formats/shared/report.ts'
import type { SseEvent } from '../http/sse/event.ts'
import type { Lane } from '../lanes/lane.ts'
import type { FormDialect } from './multipart/read-form.ts'

/** What a dialect may ask of its surroundings. */
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
/** The request as the answer's reader and writer need it: what was asked decides what is shown. */
export interface ResponseContext<Request> extends OperationContext {
  readonly request: Request
}

/**
 * One dialect of an operation, pure and synchronous like a codec: how its clients write and read it, how its upstreams do.
 * `Request` and `Answer` are the operation's own small intermediate representation. A dialect without the decoding half is
 * spoken by upstreams only, one without the encoding half on the wire lane only.
 */
export interface Dialect<Request, Answer> {
  readonly name: string
  /** Whose errors these servers write: the codec of that format reads them. */
  readonly errors: Format
  /**
   * Checks a body from a client: required fields, types and bounds, in the provider's own wording. Unknown fields are kept.
   * Throws GatewayError with `param`. Absent: it has no JSON bodies.
   */
  validate?(body: Json): JsonObject
  /** How its clients write multipart bodies. Absent: they write none. */
  readonly form?: FormDialect
  /** Whether a body asks for events. Default: those with `stream: true`, of dialects that have streams. */
  streams?(body: JsonObject): boolean
  decodeRequest?(body: JsonObject, context: OperationContext): Request
  encodeRequest?(request: Request, context: TargetContext): JsonObject
  /** Throws GatewayError `upstream_bad_response` if it is no answer at all. */
  decodeResponse?(body: Json, context: ResponseContext<Request>): Answer
  encodeResponse?(answer: Answer, context: ResponseContext<Request>): JsonObject
  /** An answer that its clients want as something else than JSON; undefined for those that are JSON all the same. */
  encodeBody?(
    answer: Answer,
    context: ResponseContext<Request>,
  ): { readonly body: string | Uint8Array; readonly contentType: string } | undefined
  /** A whole answer, as its JSON says it, in the events that a streaming client waits for. Absent: what is not streamed is an error. */
  toEvents?(body: JsonObject, asked: JsonObject): readonly SseEvent[]
  /** Wire lane: see Lane. */
  readonly passes?: Lane['passes']
  /** What a good answer to this request is billed by, as far as the request says it. */
  unitsOf?(asked: JsonObject): BillableUnits
  /** Use that a request makes known before it is sent, so that budgets can reserve it. Uploads: `asked` holds each file's size. */
  expectedUse?(asked: JsonObject): ExpectedUse
  /** Wire lane: top-level members to set beside the model's name, where the body names it elsewhere too. */
  passThroughEdit?(body: JsonObject, target: TargetTraits): JsonObject | undefined
  /** Whether a JSON body under a good status holds an answer. Default: it does, unless it says that it is an error. */
  isResponse?(body: JsonObject): boolean
  /** See UpstreamWireCodec. */
  errorWithin?(body: JsonObject): JsonObject | undefined
  /** Wire lane: usage of a whole answer. May fail; nothing depends on it but accounting. */
  tapResponse(body: JsonObject): ResponseTap
  /** Wire lane: watches a stream of events. Absent: this dialect has no streams. */
  tapStream?(asked: JsonObject): StreamTap
  /** The model where the client names none. Default: it must name one. */
  readonly defaultModel?: string
  /** For dialects that name the model in the URL: what follows it, `{model}` standing for the name. */
  readonly modelInPath?: string
  /** Which of an upstream's models speak it, by their names. Default: all. */
  serves?(model: string): boolean
}

/** An operation in all its dialects. The first that an upstream speaks is written where it does not speak the client's. */
export interface Operation<Request, Answer> {
  readonly name: OperationName
  /** Present: it is billed by tokens. */
  readonly counted?: TokenCounting
  readonly dialects: readonly Dialect<Request, Answer>[]
  /** What an answer counts, for the books. */
  usageOf?(answer: Answer): Usage | undefined
  unitsOf?(answer: Answer): BillableUnits | undefined
  /** For upstreams that offer none of the dialects: the call read and answered as if it were one of chat. */
  viaChat?(body: JsonObject): Codec
}

/** An operation whose request and response types only its own dialects know. */
export type AnyOperation = Operation<unknown, unknown>
/** A dialect whose request and response types are not known here. */
export type AnyDialect = Dialect<unknown, unknown>

/** The 400 for a model whose upstream has no endpoint for an operation. */
export const unsupportedOperation = (model: string, operation: string): GatewayError =>
  new GatewayError(
    'invalid_request',
    `The model '${model}' does not do this (${operation}): its upstream offers no such endpoint.`,
    { param: 'model' },
  )

/** Fields whose loss changes no response. */
const harmless: ReadonlySet<string> = new Set(['user', 'priority', 'metadata', 'safety_identifier'])

/** Reports what a decoder did not take: nobody on the other side can read it. Nulls say nothing. */
export function reportUnread(fields: Unread, report: Report, at = ''): void {
  for (const key of Object.keys(fields))
    if (fields[key] != null)
      report.add(
        loss(
          pointer(at, key),
          `${key} has no counterpart in the upstream's dialect`,
          'unsupported',
          harmless.has(key) ? 'note' : 'warn',
        ),
      )
}
