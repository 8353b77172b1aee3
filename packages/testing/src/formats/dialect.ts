import type { JsonObject } from '../base/json.ts'
import type { Ids } from '../base/random.ts'
import type { FakeProviderOptions } from '../contract/options.ts'
import type { Prompt } from '../contract/prompt.ts'
import type { ErrorTable, WireError } from '../wire/errors.ts'
import type { Piece } from '../wire/piece.ts'
import type { Answer } from './answer.ts'
import type { Memory } from './memory.ts'
import type { ResponseHead } from './response-head.ts'
import type { Route } from './route.ts'
import type { SealStyle, Seals } from './seals.ts'

/** The parts of a request that are known before its body is read. */
export interface RequestHead {
  readonly method: string
  readonly path: string
  readonly query: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
}

/** Context for the checks of a body. */
export interface CheckContext {
  readonly seals: Seals
  readonly memory: Memory
  readonly route: Route
}

/** Input for rendering a response. */
export interface RenderInput {
  readonly prompt: Prompt
  readonly answer: Answer
  /** The request's body as received. */
  readonly request: JsonObject
  readonly route: Route
  readonly memory: Memory
  readonly ids: Ids
  readonly seals: Seals
  readonly now: () => number
  /** Chat field that shows reasoning; undefined: reasoning is only counted. */
  readonly reasoningField: 'reasoning_content' | 'reasoning' | undefined
  /** Pads the data of Messages events. */
  readonly padding: boolean
}

/** Bytes, in the pieces to send. */
export interface Media {
  readonly contentType: string
  readonly pieces: Iterable<Piece>
}

/** A response rendered in a format, unstreamed and as a stream. */
export interface RenderedAnswer {
  body(): JsonObject
  /** Returns the response if it is not JSON. */
  media?(): Media | undefined
  events(): Iterable<Piece>
  /** Returns the failure of this stream after `sent` pieces, if it differs from the dialect's own failure piece. */
  failure?(error: WireError, sent: number): Iterable<Piece>
}

/** A provider's conventions that all its operations share: errors, headers, keys. */
export interface ProviderConventions {
  readonly errorTable: ErrorTable
  /** Default type of an error that breaks a stream. */
  readonly defaultStreamErrorType: string
  /** Indentation of JSON bodies in spaces. */
  readonly indent: number | undefined
  readonly jsonType: string
  readonly streamType: string
  readonly notJsonError: WireError

  /** Returns the headers of a response, with a new request id. */
  createResponseHead(ids: Ids, now: number, model: string): ResponseHead
  /** Returns the error for an unknown path. */
  unknownPathError(head: RequestHead): WireError
  wrongMethodError(head: RequestHead): WireError
  /** Checks the key and the headers. */
  authenticate(head: RequestHead, apiKey: FakeProviderOptions['apiKey']): WireError | undefined
  unknownModelError(model: string, route: Route | undefined): WireError
  /** Returns the error's body. `headers` are the script's additional headers. */
  errorBody(error: WireError, requestId: string, headers: Readonly<Record<string, string>>): JsonObject
  /** Returns the piece that ends a failed stream. */
  failurePiece(error: WireError, requestId: string): Piece
  errorHeaders(error: WireError): Readonly<Record<string, string>>
}

/** A provider's conventions and its own ways of generation. */
export interface Dialect extends ProviderConventions {
  /** Style of the seals of its thinking. */
  readonly sealStyle: SealStyle
  /** True if prompts are cached automatically; otherwise only up to the request's cache marks. */
  readonly cachesAutomatically: boolean
  /** True if a thinking model seals its response even if a script has no thinking. */
  readonly alwaysSeals: boolean

  /** Returns the provider's error for an invalid body. */
  check(body: JsonObject, checking: CheckContext): WireError | undefined
  read(body: JsonObject, route: Route, memory: Memory): Prompt
  /** Returns the text that the seal of a thought is bound to. */
  sealedText(thought: string, calls: readonly { readonly name: string }[]): string
  answerId(ids: Ids): string
  /** Returns an id for a tool call; empty if the model uses no call ids. */
  callId(ids: Ids, prompt: Prompt): string
  tokenCountBody(tokens: number): JsonObject
  render(generated: RenderInput): RenderedAnswer
  /** Returns the models, or the page of them that the query selects. */
  listModels(models: readonly string[], query: URLSearchParams): JsonObject
  modelEntry(model: string): JsonObject
}
