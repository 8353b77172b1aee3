import type { JsonObject } from '../base/json.ts'
import type { Format } from '../base/recorded-traffic.ts'
import type { Clients } from '../sdks/conversation.ts'
import type { Rejection } from './rejection.ts'

/** The names of a format for features that all formats have. */
export interface Dialect {
  readonly format: Format
  /** Finish reasons. */
  readonly ends: {
    readonly stop: string
    readonly length: string
    readonly tools: string
    /** Finish reason at a stop sequence; undefined if the format has none. */
    readonly sequence: string | undefined
  }
  /** Request fields for `extra` of a conversation. */
  readonly fields: {
    readonly force: JsonObject
    readonly never: JsonObject
    readonly stop: (word: string) => JsonObject
    readonly stopName: string
    readonly schema: (schema: JsonObject) => JsonObject
    /** Ways to request a little thinking: each model supports one of them. */
    readonly think: readonly JsonObject[]
    /** Field names that an error may use to reject thinking. */
    readonly thinkNames: readonly string[]
    readonly sampling: JsonObject
    readonly samplingNames: readonly string[]
  }
  /** The format requires a token limit in every request. */
  readonly wantsLimit?: true
  readonly path: (model: string) => string
  /** Returns the smallest valid request body. */
  readonly body: (model: string) => JsonObject
  /** The field that every request must have. */
  readonly essential: string
  /** Sends the smallest request with the SDK, with a temperature if given. */
  ask(clients: Clients, model: string, temperature?: number): Promise<unknown>
  /** Starts a long stream and aborts it at the first text. */
  leave(clients: Clients, model: string): Promise<void>
  /** Expected exception for each kind of error: the SDK's class, and the status codes of the real providers. */
  readonly errors: Readonly<
    Record<'token' | 'model' | 'value', { readonly thrown: string; readonly statuses: readonly number[] }>
  >
  /** Returns the missing part of an error body; undefined if it is complete. */
  errorLacks(refusal: Rejection): string | undefined
  /** Response header with the request id; undefined if the format defines none. */
  readonly idHeader: string | undefined
  /** Reads the prompt cache detail of a response's usage; undefined if the format omits it without a cache hit. */
  readonly cacheDetail: ((answer: JsonObject) => unknown) | undefined
}

export const shortPrompt = 'Say hello in one short sentence.'
export const longPrompt = 'Write a story of at least three hundred words about a lighthouse.'
