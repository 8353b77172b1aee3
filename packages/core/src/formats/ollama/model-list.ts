import type { JsonObject } from '../../base/json/json.ts'
import type { ModelDescription } from '../model-card.ts'

/** The tag of names without one. Open WebUI and others add it, and look up the whole name in the list. */
const defaultTag = ':latest'

const tagged = (name: string): string => (name.includes(':') ? name : name + defaultTag)

const dateOf = (created: number): string => new Date(created * 1000).toISOString()

/** Facts about the files of a model, which the gateway does not have. Clients require the members. */
function detailsOf({ contextWindow }: ModelDescription): JsonObject {
  const details: JsonObject = {
    parent_model: '',
    format: '',
    family: '',
    families: [],
    parameter_size: '',
    quantization_level: '',
  }
  if (contextWindow !== undefined) details.context_length = contextWindow
  return details
}

/** Returns the names of known features. */
function capabilitiesOf({ operations, modalities, capabilities }: ModelDescription): string[] {
  const known: readonly (readonly [name: string, isKnown: boolean | undefined])[] = [
    ['completion', operations.includes('generate')],
    ['embedding', operations.includes('embeddings')],
    ['tools', capabilities?.tools],
    ['thinking', capabilities?.reasoning],
    ['vision', modalities?.input?.includes('image')],
    ['audio', modalities?.input?.includes('audio')],
  ]
  return known.flatMap(([name, isKnown]) => (isKnown === true ? [name] : []))
}

/** Encodes the whole list (`/api/tags`): this format has no pages. */
export const encodeModelList = (
  names: readonly string[],
  describe: (name: string) => ModelDescription,
  _query: URLSearchParams,
  created: number,
): JsonObject => ({
  models: names.map((name) => {
    const model = describe(name)
    return {
      name: tagged(name),
      model: tagged(name),
      modified_at: dateOf(created),
      size: 0,
      digest: '',
      details: detailsOf(model),
      capabilities: capabilitiesOf(model),
    }
  }),
})

/** Clients find the context length under the name of the model's architecture. */
const architecture = 'modelgate'

/** Encodes the facts about one model (`/api/show`). */
export function encodeModel(model: ModelDescription, created: number): JsonObject {
  const { contextWindow } = model
  return {
    modelfile: '',
    parameters: '',
    template: '',
    details: detailsOf(model),
    model_info:
      contextWindow === undefined
        ? {}
        : { 'general.architecture': architecture, [`${architecture}.context_length`]: contextWindow },
    capabilities: capabilitiesOf(model),
    modified_at: dateOf(created),
  }
}
