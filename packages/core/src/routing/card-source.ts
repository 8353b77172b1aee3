import { lazy } from '../base/async.ts'
import type { ModelCardsConfig } from '../config/config.ts'
import type { TargetCards } from './target-cards.ts'

/** The model cards of a configuration. They are loaded when they are first needed (docs/decisions/0018). */
export interface CardSource {
  /** Model lists show the prices of plugins and of the shipped table. */
  readonly showsPrices: boolean
  load(): TargetCards | Promise<TargetCards>
}

export const createCardSource = ({ table, prices }: ModelCardsConfig = {}): CardSource => ({
  showsPrices: prices === true,
  load: lazy(async () => {
    const { createTargetCards } = await import('./target-cards.ts')
    if (table === false) return createTargetCards([])
    return createTargetCards((table ?? (await import('../upstreams/model-cards/table.ts')).modelCards).cards)
  }),
})
