import type { JsonObject } from '../ir.ts'

/** A model as OpenAI lists it. When it was made is not known: 0. */
export const encodeModel = (name: string): JsonObject => ({
  id: name,
  object: 'model',
  created: 0,
  owned_by: 'modelgate',
})

/** Always the whole list: this dialect has no pages. */
export const encodeModelList = (names: readonly string[]): JsonObject => ({
  object: 'list',
  data: names.map(encodeModel),
})
