import type { JsonObject } from '../base/json.ts'
import type { Format } from '../base/recorded-traffic.ts'
import type { Clients } from '../sdks/conversation.ts'
import type { Refusal } from './rejection.ts'

/** Names that one format has for the features of all formats. */
export interface Dialect {
  readonly format: Format
  /** How an answer says that it is over. */
  readonly ends: {
    readonly stop: string
    readonly length: string
    readonly tools: string
    /** At a stop sequence; undefined: the format has none. */
    readonly sequence: string | undefined
  }
  /** Fields, as `extra` of a manner takes them. */
  readonly fields: {
    readonly force: JsonObject
    readonly never: JsonObject
    readonly stop: (word: string) => JsonObject
    readonly stopName: string
    readonly schema: (schema: JsonObject) => JsonObject
    /** Ways to ask for a little thinking: models know one or the other. */
    readonly think: readonly JsonObject[]
    /** The names by which thinking is refused. */
    readonly thinkNames: readonly string[]
    readonly sampling: JsonObject
    readonly samplingNames: readonly string[]
  }
  /** A request has to say how long its answer may be. */
  readonly wantsLimit?: true
  readonly path: (model: string) => string
  /** The smallest request, as it is sent. */
  readonly body: (model: string) => JsonObject
  /** The field without which there is nothing to answer. */
  readonly essential: string
  /** The smallest request by the SDK, with a temperature if one is given. */
  ask(clients: Clients, model: string, temperature?: number): Promise<unknown>
  /** Asks for a long stream and leaves it at its first words. */
  leave(clients: Clients, model: string): Promise<void>
  /** Expected exception for each kind of error: the SDK's class, and the statuses that the providers themselves return. */
  readonly errors: Readonly<
    Record<'token' | 'model' | 'value', { readonly thrown: string; readonly statuses: readonly number[] }>
  >
  /** Returns the missing part of an error's body; undefined if it is complete. */
  errorLacks(refusal: Refusal): string | undefined
  /** The header that carries an id to quote; undefined: the format knows no such. */
  readonly idHeader: string | undefined
  /** The usage detail of the prompt cache, in an answer; undefined: the format shows none where nothing was cached. */
  readonly cacheDetail: ((answer: JsonObject) => unknown) | undefined
}

export const shortPrompt = 'Say hello in one short sentence.'
export const longPrompt = 'Write a story of at least three hundred words about a lighthouse.'
