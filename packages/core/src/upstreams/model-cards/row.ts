import type { ModelCapabilities, ModelCard, ModelCardRow, ModelModalities } from '../../formats/model-card.ts'

/** A catalog that is compiled from the documentation of providers. */
export const catalog = 'https://models.dev'

/** Creates a row from facts that several models share. */
export const row = (
  model: string,
  source: string,
  modalities: ModelModalities,
  capabilities: ModelCapabilities,
  limits: ModelCard,
  prices: ModelCard = {},
): ModelCardRow => ({
  model,
  ...limits,
  ...prices,
  modalities,
  capabilities,
  source,
})
