import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import type { ModelDescription } from '../model-card.ts'

/** Adds the members that Mistral's own client requires of a model list. */
export const toMistralList = (list: JsonObject, describe: (name: string) => ModelDescription): JsonObject => ({
  ...list,
  data: Array.isArray(list.data)
    ? list.data.filter(isObject).map((entry) => toMistralModel(entry, describe(String(entry.id))))
    : [],
})

/** Adds them to one entry. Facts that are not known are left out: the client has defaults. */
export const toMistralModel = (entry: JsonObject, { operations }: ModelDescription): JsonObject => ({
  ...entry,
  type: 'base',
  capabilities: { completion_chat: operations.includes('generate'), ...capabilitiesOf(entry) },
  ...(entry.context_length === undefined ? {} : { max_context_length: entry.context_length }),
})

function capabilitiesOf({ supported_parameters: parameters, architecture }: JsonObject): JsonObject {
  const inputs = isObject(architecture) ? listed(architecture.input_modalities) : undefined
  const known = listed(parameters)
  return {
    ...(known === undefined
      ? {}
      : { function_calling: known.includes('tools'), reasoning: known.includes('reasoning') }),
    ...(inputs === undefined ? {} : { vision: inputs.includes('image'), audio: inputs.includes('audio') }),
  }
}

const listed = (list: Json | undefined): readonly Json[] | undefined => (Array.isArray(list) ? list : undefined)
