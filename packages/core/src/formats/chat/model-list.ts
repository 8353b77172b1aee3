import type { JsonObject } from '../../base/json/json.ts'
import type { Modality, ModelCapabilities, ModelDescription, ModelPrice } from '../model-card.ts'

/**
 * Encodes an entry of OpenAI's model list. OpenAI's own entries have no facts about a model. Clients read them under the names that
 * OpenRouter (`context_length`, `architecture`, `supported_parameters`, `pricing`), Groq (`context_window`) and others have added.
 */
export function encodeModel(model: ModelDescription, created: number): JsonObject {
  const { id, name, contextWindow, maxInput, maxOutput, modalities, capabilities = {}, efforts, prices } = model
  const parameters = supportedParameters(capabilities)
  const pricing = encodePrices(prices ?? [])
  const { input, output } = modalities ?? {}
  return {
    id,
    object: 'model',
    created,
    owned_by: 'modelgate',
    ...(name === undefined ? {} : { name }),
    ...(contextWindow === undefined ? {} : { context_length: contextWindow, context_window: contextWindow }),
    ...(maxInput === undefined ? {} : { max_input_tokens: maxInput }),
    ...(maxOutput === undefined ? {} : { max_output_tokens: maxOutput }),
    ...(contextWindow === undefined && maxOutput === undefined
      ? {}
      : { top_provider: { context_length: contextWindow ?? null, max_completion_tokens: maxOutput ?? null } }),
    ...(input === undefined || output === undefined
      ? {}
      : {
          architecture: {
            modality: `${words(input).join('+')}->${words(output).join('+')}`,
            input_modalities: words(input),
            output_modalities: words(output),
          },
        }),
    ...(parameters === undefined ? {} : { supported_parameters: parameters }),
    ...(efforts === undefined || efforts.length === 0 ? {} : { supported_reasoning_efforts: [...efforts] }),
    ...(pricing === undefined ? {} : { pricing }),
  }
}

/** Encodes the whole model list: this format has no pages. */
export const encodeModelList = (
  names: readonly string[],
  describe: (name: string) => ModelDescription,
  _query: URLSearchParams,
  created: number,
): JsonObject => ({
  object: 'list',
  data: names.map((name) => encodeModel(describe(name), created)),
})

/** OpenRouter calls documents files. */
const words = (modalities: readonly Modality[]): string[] =>
  modalities.map((modality) => (modality === 'document' ? 'file' : modality))

/** Returns the parameters of the features. Undefined if one is unknown: clients conclude from a list that a missing one is not supported. */
function supportedParameters({ tools, structuredOutputs, reasoning }: ModelCapabilities): string[] | undefined {
  if (tools === undefined || structuredOutputs === undefined || reasoning === undefined) return undefined
  return [
    'max_tokens',
    ...(tools ? ['tools', 'tool_choice'] : []),
    ...(structuredOutputs ? ['response_format', 'structured_outputs'] : []),
    ...(reasoning ? ['reasoning', 'include_reasoning', 'reasoning_effort'] : []),
  ]
}

/** OpenRouter's names of prices, for one token. */
const tokenPrices = [
  ['input', 'prompt'],
  ['output', 'completion'],
  ['cachedInput', 'input_cache_read'],
  ['cacheWrite', 'input_cache_write'],
] as const
/** Its names of other prices, for one unit. */
const unitPrices = [
  ['image', 'image'],
  ['request', 'request'],
] as const

/** Returns the highest price of each kind that all targets have, in US dollars: the field has no currency. Undefined if it is incomplete. */
function encodePrices(prices: readonly ModelPrice[]): JsonObject | undefined {
  if (prices.length === 0 || prices.some(({ currency }) => currency !== 'USD')) return undefined
  const highest = (kind: keyof Omit<ModelPrice, 'currency'>): number | undefined => {
    const amounts = prices.flatMap((price) => price[kind] ?? [])
    return amounts.length === prices.length ? Math.max(...amounts) : undefined
  }
  const pricing: JsonObject = {}
  for (const [kind, name] of tokenPrices) {
    const amount = highest(kind)
    if (amount !== undefined) pricing[name] = decimal(amount / 1_000_000)
  }
  for (const [kind, name] of unitPrices) {
    const amount = highest(kind)
    if (amount !== undefined) pricing[name] = decimal(amount)
  }
  // Clients require both.
  return pricing.prompt === undefined || pricing.completion === undefined ? undefined : pricing
}

/** Writes a number without an exponent: `1e-7` as `0.0000001`. A price has at most nine decimal places for a million tokens. */
const decimal = (amount: number): string => {
  const digits = amount.toFixed(15)
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return digits.slice(0, digits[end - 1] === '.' ? end - 1 : end)
}
