import { type CallOptions, type LanguageModel, wrapModel } from './wrap-model.ts'

/** Options of `@ai-sdk/openai` with which a call decides about stored state itself. */
const stateOptions = ['store', 'previousResponseId', 'conversation']

/** Sets `store: false` unless the call decides about stored state. */
function withoutStore(options: CallOptions): CallOptions {
  const { openai = {} } = options.providerOptions ?? {}
  if (stateOptions.some((name) => openai[name] !== undefined)) return options
  return { ...options, providerOptions: { ...options.providerOptions, openai: { ...openai, store: false } } }
}

/**
 * Wraps a model of the Responses API so that it sends complete messages. By default, the SDK refers to stored reasoning and messages by their ids:
 * a saved conversation would fail after a restart of the process, or with `responses: { store: false }`.
 */
export const stateless = (model: LanguageModel): LanguageModel => wrapModel(model, { optionsFor: withoutStore })
