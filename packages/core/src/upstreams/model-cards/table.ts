import type { ModelCardTable } from '../../formats/model-card.ts'
import { anthropicCards } from './anthropic.ts'
import { googleCards } from './google.ts'
import { openaiCards } from './openai.ts'
import { otherCards } from './other-vendors.ts'

/**
 * Cards of well-known chat models. `source` is the page where the facts of a row were read: the provider's documentation or a public
 * catalog. A fact that was not found, or on which sources disagree, is left out. `modelCards.table` of the configuration replaces the table.
 *
 * @example { table: { ...modelCards, cards: [{ model: 'my-model', contextWindow: 32_768 }, ...modelCards.cards] } }
 */
export const modelCards: ModelCardTable = {
  checked: '2026-11-28',
  cards: [...openaiCards, ...anthropicCards, ...googleCards, ...otherCards],
}
