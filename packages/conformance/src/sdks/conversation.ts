import type Anthropic from '@anthropic-ai/sdk'
import type { GoogleGenAI } from '@google/genai'
import type OpenAI from 'openai'
import type { ResponseContent } from '../base/content/content.ts'
import type { JsonObject } from '../base/json.ts'

/** Content of a user message or tool result. Data is base64. */
export type Piece =
  | { readonly text: string }
  | { readonly image: string }
  | { readonly imageAt: string }
  | { readonly pdf: string }
  | { readonly audio: string }

/** The official clients of one server. */
export interface Clients {
  readonly openai: OpenAI
  readonly anthropic: Anthropic
  readonly google: GoogleGenAI
}

/** Settings of a conversation, in terms of all formats. */
export interface ConversationOptions {
  /** Default `demo`. */
  readonly model?: string
  readonly stream: boolean
  readonly tools?: readonly string[]
  readonly think?: boolean
  /** Token limit of a response. */
  readonly tokenLimit?: number
  readonly system?: string
  /** Additional fields in the client's own format (for Google's SDK: in its `config`). */
  readonly extra?: JsonObject
}

/** Result of a client's SDK. */
export interface ConversationResult extends ResponseContent {
  /** Finish reason in the format's own terms. */
  readonly finishReason: string
  /** Model name in the response. */
  readonly model: string
  /** Number of text chunks: more than one only if streamed. */
  readonly pieces: number
}

/** A conversation of an official client, which sends back what its SDK returned. */
export interface Conversation {
  sendUserMessage(...pieces: readonly Piece[]): Promise<ConversationResult>
  /** Sends the results of the called tools, by tool name. */
  sendToolResults(results: Readonly<Record<string, readonly Piece[]>>): Promise<ConversationResult>
}

export type StartConversation = (clients: Clients, manner: ConversationOptions) => Conversation
