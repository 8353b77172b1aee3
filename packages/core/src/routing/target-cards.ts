import type { TokenCounting } from '../accounting/call-record.ts'
import { type EstimatedRequest, estimateRequest } from '../accounting/estimate-request.ts'
import { type ContextSize, GatewayError } from '../base/errors.ts'
import type { ModelCapabilities, ModelCard, ModelCardPrices, ModelCardRow } from '../formats/model-card.ts'
import type { RequestBody } from '../formats/request-body.ts'
import { findModelRule } from '../formats/shared/model-rules.ts'
import type { ModelRule } from '../formats/target-traits.ts'
import { findCard } from '../upstreams/model-cards/find-card.ts'
import type { Plan, ResolvedTarget } from './router.ts'

/** The cards of targets. */
export interface TargetCards {
  /** Returns the known facts of a target: those of its own card, of its upstream's rules, then of the table. Prices are configured ones. */
  cardOf(target: ResolvedTarget): ModelCard
  /** Returns the prices of the table. */
  tablePricesOf(target: ResolvedTarget): ModelCardPrices | undefined
  /** Returns by how much a request is too large for a target; undefined: it fits, or the target's limits are unknown. */
  excessOf(target: ResolvedTarget, plan: Pick<Plan, 'card'>, size: EstimatedRequest): ContextSize | undefined
  /**
   * Returns the targets with `when: 'fits'` that a request does not fit, each with the error for it. The target that accepts the most
   * tokens comes first.
   *
   * @param counted how the operation's tokens are counted. Undefined: it has none, or only counts them, and fits every target
   */
  tooSmall(
    targets: readonly ResolvedTarget[],
    plan: Pick<Plan, 'card'>,
    counted: TokenCounting | undefined,
    request: RequestBody,
  ): ReadonlyMap<ResolvedTarget, GatewayError>
}

/** Percentage that is added to the estimate of the input tokens: the upstream would reject a request that is larger than estimated. */
const marginPercent = 10

/** Output tokens that are reserved if the request has no limit. */
const defaultReserve = 4096

/** @param rows the table; the cards of targets and the rules of upstreams precede it */
export function createTargetCards(rows: readonly ModelCardRow[]): TargetCards {
  const known = new WeakMap<
    ResolvedTarget,
    { readonly card: ModelCard; readonly prices: ModelCardPrices | undefined }
  >()
  const resolve = (target: ResolvedTarget) => {
    const found = known.get(target)
    if (found !== undefined) return found
    const { upstream, model, card } = target
    const rule = findModelRule(upstream.modelRules, model)
    const row =
      findCard(rows, model, upstream.baseURL) ??
      (rule?.like === undefined ? undefined : findCard(rows, rule.like, upstream.baseURL))
    const { prices, ...facts } = row === undefined ? noCard : cardOfRow(row)
    const resolved = { card: mergeCards(facts, cardOfRule(rule), rule?.card, card), prices }
    known.set(target, resolved)
    return resolved
  }
  const excessOf: TargetCards['excessOf'] = (target, plan, size) =>
    excessOver(mergeCards(limitsOf(plan.card), resolve(target).card), size)
  return {
    cardOf: (target) => resolve(target).card,
    tablePricesOf: (target) => resolve(target).prices,
    excessOf,
    tooSmall(targets, plan, counted, request) {
      if (counted === undefined) return new Map()
      const size = estimateRequest(counted, request)
      const found = targets.flatMap((target) => {
        const excess = target.fits === true ? excessOf(target, plan, size) : undefined
        return excess === undefined ? [] : [{ target, excess }]
      })
      found.sort((a, b) => b.excess.limit - a.excess.limit)
      return new Map(found.map(({ target, excess }) => [target, contextLengthError(excess)]))
    },
  }
}

const noCard: ModelCard = {}

const cardOfRow = ({ model: _, host: _host, source: _source, ...card }: ModelCardRow): ModelCard => card

/** Returns the limits of a card alone. */
const limitsOf = ({ contextWindow, maxInput, maxOutput }: ModelCard = noCard): ModelCard =>
  defined({ contextWindow, maxInput, maxOutput })

function cardOfRule(rule: ModelRule | undefined): ModelCard {
  if (rule === undefined) return noCard
  const { contextWindow, efforts } = rule
  return { ...defined({ contextWindow }), ...(efforts === undefined ? {} : { capabilities: { efforts } }) }
}

/** Combines cards. Facts of later ones replace those of earlier ones. A later context window also replaces limits that depend on it. */
export function mergeCards(...cards: readonly (ModelCard | undefined)[]): ModelCard {
  let merged: ModelCard = noCard
  for (const card of cards)
    if (card !== undefined) {
      const { modalities: content = {}, capabilities: features, ...facts } = card
      const modalities = { ...merged.modalities, ...defined(content) }
      const capabilities = { ...merged.capabilities, ...impliedBy(features) }
      merged = {
        ...(facts.contextWindow === undefined ? merged : withinWindow(merged, facts.contextWindow)),
        ...defined(facts),
        ...(Object.keys(modalities).length === 0 ? {} : { modalities }),
        ...(Object.keys(capabilities).length === 0 ? {} : { capabilities }),
      }
    }
  return merged
}

/** Leaves out limits that are not those of a context window: its input limit, and an output limit above it. */
function withinWindow({ maxInput: _, maxOutput, ...card }: ModelCard, contextWindow: number): ModelCard {
  return maxOutput === undefined || maxOutput > contextWindow ? card : { ...card, maxOutput }
}

/** Adds what efforts and reasoning say about each other: no effort means no reasoning. */
function impliedBy(given: ModelCapabilities = {}): ModelCapabilities {
  const { efforts, reasoning } = given
  return defined({
    ...given,
    reasoning: reasoning ?? (efforts === undefined ? undefined : efforts.length > 0),
    efforts: efforts ?? (reasoning === false ? [] : undefined),
  })
}

/** Leaves out members that are undefined, so that they do not replace others. */
const defined = <T extends object>(given: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }

function excessOver(
  { contextWindow, maxInput, maxOutput }: ModelCard,
  size: EstimatedRequest,
): ContextSize | undefined {
  const input = Math.ceil((size.input * (100 + marginPercent)) / 100)
  const inputLimit = maxInput ?? contextWindow
  if (inputLimit !== undefined && input > inputLimit) return { input, output: 0, limit: inputLimit }
  // A model whose input limit equals its window has a limit of its own for the output.
  if (contextWindow === undefined || maxInput === contextWindow) return undefined
  const output = Math.min(size.output ?? defaultReserve, maxOutput ?? Number.POSITIVE_INFINITY)
  return input + output > contextWindow ? { input, output, limit: contextWindow } : undefined
}

/** The message has OpenAI's form. The codecs of other formats write their own from the numbers. */
function contextLengthError(contextSize: ContextSize): GatewayError {
  const { input, output, limit } = contextSize
  const needed =
    output === 0
      ? `your messages resulted in about ${input} tokens. Please reduce the length of the messages.`
      : `you requested about ${input + output} tokens (${input} in the messages, ${output} in the completion). Please reduce the length of the messages or completion.`
  return new GatewayError(
    'context_length_exceeded',
    `This model's maximum context length is ${limit} tokens. However, ${needed}`,
    { contextSize },
  )
}
