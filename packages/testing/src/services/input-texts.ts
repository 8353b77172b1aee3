import type { Json } from '../base/json.ts'
import { asList } from '../base/json.ts'
import { countTokens } from '../base/tokens.ts'

/** An input of an operation that accepts texts or tokens. */
export interface InputText {
  readonly text: string
  readonly tokens: number
}

const ofTokens = (tokens: readonly Json[]): InputText => ({ text: tokens.join(' '), tokens: tokens.length })
const ofText = (text: string): InputText => ({ text, tokens: countTokens(text) })

/** Splits a text, texts, tokens or lists of tokens into inputs. Tokens are read as words. */
export function inputTexts(input: Json | undefined): InputText[] {
  if (typeof input === 'string') return [ofText(input)]
  const list = asList(input)
  if (list.length > 0 && list.every((item) => typeof item === 'number')) return [ofTokens(list)]
  return list.map((item) => (typeof item === 'string' ? ofText(item) : ofTokens(asList(item))))
}

const isTokens = (list: readonly Json[]): boolean =>
  list.length > 0 && list.every((item) => typeof item === 'number' && Number.isInteger(item) && item >= 0)

/** Returns true if the value is a valid input; empty inputs are valid only with `empty`. */
export function isValidInput(input: Json | undefined, empty = false): boolean {
  const isText = (item: Json): boolean => typeof item === 'string' && (empty || item !== '')
  if (typeof input === 'string') return isText(input)
  if (!Array.isArray(input) || input.length === 0) return false
  return (
    isTokens(input) ||
    input.every(isText) ||
    input.every((item) => Array.isArray(item) && item.length > 0 && isTokens(item))
  )
}
