import type { Allowance, ErrorInfo } from '../base/errors.ts'
import type { Member } from '../base/json/scan.ts'
import type { Json, JsonObject } from '../base/json/types.ts'
import type { Format, UpstreamFormat } from '../base/names.ts'
import type { SseEvent } from '../http/sse/event.ts'
import type { Capabilities, IsShown } from './capabilities.ts'
import type { BillableUnits, Effort, Loss, ModelEvent, ModelRequest, ModelResponse, Report, Usage } from './ir.ts'
import type { Received } from './references/places.ts'
import type { ModelPlaces } from './shared/model-places.ts'
import type { RequestDefaults, ResponsePointers } from './shared/pointers.ts'
import type { ModelRule, Quirks } from './target-traits.ts'

/** The changes of settings that a request can hold within its conversation, for one target. */
export interface AcceptedChanges {
  readonly effort?: boolean
  readonly format?: boolean
  readonly addedTools?: boolean
  readonly removedTools?: boolean
}

/** Flags of a header that lists them. */
export interface RequestFlags {
  /** In lower case. */
  readonly header: string
  readonly flags: readonly string[]
}

/** A stream as a pure machine: events in, events out, no clock and no I/O. `end` is called once, at the end of input. */
export interface Machine<In, Out> {
  push(input: In): Out[]
  /** @param complete see AnswerStream */
  end(complete?: boolean): Out[]
}

/** What a codec may ask of its surroundings. */
export interface CodecContext {
  readonly report: Report
  /** A new unique id with the given prefix (`call_`). */
  newId(prefix: string): string
  /** Seconds since 1970. */
  now(): number
  /** The upstream's format, where it is known: a decoder may then keep what only that format can do. Default: any. */
  readonly upstream?: UpstreamFormat
  /** The gateway keeps the answer (responses), as the next one after `previous` where there is one. Absent: nobody does. */
  readonly kept?: { readonly previous?: string }
}

/** What the target declares about itself, as data. Codecs read it; nobody branches on a provider's name. */
export interface TargetTraits {
  /** The model's name at the upstream. */
  readonly model: string
  /** Departures of an upstream from the format it speaks. */
  readonly quirks: Quirks
  /** What the model accepts, where that is known. */
  readonly modelRule?: ModelRule | undefined
}

/** Where a client departs from what its format's other clients accept. */
export interface ClientQuirks {
  /** An empty text in an answer makes the client forget the whole turn (gemini). Chunks without a part do not. */
  readonly spoiledByEmptyText?: boolean
}

/** Where what a model says stands: keys, at any depth, of texts, reasoning, the arguments of calls. */
export interface TextFields {
  /** In a whole answer. */
  readonly response: readonly string[]
  /** In a stream's events. */
  readonly event: readonly string[]
  /** A text that only those events hold that say something new. Default: all do. */
  readonly mark?: string
}

/**
 * The fields, as dotted paths, in which a request says how many tokens the answer may have, and how many answers it wants; of
 * several that are given the largest counts.
 */
export interface OutputBound {
  readonly fields: readonly string[]
  readonly countFields?: readonly string[]
}

/** The client's request as the answer's encoder and decoder need it: what was asked decides what is shown. */
export interface ExchangeContext extends CodecContext {
  readonly request: ModelRequest
  readonly target?: TargetTraits
  readonly client?: ClientQuirks | undefined
  /** Characters that an event of the client's stream may have. Default: any number. */
  readonly maxEventChars?: number
}

/** Turns IR events into the client's stream, and knows how this format says "still here" and "it broke". */
export interface StreamEncoder extends Machine<ModelEvent, SseEvent> {
  /** Events that keep a silent stream alive. An SSE comment is `{event: ':', data: 'text'}`. */
  heartbeat(): SseEvent[]
}

/** What the wire lane learns of a whole answer. */
export interface ResponseTap {
  usage?: Usage
  units?: BillableUnits
  finish?: string
  /** Ids of stored objects that the upstream made for this call, for later requests to refer to. */
  received?: readonly Received[]
  /** The body is an error, though it came under a good status. */
  error?: ErrorInfo
}

/** What a tap is made for. */
export interface TapOptions {
  readonly withholdUsage: boolean
  readonly target: TargetTraits
  /** The request's top-level fields. */
  readonly request?: JsonObject
  /** The edit of the request says that the provider keeps the answer: later requests name it. */
  readonly storesResponse?: boolean
  readonly client?: ClientQuirks | undefined
}

/** Watches a stream of the codec's own format pass by on the wire lane. Cheap, and never alters the bytes by itself. */
export interface StreamTap {
  /**
   * Sees one event. `false`: the event is only there because the gateway asked for it, and must be withheld; or it is an error
   * that the format's clients would not take for one, and must be told in their words; or it would take back a good end, and is
   * withheld. Throws GatewayError `upstream_bad_response` for an event that cannot be part of an answer: it must not be passed on.
   */
  push(event: SseEvent): boolean
  /** A real event (no ping, no comment, no empty preamble) was seen. */
  readonly started: boolean
  /** The format's own terminal event was seen. */
  readonly ended: boolean
  /** The stream's own error event, where one came. */
  readonly error: ErrorInfo | undefined
  /** The members whose texts or numbers may differ without the tap seeing a difference. Absent: it sees each event. */
  readonly varyingMembers?: ReadonlySet<string>
  /** Whether events that differ from the last one pushed in nothing but those members need not be pushed: they tell nothing new. */
  readonly canSkipSimilar?: boolean
  /** Such events have passed unseen. `last` reads the data of the last of them, until the next event is pushed. */
  onSkipped?(last: () => string): void
  /** An error has been told whose terminal event is still to come. Until then `push` says of each event whether it is that. */
  readonly isFailing?: boolean
  readonly usage: Usage | undefined
  readonly units?: BillableUnits | undefined
  /** The format's finish word, where one came. */
  readonly finish: string | undefined
  /** See ResponseTap. */
  readonly received?: readonly Received[] | undefined
  /**
   * The input is over: formats without a terminal event of their own, or whose upstreams leave it out, decide now whether the stream
   * has `ended`.
   *
   * @param complete see AnswerStream
   */
  end?(complete?: boolean): void
  /** As for StreamEncoder: heartbeat and error in the stream's own terms (its id, its model). */
  heartbeat(): SseEvent[]
  fail(error: ErrorInfo): SseEvent[]
}

/** A tap as its maker sees it. Its fields are plain ones: a getter for each would weigh more than all else of a stream. */
export type MutableTap = { -readonly [K in keyof StreamTap]: StreamTap[K] }

/** What the wire lane edits in a request, beside the model's name. */
export interface WireEdit {
  /** Top-level fields to set; the value replaces what stands there. */
  set: JsonObject
  /** Top-level fields to take out: the upstream would refuse the call for them. */
  drop?: readonly string[]
  /** What the upstream will not do for all that, or does another way. */
  losses?: readonly Loss[]
  /** The upstream keeps the response under its id, and the caller's later requests may refer to it. */
  storesResponse?: true
  /**
   * Usage is asked for where the client did not: what is there only for that is withheld, and this exact text, a mark the
   * wish leaves in the answer, is deleted from every event passed on (`,"usage":null`).
   */
  erase?: string
}

/**
 * What every call needs of the format that its upstream speaks, translated or not. It is small and always there; the rest, which
 * writes and reads whole requests and answers, is loaded by the first call that needs it.
 */
export interface UpstreamWireCodec {
  readonly format: UpstreamFormat
  /**
   * Reads an upstream's error answer in any shape its vendors use; `body` is text where it was no JSON. `header` reads the
   * answer's headers, where there are any: some vendors name the error there.
   */
  decodeError(status: number, body: Json, header?: (name: string) => string | undefined): ErrorInfo
  /** Whether a JSON body under a good status holds an answer of this format, or an error in its place. */
  isResponse(body: JsonObject): boolean
  /** Returns the error of a body that also holds an answer, as an error body. Default: there is none. */
  errorWithin?(body: JsonObject): JsonObject | undefined
  /** Usage, finish word and error of a whole answer. May fail; nothing depends on it but accounting, and errors under a good status. */
  tapResponse(body: JsonObject): ResponseTap
  /**
   * The model and the wish for a stream stand in the URL, not in the body: these are the ends of the URL's path for a whole
   * answer and for a stream, with `{model}` or `{id}` for the model's name. Decoders then expect `model` and `stream` in the
   * body all the same (whoever reads the URL puts them in), and encoders write neither.
   */
  readonly modelInPath?: { readonly whole: string; readonly stream: string }
  /** Where this format holds what the model says, for estimates of answers that nobody has counted. */
  readonly textFields: TextFields
  /** Finish words of answers that are still to come: what they will take is not known yet. */
  readonly pendingFinishes?: readonly string[]
  /** What a usage object of this format counts beside tokens. */
  billableUnits?(usage: JsonObject): BillableUnits | undefined
}

/** What every call needs of the format that its client speaks: all of the wire lane, and errors. */
export interface WireCodec extends UpstreamWireCodec {
  readonly format: Format
  /** The codec's `checkRequest`: at once where it has been loaded. */
  loadRequestCheck(): Codec['checkRequest'] | Promise<Codec['checkRequest']>
  encodeError(
    error: ErrorInfo,
    requestId: string,
  ): { status: number; headers?: Record<string, string>; body: JsonObject }

  /** What clients may write in front of the name where the path names the model and the body repeats it. Default: nothing. */
  readonly modelPrefix?: string
  /** The members of requests, counts of tokens included, that name or choose a model. */
  readonly modelPlaces: ModelPlaces
  /** Clients of this format break on comments in an event stream: none may be sent. */
  readonly refusesComments?: boolean
  /** What has to be loaded before `wireEdit` can be asked about a target; undefined: nothing. */
  prepareWireEdit?(target: TargetTraits): Promise<unknown> | undefined
  /** Wire lane: the edit this body needs, if any, beside the model's name. */
  wireEdit(body: JsonObject, target: TargetTraits): WireEdit | undefined
  tapStream(options: TapOptions): StreamTap
  /** Recognizes clients that need answers in another form, by their headers. Absent: there are none. */
  clientQuirks?(header: (name: string) => string | undefined): ClientQuirks | undefined

  /**
   * What tells conversations apart, for calls that should meet the same prompt cache: fields that name a session or a cache,
   * else the prompt's beginning: top-level fields, and the one that holds the turns.
   */
  readonly affinity?: { readonly keys: readonly string[]; readonly prefix: readonly string[]; readonly turns: string }

  /**
   * Top-level fields that have the upstream keep a conversation for the credential of the call: all such calls of one caller go to the same
   * target and key, as far as the plan's order allows.
   */
  readonly statefulFields?: readonly string[]
  /** Top-level fields that, set to true, have the upstream go on after its response: what the call uses is then known only later. */
  readonly backgroundFields?: readonly string[]
  readonly outputBound: OutputBound
  /** What a caller has left, in the headers of this format's clients. `now`: milliseconds since 1970. */
  encodeAllowance(allowance: Allowance, now: number): Record<string, string>
}

/**
 * What upstreams of a format need. Formats that no client speaks have this half of a codec only. Pure and synchronous: no
 * streams, no clocks, no fetch. All I/O lives in the lanes and the router.
 */
export interface UpstreamCodec extends UpstreamWireCodec {
  /** The changes within a conversation that requests of this format can hold for a target. Absent: none. */
  acceptedChanges?(target: TargetTraits): AcceptedChanges
  /** The flags that a translated request needs in a header, by what it holds. They join those of the client. */
  requestFlags?(body: JsonObject): RequestFlags | undefined
  encodeRequest(request: ModelRequest, context: CodecContext & { readonly target: TargetTraits }): JsonObject
  /** Lenient: what upstreams send is taken as far as it goes; throws GatewayError `upstream_bad_response` if it is no answer at all. */
  decodeResponse(body: Json, context: ExchangeContext): ModelResponse
  /** `end()` without the format's own terminal event yields an `upstream_truncated` error, never an ending. Nothing follows an error. */
  decodeStream(context: ExchangeContext & { readonly target: TargetTraits }): Machine<SseEvent, ModelEvent>
  /** JSON Pointers of IR request fields in this format's body, for loss reports (`sampling.maxTokens` → `/max_tokens`). */
  readonly fieldPointers: { readonly [irField: string]: string }
  /** Many clients of the format send back no field of a call that a seal could stand in: one that fits stands in the call's id. */
  readonly sealsInCallIds?: boolean
  /** The same for an answer. */
  readonly responsePointers: ResponsePointers
  /** JSON Pointers, within a usage object of this format, to what it says beyond the totals and the features that are shown. */
  unshownUsage(usage: JsonObject, isShown: IsShown): readonly string[]
}

/** A codec of a format that clients speak too. */
export interface Codec extends UpstreamCodec, WireCodec {
  readonly format: Format
  /**
   * Checks any request body from a client, whatever its target: what the gateway itself reads, and the specification's required
   * fields and limits (docs/decisions/0031). Returns the same object, throws GatewayError with `param` otherwise.
   */
  checkRequest(body: Json): JsonObject
  /**
   * Checks a request body that is to be translated: in addition, the types and values that the decoder knows, in the provider's own
   * wording. Unknown fields are kept. Returns and throws as `checkRequest` does.
   */
  validateRequest(body: Json): JsonObject
  decodeRequest(body: JsonObject, context: CodecContext): ModelRequest
  encodeResponse(response: ModelResponse, context: ExchangeContext): JsonObject
  encodeStream(context: ExchangeContext): StreamEncoder

  /** How this format counts tokens; absent where it has no endpoint for that. */
  readonly count?: CountCodec

  /**
   * The model list (`GET /v1/models`) as this format's clients know it, and one entry of it. `query` asks for a page, in the
   * format's own words; throws GatewayError `invalid_request` for one that there is not. `created`: seconds since 1970, for formats whose
   * clients expect a time.
   */
  encodeModelList(names: readonly string[], query?: URLSearchParams, created?: number): JsonObject
  encodeModel(name: string, created?: number): JsonObject

  /** Effort words this format's clients may write; others are approximated. */
  readonly efforts: readonly Effort[]
  /** What becomes of each feature of requests and answers in this format. Documents and routes are made of it. */
  readonly capabilities: Capabilities
  /** Documented defaults of this format's requests. A value that stands on its default is never a loss. */
  readonly defaults: RequestDefaults
}

/** How many tokens a request's input has. */
export interface TokenCount {
  tokens: number
  /** Those of `tokens` that a cache holds, where the upstream says it. */
  cached?: number
}

/** How a format counts the tokens of a request without generating anything. Pure and synchronous, as its codec. */
export interface CountCodec {
  /** As `checkRequest` of the codec, for the body of a count. */
  checkRequest(body: Json): JsonObject
  /** As `validateRequest` of the codec, for the body of a count. */
  validateRequest(body: Json): JsonObject
  /** The request whose input is to be counted, as `decodeRequest` takes it, and where it stands in the body (a JSON Pointer). */
  toGeneration(body: JsonObject): { readonly body: JsonObject; readonly at: string }
  /** A generation's body as the counting endpoint takes it: what is no input is left out. */
  fromGeneration(body: JsonObject, model: string): JsonObject
  /** Undefined for an answer that is no count. */
  decode(answer: JsonObject): TokenCount | undefined
  encode(count: TokenCount): JsonObject
  /** Fields of a generation's body that stand for input kept by a provider: nobody else can count it. */
  readonly storedFields: readonly string[]
  /** What follows the upstream's path, for a format that names the model there: `{model}` stands for the name. */
  readonly pathEnding?: string
  /** Wire lane: puts the upstream's name where the body names the model deeper than at its top, and leaves every other character. */
  rename?(text: string, members: readonly Member[], asked: string, model: string): string
}
