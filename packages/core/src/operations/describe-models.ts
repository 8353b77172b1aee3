import { isThenable } from '../base/async.ts'
import { observedValue } from '../base/callbacks.ts'
import type { Operation, OperationName, UpstreamFormat } from '../base/names.ts'
import type { GatewayContext } from '../calls/call.ts'
import type { ModelCard, ModelDescription, ModelPrice } from '../formats/model-card.ts'
import { commonCard } from '../routing/common-card.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import type { TargetCards } from '../routing/target-cards.ts'

type Context = Pick<GatewayContext, 'router' | 'plugins' | 'logger' | 'cards'>

/** Describes models by the facts of their targets. Names without a route are left out. Calls no upstream. */
export async function describeModels(shared: Context, names: readonly string[]): Promise<readonly ModelDescription[]> {
  const describe = await modelDescriber(shared, true)
  return names.filter((name) => shared.router.has(name, null)).map(describe)
}

/**
 * Returns a function that describes one model with a route.
 *
 * @param showsPluginPrices false: prices of plugins are shown only if the configuration permits it
 */
export async function modelDescriber(
  shared: Context,
  showsPluginPrices: boolean,
): Promise<(name: string) => ModelDescription> {
  const cards = await shared.cards.load()
  return (name) => describeModel(shared, cards, name, showsPluginPrices || shared.cards.showsPrices)
}

function describeModel(shared: Context, cards: TargetCards, id: string, showsPluginPrices: boolean): ModelDescription {
  const plan = shared.router.plan(id, null)
  const { targets } = plan
  const operations = new Set(targets.flatMap(operationsOf))
  const { prices: configured, capabilities = {}, ...facts } = commonCard(plan, cards)
  const { efforts, ...features } = capabilities
  const prices = configured === undefined ? pricesOf(shared, cards, targets, showsPluginPrices) : [toPrice(configured)]
  return {
    id,
    operations: [...operations],
    ...(efforts === undefined ? {} : { efforts }),
    ...facts,
    ...(Object.keys(features).length === 0 ? {} : { capabilities: features }),
    ...(prices.length === 0 ? {} : { prices }),
  }
}

/**
 * Operations of models whose names say what they do; the first match applies. Providers offer all their operations at one address, so an
 * upstream alone does not tell an embedding model from a chat model.
 */
const namedOperations: readonly (readonly [name: RegExp, operations: readonly (OperationName | 'generate')[]])[] = [
  [/rerank/, ['rerank']],
  [/embed|^voyage-|(?:^|\/)bge-/, ['embeddings']],
  [/moderation/, ['moderations']],
  [/transcribe|whisper/, ['transcriptions', 'translations']],
  [/(?:^|[-/])(?:tts|speech)(?:-|$)/, ['speech']],
  // Gemini's image models chat too.
  [/(?:^|[-/])gemini-[\d.]+-(?:[a-z]+-){0,3}image(?:-|$)/, ['generate', 'images', 'image-edits']],
  [
    /(?:^|[-/])image(?:-|$)|(?:^|\/)(?:dall-e|imagen|flux|stable-diffusion|recraft)/,
    ['images', 'image-edits', 'image-variations'],
  ],
  [/realtime/, ['realtime-sessions']],
  [/(?:babbage|davinci)-00|-instruct-(?:0914)?$|3\.5-turbo-instruct/, ['completions']],
]

/** Returns the operations that a model's name states; undefined for names that state none. */
export const operationsNamedBy = (model: string): readonly (OperationName | 'generate')[] | undefined => {
  const name = model.toLowerCase()
  return namedOperations.find(([pattern]) => pattern.test(name))?.[1]
}

/** Chat families, whose models do not support the other operations of their provider. */
const chatNames =
  /(?:^|[-/.])(?:chat(?:-|$)|gpt-\d|chatgpt|o\d|claude|gemini|grok|deepseek|command|mistral|magistral|llama|qwen|sonar)/

function operationsOf({ upstream, model }: ResolvedTarget): readonly Operation[] {
  const name = model.toLowerCase()
  const offered = Object.keys(upstream.operations ?? {}) as OperationName[]
  const formats = Object.keys(upstream.formats) as UpstreamFormat[]
  const chats = formats.some((format) => upstream.serves?.(format, model) ?? true)
  const named = operationsNamedBy(model)?.filter((one) => (one === 'generate' ? chats : offered.includes(one)))
  if (named !== undefined && named.length > 0) return named
  if (!chats) return offered
  return chatNames.test(name) ? ['generate'] : ['generate', ...offered]
}

/** Returns the different prices of the targets: configured ones, else those of the first plugin that knows them, else those of the table. */
function pricesOf(
  shared: Context,
  cards: TargetCards,
  targets: readonly ResolvedTarget[],
  showsPluginPrices: boolean,
): readonly ModelPrice[] {
  const prices = new Map<string, ModelPrice>()
  for (const target of targets) {
    const configured = cards.cardOf(target).prices
    const known = configured ?? (shared.cards.showsPrices ? cards.tablePricesOf(target) : undefined)
    const price =
      configured === undefined && showsPluginPrices
        ? (pluginPriceOf(shared, target) ?? (known && toPrice(known)))
        : known && toPrice(known)
    if (price !== undefined) prices.set(JSON.stringify(price), price)
  }
  return [...prices.values()]
}

const toPrice = ({ currency = 'USD', ...amounts }: NonNullable<ModelCard['prices']>): ModelPrice => ({
  currency,
  ...amounts,
})

function pluginPriceOf({ plugins, logger }: Context, target: ResolvedTarget): ModelPrice | undefined {
  const { upstreamName: upstream, model } = target
  for (const plugin of plugins) {
    if (plugin.priceOf === undefined) continue
    const price = observedValue(logger, 'priceOf', () => checkedPrice(plugin.priceOf?.({ upstream, model })), plugin)
    if (price !== undefined) return price
  }
  return undefined
}

const amounts = ['input', 'output', 'cachedInput', 'cacheWrite', 'image', 'minute', 'characters', 'request'] as const

/** Copies the known fields of a price. Throws a TypeError for anything else. */
function checkedPrice(price: unknown): ModelPrice | undefined {
  // `observedValue` reports a promise.
  if (price === undefined || price === null || isThenable(price)) return price as undefined
  const given = price as { readonly [name: string]: unknown }
  if (typeof given.currency !== 'string')
    throw new TypeError("it returned no price: return { currency: 'USD', input: 1.25 }")
  const known = amounts.flatMap((name) => {
    const amount = given[name]
    return typeof amount === 'number' && amount >= 0 && Number.isFinite(amount) ? [[name, amount] as const] : []
  })
  return { currency: given.currency, ...Object.fromEntries(known) }
}
