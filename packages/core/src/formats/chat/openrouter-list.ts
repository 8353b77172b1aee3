import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'

/**
 * Adds the members that OpenRouter's own client requires of a model list: it rejects the whole list if an entry lacks one. Unknown facts
 * are null or empty. `-1` is OpenRouter's price of models whose price is not fixed.
 */
export const toOpenRouterList = (list: JsonObject): JsonObject => {
  const data = Array.isArray(list.data) ? list.data.filter(isObject).map(toOpenRouterModel) : []
  return { ...list, data, links: { next: null }, total_count: data.length }
}

/** Adds the required members to one entry. */
export const toOpenRouterModel = (entry: JsonObject): JsonObject => ({
  canonical_slug: textOf(entry.id),
  name: textOf(entry.id),
  context_length: null,
  architecture: { modality: null, input_modalities: [], output_modalities: [] },
  pricing: { prompt: '-1', completion: '-1' },
  supported_parameters: [],
  default_parameters: null,
  per_request_limits: null,
  supported_voices: null,
  links: { details: `/api/v1/models/${textOf(entry.id)}` },
  ...entry,
  // The gateway itself does not moderate.
  top_provider: { is_moderated: false, ...(isObject(entry.top_provider) ? entry.top_provider : {}) },
})

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
