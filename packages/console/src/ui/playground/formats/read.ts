import type { Json, JsonObject, Piece } from './format.ts'

/** Answers may come from any upstream: what is not there, or not of its kind, is read as nothing. */
type Maybe = Json | undefined

export const objectOf = (value: Maybe): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}

export const listOf = (value: Maybe): readonly JsonObject[] => (Array.isArray(value) ? value.map(objectOf) : [])

export const textOf = (value: Maybe): string => (typeof value === 'string' ? value : '')

export const countOf = (value: Maybe): number | undefined => (typeof value === 'number' ? value : undefined)

/** The sum of what is told; undefined where nothing is. */
export function sumOf(...values: Maybe[]): number | undefined {
  const told = values.filter((value) => typeof value === 'number')
  return told.length === 0 ? undefined : told.reduce((sum, value) => sum + value, 0)
}

/** A piece of text, unless it is empty. */
export const said = (type: 'text' | 'reasoning', value: Maybe): readonly Piece[] =>
  typeof value === 'string' && value !== '' ? [{ type, text: value }] : []

/** An event's data; undefined where it is no JSON object: a mark like `[DONE]`, or nonsense. */
export function parseData(data: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(data)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

/** An error body; all formats keep the message in the same place. `otherwise`: where there is none. */
export function errorPiece(body: Json, otherwise: string): Piece {
  const { error, message } = objectOf(body)
  const told = textOf(objectOf(error).message) || textOf(message) || textOf(error)
  return { type: 'error', message: told || otherwise, body }
}

/** A whole input as the text that a streamed one adds up to. */
export const inputText = (value: Maybe): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)

export const dataUrl = ({ type, data }: { readonly type: string; readonly data: string }): string =>
  `data:${type};base64,${data}`

/** Tells of an error inside a stream that names none. */
export const failedWithoutWords = 'The answer ended in an error that was not explained.'
