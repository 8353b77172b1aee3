import { isObject, type JsonObject } from '../../base/json/json.ts'

/** Changes a list of the Gemini API to one of Vertex AI, whose entries have the same fields. */
export const toPublisherList = ({ models, ...others }: JsonObject): JsonObject => ({
  publisherModels: (Array.isArray(models) ? models : []).filter(isObject).map(toPublisherModel),
  ...others,
})

/** Vertex AI names a model by its publisher: a client that reads `models/…` would call a model of its own project. */
export const toPublisherModel = ({ name, ...others }: JsonObject): JsonObject => {
  const [, publisher = 'google', plain = ''] = /^models\/(?:([^/]+)\/)?(.+)$/s.exec(String(name)) ?? []
  return { name: `publishers/${publisher}/models/${plain}`, ...others }
}
