import { isThenable } from '../base/async.ts'
import { observedValue } from '../base/callbacks.ts'
import type { Operation, OperationName, UpstreamFormat } from '../base/names.ts'
import type { GatewayContext } from '../calls/call.ts'
import type { ModelDescription, ModelPrice } from '../config/model-description.ts'
import type { Effort } from '../formats/ir.ts'
import { findModelRule } from '../formats/shared/model-rules.ts'
import type { ResolvedTarget } from '../routing/router.ts'

type Context = Pick<GatewayContext, 'router' | 'plugins' | 'logger'>

/** Describes models by the facts of their targets. Names without a route are left out. Calls no upstream. */
export const describeModels = (shared: Context, names: readonly string[]): readonly ModelDescription[] =>
  names.filter((name) => shared.router.has(name, null)).map((name) => describeModel(shared, name))

function describeModel(shared: Context, id: string): ModelDescription {
  const { targets } = shared.router.plan(id, null)
  const operations = new Set(targets.flatMap(operationsOf))
  const rules = targets.map(({ upstream, model }) => findModelRule(upstream.modelRules, model))
  const efforts = rules.flatMap((rule) => rule?.efforts ?? [])
  const windows = rules.flatMap((rule) => rule?.contextWindow ?? [])
  const prices = pricesOf(shared, targets)
  return {
    id,
    operations: [...operations],
    // A target without a rule may accept any effort.
    ...(rules.every((rule) => rule?.efforts !== undefined) ? { efforts: [...new Set<Effort>(efforts)] } : {}),
    // The window of a target without one may be smaller.
    ...(windows.length === targets.length ? { contextWindow: Math.min(...windows) } : {}),
    ...(prices.length === 0 ? {} : { prices }),
  }
}

/**
 * Operations of models whose names say what they do; the first match applies. Providers offer all their operations at one address, so an
 * upstream alone does not tell an embedding model from a chat model.
 */
const namedOperations: readonly (readonly [name: RegExp, operations: readonly OperationName[]])[] = [
  [/rerank/, ['rerank']],
  [/embed|^voyage-|(?:^|\/)bge-/, ['embeddings']],
  [/moderation/, ['moderations']],
  [/transcribe|whisper/, ['transcriptions', 'translations']],
  [/(?:^|[-/])tts(?:-|$)/, ['speech']],
  [
    /(?:^|\/)(?:gpt-image|chatgpt-image|dall-e|imagen|flux|stable-diffusion|recraft)/,
    ['images', 'image-edits', 'image-variations'],
  ],
  [/realtime/, ['realtime-sessions']],
  [/(?:babbage|davinci)-00|-instruct-(?:0914)?$|3\.5-turbo-instruct/, ['completions']],
]

/** Chat families, whose models do not support the other operations of their provider. */
const chatNames =
  /(?:^|[/.])(?:gpt-\d|chatgpt|o\d|claude|gemini|grok|deepseek|command|mistral|magistral|llama|qwen|sonar)/

function operationsOf({ upstream, model }: ResolvedTarget): readonly Operation[] {
  const name = model.toLowerCase()
  const offered = Object.keys(upstream.operations ?? {}) as OperationName[]
  const formats = Object.keys(upstream.formats) as UpstreamFormat[]
  const chats = formats.some((format) => upstream.serves?.(format, model) ?? true)
  const named = namedOperations.find(([pattern]) => pattern.test(name))?.[1].filter((one) => offered.includes(one))
  if (named !== undefined && named.length > 0) return named
  if (!chats) return offered
  return chatNames.test(name) ? ['generate'] : ['generate', ...offered]
}

/** Returns the different prices of the targets, as the first plugin that knows each one reports it. */
function pricesOf({ plugins, logger }: Context, targets: readonly ResolvedTarget[]): readonly ModelPrice[] {
  const prices = new Map<string, ModelPrice>()
  for (const { upstreamName, model } of targets)
    for (const plugin of plugins) {
      if (plugin.priceOf === undefined) continue
      const target = { upstream: upstreamName, model }
      const price = observedValue(logger, 'priceOf', () => checkedPrice(plugin.priceOf?.(target)), plugin)
      if (price === undefined) continue
      prices.set(JSON.stringify(price), price)
      break
    }
  return [...prices.values()]
}

const amounts = ['input', 'output', 'cachedInput', 'image', 'minute', 'characters', 'request'] as const

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
