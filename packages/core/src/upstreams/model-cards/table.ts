import type { ModelCardTable } from '../../formats/model-card.ts'
import { anthropicCards } from './anthropic.ts'
import { googleCards } from './google.ts'
import { openaiCards } from './openai.ts'
import { otherCards } from './other-vendors.ts'

/**
 * Cards of well-known chat models. Each fact was read in the provider's documentation, or in two independent catalogs that agree. A fact
 * without such a source is left out. `modelCards.table` of the configuration replaces the table.
 *
 * @example { table: { ...modelCards, cards: [{ model: 'my-model', contextWindow: 32_768 }, ...modelCards.cards] } }
 */
export const modelCards: ModelCardTable = {
  checked: '2026-11-28',
  cards: [...openaiCards, ...anthropicCards, ...googleCards, ...otherCards],
}
