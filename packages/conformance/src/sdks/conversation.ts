import type Anthropic from '@anthropic-ai/sdk'
import type { GoogleGenAI } from '@google/genai'
import type OpenAI from 'openai'
import type { JsonObject } from '../base/json.ts'
import type { Answer } from '../base/response-content.ts'

/** Something that a user says or shows, or that a tool answers. Data is base64. */
export type Piece =
  | { readonly text: string }
  | { readonly image: string }
  | { readonly imageAt: string }
  | { readonly pdf: string }
  | { readonly audio: string }

/** The official clients, all of one server. */
export interface Clients {
  readonly openai: OpenAI
  readonly anthropic: Anthropic
  readonly google: GoogleGenAI
}

/** How a conversation is held, in each client's own terms. */
export interface Manner {
  /** Default `demo`. */
  readonly model?: string
  readonly stream: boolean
  readonly tools?: readonly string[]
  readonly think?: boolean
  /** Most tokens of an answer. */
  readonly most?: number
  readonly system?: string
  /** More fields, in the words of the client's own format (of Google's SDK: of its `config`). */
  readonly extra?: JsonObject
}

/** Result of a client's SDK. */
export interface Said extends Answer {
  /** The ending in the format's own words. */
  readonly end: string
  /** Whose answer it says it is. */
  readonly model: string
  /** In how many pieces the text came: more than one only where it was streamed. */
  readonly pieces: number
}

/** A conversation that an official client keeps, sending back what its SDK gave it. */
export interface Talk {
  ask(...pieces: readonly Piece[]): Promise<Said>
  /** Sends the results of the called tools, by name. */
  answer(results: Readonly<Record<string, readonly Piece[]>>): Promise<Said>
}

export type Talker = (clients: Clients, manner: Manner) => Talk
