import type { JsonObject } from '../ir.ts'

/** A model as Anthropic lists it. An unknown release date is written as the epoch, by Anthropic's own convention. */
export const encodeModel = (name: string): JsonObject => ({
  type: 'model',
  id: name,
  display_name: name,
  created_at: '1970-01-01T00:00:00Z',
})

/** The whole list is one page. */
export const encodeModelList = (names: readonly string[]): JsonObject => ({
  data: names.map(encodeModel),
  has_more: false,
  first_id: names[0] ?? null,
  last_id: names.at(-1) ?? null,
})
