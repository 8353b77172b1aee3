import type { Member } from '../base/json/scan.ts'
import type { Json, JsonObject } from '../base/json/types.ts'

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
  read(answer: JsonObject): TokenCount | undefined
  write(count: TokenCount): JsonObject
  /** Fields of a generation's body that stand for input kept by a provider: nobody else can count it. */
  readonly stored: readonly string[]
  /** What follows the upstream's path, for a format that names the model there: `{model}` stands for the name. */
  readonly pathEnding?: string
  /** Wire lane: puts the upstream's name where the body names the model deeper than at its top, and leaves every other character. */
  rename?(text: string, members: readonly Member[], asked: string, model: string): string
}
