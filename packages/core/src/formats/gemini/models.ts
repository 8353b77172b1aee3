import type { TargetTraits } from '../codec.ts'
import type { Level } from './fields.ts'

/** The capabilities of a model family. All facts about Google's models stand in this file. */
export interface ModelTraits {
  /** How a request controls thinking: not at all, by a budget in tokens, or by a level (a budget is accepted too). */
  readonly thinking: 'none' | 'budget' | 'level'
  /** Accepted levels, lowest first. */
  readonly levels: readonly Level[]
  /** Limits of a budget, in tokens. A minimum of 0 means that thinking can be disabled. */
  readonly budget?: readonly [least: number, most: number]
  /** The model rejects function calls of the current turn without a thought signature. */
  readonly signedCalls: boolean
  /** Function responses may hold media. */
  readonly mediaInResponses: boolean
}

const plain: ModelTraits = { thinking: 'none', levels: [], signedCalls: false, mediaInResponses: false }
const budget = (least: number, most: number): ModelTraits => ({ ...plain, thinking: 'budget', budget: [least, most] })
const three: ModelTraits = {
  thinking: 'level',
  levels: ['low', 'medium', 'high'],
  signedCalls: true,
  mediaInResponses: true,
}
const threeFlash: ModelTraits = { ...three, levels: ['minimal', 'low', 'medium', 'high'] }

/** The first matching prefix applies. */
const families: readonly (readonly [prefix: string, traits: ModelTraits])[] = [
  ['gemini-1', plain],
  ['gemini-2.0-flash-thinking', { ...plain, thinking: 'budget' }],
  ['gemini-2.0', plain],
  ['gemini-2.5-flash-image', plain],
  ['gemini-2.5-flash-lite', budget(0, 24_576)],
  ['gemini-2.5-flash', budget(0, 24_576)],
  ['gemini-2.5-pro', budget(128, 32_768)],
  ['gemini-2', { ...plain, thinking: 'budget' }],
  ['gemini-3-flash', threeFlash],
  ['gemini-3.1-flash', threeFlash],
  ['gemini-3-pro', { ...three, levels: ['low', 'high'] }],
  ['gemini-3.1-pro', three],
  ['gemini-3', threeFlash],
  ['gemini-flash', threeFlash],
  ['gemini-pro', three],
  ['gemini-', threeFlash],
  ['gemma', plain],
  ['learnlm', plain],
]

/** Any other name is an alias of an unknown model, which gets every setting as the client wrote it. */
const unknown: ModelTraits = { ...threeFlash, budget: [0, Number.MAX_SAFE_INTEGER], signedCalls: false }

export function modelTraits({ model }: Pick<TargetTraits, 'model'>): ModelTraits {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase()
  return families.find(([prefix]) => name.startsWith(prefix))?.[1] ?? unknown
}
