import type { JsonObject } from '../../base/json.ts'

/** A tool call of the model. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly input: unknown
}

/** A message of a conversation, in terms of every client. */
export type Message =
  | { readonly role: 'user'; readonly text: string /** A PNG in base64. */; readonly image?: string }
  /** A message as the client's SDK returned it. */
  | { readonly role: 'assistant'; readonly message: unknown }
  | { readonly role: 'tool'; readonly call: ToolCall; readonly result: string }

export interface Question {
  /** Default `demo`. */
  readonly model?: string
  readonly messages: readonly Message[]
  /** Names of tools with one argument, `city`. */
  readonly tools?: readonly string[]
  /** The schema of the response. */
  readonly schema?: JsonObject
  readonly temperature?: number
  readonly stream: boolean
  readonly signal?: AbortSignal
  /** Called for each piece of a streamed text. */
  readonly onText?: (text: string) => void
}

/** A response, from the client's own reader of streams if it was streamed. */
export interface Heard {
  readonly text: string
  readonly calls: readonly ToolCall[]
  /** To be sent back. */
  readonly message: unknown
  readonly finish: string
  readonly usage: { readonly input: number; readonly output: number } | undefined
}

/** A vendor's own SDK, behind functions that the shared cases call. */
export interface FamilyClient {
  /** Finish reasons of the vendor. */
  readonly finish: { readonly stop: string; readonly tools: string }
  /** Statuses that the vendor has in place of those of most others. */
  readonly statuses?: { readonly [status: number]: number }
  ask(question: Question): Promise<Heard>
  /** Returns the names of a model list. Absent: the SDK has none. */
  models?(): Promise<readonly string[]>
  /** Returns one vector for each text. Absent: the SDK has no embeddings. */
  embed?(texts: readonly string[]): Promise<readonly (readonly number[])[]>
  /** Returns the HTTP status that an exception of the SDK states. */
  statusOf(error: Error): unknown
}

/** Creates a client of a gateway, with a token. Its own retries are off. @param fetch reaches gateways in the same process, too */
export type CreateFamilyClient = (origin: string, token: string, fetch: typeof globalThis.fetch) => FamilyClient
