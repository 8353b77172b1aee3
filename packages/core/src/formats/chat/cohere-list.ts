import { isObject, type JsonObject } from '../../base/json/json.ts'
import type { ModelDescription } from '../model-card.ts'

/** Cohere's names of operations. */
const endpoints = [
  ['generate', 'chat'],
  ['embeddings', 'embed'],
  ['rerank', 'rerank'],
] as const

type Describe = (name: string) => ModelDescription

/** Returns a model list as Cohere's clients read it. The query may ask for the models of one endpoint. */
export function toCohereList({ data }: JsonObject, describe: Describe, query: URLSearchParams): JsonObject {
  const wanted = query.get('endpoint')
  const entries = Array.isArray(data) ? data.filter(isObject) : []
  const models = entries.flatMap(({ id }) => (typeof id === 'string' ? [modelOf(describe(id))] : []))
  return { models: models.filter((model) => wanted === null || model.endpoints.includes(wanted)) }
}

/** Returns one entry. */
export const toCohereModel = (_entry: JsonObject, model: ModelDescription): JsonObject => modelOf(model)

const modelOf = ({ id, operations, contextWindow }: ModelDescription) => ({
  name: id,
  is_deprecated: false,
  endpoints: endpoints.flatMap(([operation, name]): string[] => (operations.includes(operation) ? [name] : [])),
  finetuned: false,
  ...(contextWindow === undefined ? {} : { context_length: contextWindow }),
})
