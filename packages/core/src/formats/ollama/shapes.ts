import { type JsonObject, quoteText, stringifyExact } from '../../base/json/json.ts'

/** The parts of a response's message, or of one line of a stream. */
export interface Message {
  readonly content: string
  readonly thinking?: string
  readonly tool_calls?: JsonObject[]
  /** In base64. */
  readonly images?: string[]
}

/** Where a response of `/api/chat` or `/api/generate` has the parts of its message. */
export interface ResponseShape {
  /** Returns the fields of a response, in their usual order. */
  fields(message: Message): JsonObject
  /** Returns the same as JSON for a piece of text, without the braces. Faster, because streams have one for each token. */
  textPiece(text: string): string
  thinkingPiece(text: string): string
  /** A response holds one image. Default: any number. */
  readonly isLimitedToOneImage?: true
}

export const chatShape: ResponseShape = {
  fields: ({ content, ...others }) => ({ message: { role: 'assistant', content, ...others } }),
  textPiece: (text) => `"message":{"role":"assistant","content":${quoteText(text)}}`,
  thinkingPiece: (text) => `"message":{"role":"assistant","content":"","thinking":${quoteText(text)}}`,
}

export const generateShape: ResponseShape = {
  fields: ({ content, images: [image] = [], ...others }) => ({
    response: content,
    ...others,
    ...(image === undefined ? {} : { image }),
  }),
  textPiece: (text) => `"response":${quoteText(text)}`,
  thinkingPiece: (text) => `"response":"","thinking":${quoteText(text)}`,
  isLimitedToOneImage: true,
}

/** The members that all lines of a response share. */
export interface Frame {
  readonly model: string
  /** Seconds since 1970. */
  readonly created: number
}

/** Returns the first members of a response. Ollama's clients read dates as text. */
export const frameFields = ({ model, created }: Frame): JsonObject => ({ model, created_at: dateOf(created) })

/** Returns the same as JSON, up to the next member. */
export const frameText = (frame: Frame): string => `${stringifyExact(frameFields(frame)).slice(0, -1)},`

/** The largest time of a Date, in seconds. */
const latest = 8_640_000_000_000

const dateOf = (seconds: number): string =>
  new Date(Math.max(-latest, Math.min(latest, Math.trunc(seconds) || 0)) * 1000).toISOString()
