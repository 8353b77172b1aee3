import type { JsonObject } from '../../base/json/json.ts'

/** Encodes an entry of OpenAI's model list. */
export const encodeModel = (name: string, created = 0): JsonObject => ({
  id: name,
  object: 'model',
  created,
  owned_by: 'modelgate',
})

/** Encodes the whole model list: this format has no pages. */
export const encodeModelList = (names: readonly string[], _query?: URLSearchParams, created = 0): JsonObject => ({
  object: 'list',
  data: names.map((name) => encodeModel(name, created)),
})
