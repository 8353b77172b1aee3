import type { JsonObject } from '../../base/json/json.ts'
import type { Modality, ModelDescription } from '../model-card.ts'

/** Returns one entry of Bedrock's list of foundation models. */
const modelSummary = ({ id, name, operations, modalities }: ModelDescription): JsonObject => ({
  modelArn: `arn:aws:bedrock:::foundation-model/${id}`,
  modelId: id,
  modelName: name ?? id,
  providerName: 'Modelgate',
  inputModalities: namesOf(modalities?.input),
  outputModalities: operations.includes('embeddings') ? ['EMBEDDING'] : namesOf(modalities?.output),
  responseStreamingSupported: operations.includes('generate'),
  customizationsSupported: [],
  inferenceTypesSupported: ['ON_DEMAND'],
  modelLifecycle: { status: 'ACTIVE' },
})

/** Bedrock names text and images only. */
const namesOf = (modalities: readonly Modality[] = ['text']): string[] =>
  (['text', 'image'] as const).filter((one) => modalities.includes(one)).map((one) => one.toUpperCase())

/** Encodes the response of `GET /foundation-models/{id}`. */
export const encodeModel = (model: ModelDescription): JsonObject => ({ modelDetails: modelSummary(model) })

/** Encodes the response of `GET /foundation-models`, which has no pages. */
export const encodeModelList = (
  names: readonly string[],
  describe: (name: string) => ModelDescription,
): JsonObject => ({ modelSummaries: names.map((name) => modelSummary(describe(name))) })
