import type { Json, JsonObject, Piece, Question, ToolResult } from './format.ts'

/** Responses may come from any upstream: a missing or mistyped field is read as absent. */
type Maybe = Json | undefined

export const objectOf = (value: Maybe): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}

export const listOf = (value: Maybe): readonly JsonObject[] => (Array.isArray(value) ? value.map(objectOf) : [])

export const textOf = (value: Maybe): string => (typeof value === 'string' ? value : '')

export const countOf = (value: Maybe): number | undefined => (typeof value === 'number' ? value : undefined)

/** Sums the reported counts; undefined if there are none. */
export function sumOf(...values: Maybe[]): number | undefined {
  const numbers = values.filter((value) => typeof value === 'number')
  return numbers.length === 0 ? undefined : numbers.reduce((sum, value) => sum + value, 0)
}

/** Returns a piece of text, or nothing if it is empty. */
export const textPieces = (type: 'text' | 'reasoning', value: Maybe): readonly Piece[] =>
  typeof value === 'string' && value !== '' ? [{ type, text: value }] : []

/** Parses an event's data; undefined if it is no JSON object, such as `[DONE]`. */
export function parseData(data: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(data)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns an error body as a piece; all formats keep the message in the same place. `otherwise` is the message if there is none.
 */
export function errorPiece(body: Json, otherwise: string): Piece {
  const { error, message } = objectOf(body)
  const text = textOf(objectOf(error).message) || textOf(message) || textOf(error)
  return { type: 'error', message: text || otherwise, body }
}

/** Returns a whole tool input as the text that a stream would add up to. */
export const inputText = (value: Maybe): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)

export const dataUrl = ({ type, data }: { readonly type: string; readonly data: string }): string =>
  `data:${type};base64,${data}`

/** Message for an error in a stream without a message of its own. */
export const failedWithoutWords = 'The response ended with an error without a message.'

/** Name of an audio type in OpenAI's formats. */
export const audioFormat = (type: string): string => (type === 'audio/mpeg' ? 'mp3' : 'wav')

/** Returns the result of a tool call for formats that have no field for a failure. */
export const resultText = ({ content, failed }: ToolResult): string => (failed ? `Error: ${content}` : content)

/** Returns true for a turn that has only the results of tool calls. */
export const isOnlyResults = ({ results = [], text, images, files = [] }: Question): boolean =>
  results.length > 0 && text === '' && images.length + files.length === 0
