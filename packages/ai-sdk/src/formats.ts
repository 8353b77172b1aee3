/**
 * Format that a model's requests use: OpenAI's Responses API or chat completions, Anthropic's Messages API, or Google's Gemini API. The
 * gateway translates it if the upstream of the model uses another format.
 */
export type WireFormat = 'responses' | 'chat' | 'messages' | 'gemini'

/**
 * Families of model names and the format of their vendor. The SDK's provider of a vendor knows this vendor's models by name: their output
 * limits, reasoning options and structured outputs. A vendor prefix, as in `anthropic/claude-opus-5`, does not matter.
 */
const families: readonly (readonly [RegExp, WireFormat])[] = [
  [/(?:^|[/.])claude-/, 'messages'],
  [/(?:^|\/)gemini-/, 'gemini'],
]

/**
 * Returns the format for a model by its name. Names of no known family use the Responses API: chat completions of `@ai-sdk/openai` drop
 * reasoning without a warning, and `@ai-sdk/anthropic` and `@ai-sdk/google` assume limits of their own vendor's models.
 */
export const formatOfModel = (modelId: string): WireFormat =>
  families.find(([names]) => names.test(modelId))?.[1] ?? 'responses'
