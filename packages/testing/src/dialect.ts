import type { Answer } from './compose.ts'
import type { ErrorTable, WireError } from './errors.ts'
import type { Signing } from './headers.ts'
import type { Memory } from './memory.ts'
import type { Piece } from './piece.ts'
import type { Prompt } from './prompt.ts'
import type { Ids } from './random.ts'
import type { Destination } from './routes.ts'
import type { Dress, Seals } from './signature.ts'
import type { FakeProviderOptions, JsonObject } from './types.ts'

/** What a call shows before its body is read. */
export interface Knock {
  readonly method: string
  readonly path: string
  readonly query: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
}

/** What the checks of a body may look at. */
export interface Checking {
  readonly seals: Seals
  readonly memory: Memory
  readonly destination: Destination
}

/** What an answer is written from. */
export interface Generated {
  readonly prompt: Prompt
  readonly answer: Answer
  /** The request's body as it came. */
  readonly request: JsonObject
  readonly destination: Destination
  readonly memory: Memory
  readonly ids: Ids
  readonly seals: Seals
  readonly now: () => number
  /** Where chat shows reasoning; undefined: it is only counted. */
  readonly reasoningField: 'reasoning_content' | 'reasoning' | undefined
  /** Pads the data of message events. */
  readonly padding: boolean
}

/** Bytes, in the pieces they are sent in. */
export interface Media {
  readonly contentType: string
  readonly pieces: Iterable<Piece>
}

/** An answer in a format: whole, or as a stream. */
export interface Rendering {
  body(): JsonObject
  /** The answer where it is no JSON. */
  media?(): Media | undefined
  events(): Iterable<Piece>
  /** How this very stream fails after `sent` pieces, where that takes more than the dialect's own piece. */
  failure?(error: WireError, sent: number): Iterable<Piece>
}

/** How a provider speaks, whatever it is asked for: its errors, headers and keys. */
export interface Voice {
  readonly words: ErrorTable
  /** The type of an error that breaks a stream, where none is asked for. */
  readonly breakdown: string
  /** Spaces that JSON bodies are indented by. */
  readonly indent: number | undefined
  readonly jsonType: string
  readonly streamType: string
  readonly notJson: WireError

  /** The headers of every answer, with a new request id. */
  sign(ids: Ids, now: number, model: string): Signing
  /** What the provider says to a call it knows no path for. */
  noRoute(knock: Knock): WireError
  wrongMethod(knock: Knock): WireError
  /** Looks at the key and the headers. */
  admit(knock: Knock, apiKey: FakeProviderOptions['apiKey']): WireError | undefined
  unknownModel(model: string, destination: Destination | undefined): WireError
  /** The error's body. `headers` are what a script adds to the answer. */
  errorBody(error: WireError, requestId: string, headers: Readonly<Record<string, string>>): JsonObject
  /** How a stream fails. */
  failure(error: WireError, requestId: string): Piece
  errorHeaders(error: WireError): Readonly<Record<string, string>>
}

/** Everything that one provider says and does its own way when it generates. */
export interface Dialect extends Voice {
  /** How the seals of its thinking look. */
  readonly dress: Dress
  /** A request is cached without being asked to; otherwise up to its own marks only. */
  readonly cachesUnasked: boolean
  /** A model that thinks seals its answer even where a script wrote down no thought. */
  readonly sealsAlways: boolean

  /** What the provider would refuse about the body, in its words. */
  check(body: JsonObject, checking: Checking): WireError | undefined
  read(body: JsonObject, destination: Destination, memory: Memory): Prompt
  /** The text that a thought's seal is bound to. */
  sealed(thought: string, calls: readonly { readonly name: string }[]): string
  answerId(ids: Ids): string
  /** An id for a call; empty: this model gives its calls none. */
  callId(ids: Ids, prompt: Prompt): string
  counted(tokens: number): JsonObject
  render(generated: Generated): Rendering
  /** The models, or the page of them that the query asks for. */
  listModels(models: readonly string[], query: URLSearchParams): JsonObject
  modelEntry(model: string): JsonObject
}
