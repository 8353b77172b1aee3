import type { TargetTraits } from '../codec.ts'
import type { ThinkingLevel } from './fields.ts'

/** The capabilities of a model family. All facts about Google's models stand in this file. */
export interface ModelTraits {
  /** How a request controls thinking: not at all, by a budget in tokens, or by a level (a budget is accepted too). */
  readonly thinking: 'none' | 'budget' | 'level'
  /** Accepted levels, lowest first. */
  readonly levels: readonly ThinkingLevel[]
  /** Limits of a budget, in tokens. A minimum of 0 means that thinking can be disabled. */
  readonly budget?: readonly [least: number, most: number]
  /** The model rejects function calls of the current turn without a thought signature. */
  readonly requiresSignedCalls: boolean
  /** Function responses may hold media. */
  readonly acceptsMediaInResponses: boolean
}

const noThinking: ModelTraits = {
  thinking: 'none',
  levels: [],
  requiresSignedCalls: false,
  acceptsMediaInResponses: false,
}
const budget = (least: number, most: number): ModelTraits => ({
  ...noThinking,
  thinking: 'budget',
  budget: [least, most],
})
const gemini3: ModelTraits = {
  thinking: 'level',
  levels: ['low', 'medium', 'high'],
  requiresSignedCalls: true,
  acceptsMediaInResponses: true,
}
const gemini3Flash: ModelTraits = { ...gemini3, levels: ['minimal', 'low', 'medium', 'high'] }

/** The first matching prefix applies. */
const families: readonly (readonly [prefix: string, traits: ModelTraits])[] = [
  ['gemini-1', noThinking],
  ['gemini-2.0-flash-thinking', { ...noThinking, thinking: 'budget' }],
  ['gemini-2.0', noThinking],
  ['gemini-2.5-flash-image', noThinking],
  ['gemini-2.5-flash-lite', budget(0, 24_576)],
  ['gemini-2.5-flash', budget(0, 24_576)],
  ['gemini-2.5-pro', budget(128, 32_768)],
  ['gemini-2', { ...noThinking, thinking: 'budget' }],
  ['gemini-3-flash', gemini3Flash],
  ['gemini-3.1-flash', gemini3Flash],
  ['gemini-3-pro', { ...gemini3, levels: ['low', 'high'] }],
  ['gemini-3.1-pro', gemini3],
  ['gemini-3', gemini3Flash],
  ['gemini-flash', gemini3Flash],
  ['gemini-pro', gemini3],
  ['gemini-', gemini3Flash],
  ['gemma', noThinking],
  ['learnlm', noThinking],
]

/** Any other name is an alias of an unknown model, which gets every setting as the client wrote it. */
const unknownModel: ModelTraits = { ...gemini3Flash, budget: [0, Number.MAX_SAFE_INTEGER], requiresSignedCalls: false }

/** Returns the capabilities of a model by its name, with or without a path in front. */
export function modelTraits({ model }: Pick<TargetTraits, 'model'>): ModelTraits {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase()
  return families.find(([prefix]) => name.startsWith(prefix))?.[1] ?? unknownModel
}
