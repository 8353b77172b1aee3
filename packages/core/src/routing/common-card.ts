import type { ModelCapabilities, ModelCard, ModelModalities } from '../formats/model-card.ts'
import type { Plan } from './router.ts'
import { mergeCards, type TargetCards } from './target-cards.ts'

/**
 * Returns the facts that hold for a model whichever of its targets responds: the smallest limits, and the content and features that all
 * targets have in common. Efforts are those that at least one target accepts. A fact that is unknown for one of the targets is unknown.
 * Facts of the plan's own card replace them. Prices are those of the plan's card.
 */
export function commonCard({ targets, card }: Pick<Plan, 'targets' | 'card'>, cards: TargetCards): ModelCard {
  const all = targets.map(cards.cardOf)
  // A target that accepts only what fits does not limit the others. If all do, the largest one limits the requests.
  const limiting = targets.filter(({ fits }) => fits !== true).map(cards.cardOf)
  const limit = limiting.length === 0 ? Math.max : Math.min
  const bounding = limiting.length === 0 ? all : limiting
  const contextWindow = known(bounding, (one) => one.contextWindow)
  const maxInput = known(bounding, (one) => one.maxInput ?? one.contextWindow)
  const maxOutput = known(all, (one) => one.maxOutput)
  const [only] = all
  return mergeCards(
    {
      ...(all.length === 1 && only?.name !== undefined ? { name: only.name } : {}),
      ...(contextWindow === undefined ? {} : { contextWindow: limit(...contextWindow) }),
      ...(maxInput === undefined || all.every((one) => one.maxInput === undefined)
        ? {}
        : { maxInput: limit(...maxInput) }),
      ...(maxOutput === undefined ? {} : { maxOutput: Math.min(...maxOutput) }),
      modalities: commonModalities(all),
      capabilities: commonCapabilities(all),
    },
    card,
  )
}

/** Returns a fact of all cards; undefined if one lacks it. */
function known<T>(cards: readonly ModelCard[], fact: (card: ModelCard) => T | undefined): readonly T[] | undefined {
  const found = cards.flatMap((card) => fact(card) ?? [])
  return found.length === cards.length && cards.length > 0 ? (found as readonly T[]) : undefined
}

function commonModalities(cards: readonly ModelCard[]): ModelModalities {
  const common: { -readonly [K in keyof ModelModalities]: ModelModalities[K] } = {}
  for (const side of ['input', 'output'] as const) {
    const lists = cards.map((card) => card.modalities?.[side])
    const [first, ...others] = lists
    if (first !== undefined && others.every((list) => list !== undefined))
      common[side] = first.filter((one) => others.every((list) => list?.includes(one)))
  }
  return common
}

const features = ['tools', 'structuredOutputs', 'caching', 'reasoning', 'reasoningBudget'] as const

function commonCapabilities(cards: readonly ModelCard[]): ModelCapabilities {
  const common: { -readonly [K in keyof ModelCapabilities]: ModelCapabilities[K] } = {}
  for (const feature of features) {
    const values = cards.map((card) => card.capabilities?.[feature])
    if (values.includes(false)) common[feature] = false
    else if (!values.includes(undefined)) common[feature] = true
  }
  // A translation sends the nearest effort to a target that accepts others.
  const efforts = cards.map((card) => card.capabilities?.efforts)
  if (efforts.every((list) => list !== undefined)) common.efforts = [...new Set(efforts.flat())]
  return common
}
