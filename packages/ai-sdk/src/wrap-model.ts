import type { OpenAIProvider } from '@ai-sdk/openai'

/** A language model of AI SDK. */
export type LanguageModel = ReturnType<OpenAIProvider['responses']>
/** Options of one call to a language model. */
export type CallOptions = Parameters<LanguageModel['doGenerate']>[0]

/** Changes that `wrapModel` makes. */
interface ModelChanges {
  /** Name that the SDK reports. Default: the model's own. */
  readonly modelId?: string
  /** Returns the options of a call to the model. Default: those of the caller. */
  optionsFor?(options: CallOptions): CallOptions
}

/** Returns a language model that calls another one. */
export const wrapModel = (
  model: LanguageModel,
  { modelId = model.modelId, optionsFor = (options) => options }: ModelChanges,
): LanguageModel => ({
  specificationVersion: model.specificationVersion,
  provider: model.provider,
  modelId,
  supportedUrls: model.supportedUrls,
  doGenerate: (options) => model.doGenerate(optionsFor(options)),
  doStream: (options) => model.doStream(optionsFor(options)),
})
