import { lazy } from '../base/async.ts'
import type { ModelCardsConfig } from '../config/config.ts'
import type { ModelCardRow } from '../formats/model-card.ts'
import type { TargetCards } from './target-cards.ts'

/** The model cards of a configuration. They are loaded when they are first needed (docs/decisions/0018). */
export interface CardSource {
  /** Model lists show the prices of plugins and of the shipped table. */
  readonly showsPrices: boolean
  load(): TargetCards | Promise<TargetCards>
}

/** @param loadShippedTable returns the rows of the shipped table; none in an edition without it */
export const createCardSource = (
  { table, prices }: ModelCardsConfig = {},
  loadShippedTable: () => Promise<readonly ModelCardRow[]>,
): CardSource => ({
  showsPrices: prices === true,
  load: lazy(async () => {
    const { createTargetCards } = await import('./target-cards.ts')
    if (table === false) return createTargetCards([])
    return createTargetCards(table === undefined ? await loadShippedTable() : table.cards)
  }),
})
