import type { JsonObject } from '../base/json.ts'
import type { FakeFormat } from './request.ts'

/** A request as the model sees it, independent of the format. */
export interface Prompt {
  readonly format: FakeFormat
  readonly model: string
  readonly stream: boolean
  readonly system: string
  readonly turns: readonly PromptTurn[]
  readonly tools: readonly PromptTool[]
  readonly toolChoice: PromptToolChoice
  /** False: at most one tool call per response. */
  readonly parallelTools: boolean
  /** `omitted`: the model thinks, but only the signature is returned. */
  readonly reasoning: 'off' | 'shown' | 'omitted'
  readonly output: 'text' | 'json' | { readonly schema: JsonObject }
  readonly stop: readonly string[]
  readonly maxTokens: number | undefined
  /** Number of choices. */
  readonly choices: number
  /** Alternatives per token; undefined: no log probabilities. */
  readonly logprobs: number | undefined
  readonly includeUsage: boolean
  /** The input in cacheable segments, in order. */
  readonly segments: readonly Segment[]
}

/** Tools that the model may or must call. */
export type PromptToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | { readonly name: string }
  | { readonly allowed: readonly string[]; readonly mode: 'auto' | 'required' }

/** One turn of the conversation, independent of the format. */
export interface PromptTurn {
  readonly role: 'user' | 'assistant'
  readonly text: string
  readonly media: readonly PromptMedia[]
  readonly toolCalls: readonly { readonly id: string; readonly name: string }[]
  readonly toolResults: readonly PromptToolResult[]
}

/** Result of a tool. */
export interface PromptToolResult {
  readonly id: string
  readonly name: string | undefined
  readonly text: string
  readonly media: readonly PromptMedia[]
  readonly isError: boolean
}

/** A picture, audio or file in a prompt: its data or its address. */
export interface PromptMedia {
  readonly kind: 'image' | 'audio' | 'document' | 'file'
  readonly mediaType: string
  /** Number of bytes of inline data. */
  readonly bytes: number | undefined
  /** The inline data in base64. */
  readonly data?: string | undefined
  readonly url: string | undefined
  readonly title: string | undefined
  /** Plain text of a document. */
  readonly text: string | undefined
  readonly citable: boolean
}

/** A tool of the request. */
export interface PromptTool {
  readonly name: string
  readonly schema: JsonObject
  /** True if the tool accepts free text instead of JSON. */
  readonly custom: boolean
  /** Group of tools that the tool belongs to, in formats with groups. */
  readonly namespace?: string
  /** Type of a tool that is built into the format and executed by the client. */
  readonly native?: string
}

/** A segment of the input. `mark`: a prefix may be cached up to here, for this lifetime. */
export interface Segment {
  readonly text: string
  readonly tokens: number
  readonly mark: '5m' | '1h' | undefined
}
