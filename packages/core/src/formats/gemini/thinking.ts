import { isObject, type JsonObject, put } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type { ModelRequest, Nothing, Reasoning } from '../ir.ts'
import { drop, leftover, putBack, takeBoolean, takeNumber, takeObject, type Unread } from '../shared/json-fields.ts'
import { fieldPointer, loss } from '../shared/report.ts'
import { effortOfLevel, type ThinkingLevel } from './fields.ts'
import type { ModelTraits } from './models.ts'
import { copyInCamelCase } from './spelling.ts'

/** Decodes `thinkingConfig`, and leaves unknown members in `fields`. */
export function decodeThinking(fields: Unread): Reasoning | undefined {
  const config = takeObject(fields, 'thinkingConfig')
  if (config === undefined) return undefined
  const inner = copyInCamelCase(config)
  const reasoning: Reasoning = {}
  if (typeof inner.thinkingLevel === 'string') {
    const level = effortOfLevel(inner.thinkingLevel)
    if (level !== undefined) reasoning.effort = level
    if (level !== undefined || inner.thinkingLevel.toUpperCase() === 'THINKING_LEVEL_UNSPECIFIED')
      drop(inner, 'thinkingLevel')
  }
  const budget = takeNumber(inner, 'thinkingBudget')
  if (budget === 0) reasoning.off = true
  else if (budget !== undefined && budget < 0) reasoning.adaptive = true
  else put(reasoning, 'budgetTokens', budget)
  // This format hides thoughts by default.
  reasoning.summary = takeBoolean(inner, 'includeThoughts') === true ? 'auto' : 'none'
  const rest = leftover(inner)
  if (rest !== undefined) putBack(fields, 'thinkingConfig', rest)
  return reasoning.summary === 'none' && Object.keys(reasoning).length === 1 ? undefined : reasoning
}

/** Budgets in tokens for each effort, as in Google's OpenAI-compatible endpoint. */
const budgets = {
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 24_576,
  max: 32_768,
} as const satisfies Record<string, number>

/** Writes `thinkingConfig` as the model accepts it, and reports approximations. */
export function encodeThinking(
  reasoning: Reasoning,
  generation: JsonObject,
  request: ModelRequest,
  traits: ModelTraits,
  context: CodecContext,
): void {
  const { effort, budgetTokens, adaptive, off, summary, ...rest } = reasoning
  rest satisfies Nothing
  const { report } = context
  const at = (field: keyof Reasoning): string => fieldPointer(`reasoning.${field}`, request.at, undefined)
  const config: JsonObject = { ...(isObject(generation.thinkingConfig) ? generation.thinkingConfig : undefined) }
  const isDisabled = off === true || effort === 'none'
  const isThinkingRequested = effort !== undefined || budgetTokens !== undefined || adaptive === true

  if (traits.thinking === 'none') {
    if (isThinkingRequested && !isDisabled)
      report.add(
        loss(
          at(budgetTokens !== undefined ? 'budgetTokens' : effort === undefined ? 'adaptive' : 'effort'),
          'the model cannot think',
        ),
      )
    if (summary !== undefined && summary !== 'none' && !isDisabled)
      report.add(loss(at('summary'), 'the model has no thoughts to show', 'unsupported', 'note'))
    return
  }
  if (isDisabled) disableThinking(config, traits, at(off ? 'off' : 'effort'), context)
  else if (budgetTokens !== undefined && (traits.thinking === 'budget' || effort === undefined)) {
    config.thinkingBudget = clampBudget(budgetTokens, traits, at('budgetTokens'), context)
    if (effort !== undefined)
      report.add(loss(at('effort'), 'the budget takes precedence; the effort is not sent', 'unsupported', 'note'))
  } else if (effort !== undefined) {
    if (budgetTokens !== undefined)
      report.add(loss(at('budgetTokens'), 'the effort takes precedence; the budget is not sent', 'unsupported', 'note'))
    if (traits.thinking === 'level') config.thinkingLevel = nearestLevel(effort, traits, at('effort'), context)
    else {
      const tokens = clampBudget(budgets[effort as keyof typeof budgets], traits, at('effort'), context)
      config.thinkingBudget = tokens
      report.add(
        loss(at('effort'), `the model accepts a budget only: ${tokens} tokens are sent`, 'approximated', 'note'),
      )
    }
  } else if (adaptive) config.thinkingBudget = -1
  if (summary === undefined ? isThinkingRequested && !isDisabled : summary !== 'none' && !isDisabled)
    config.includeThoughts = true
  if (summary === 'concise' || summary === 'detailed')
    report.add(
      loss(
        at('summary'),
        `thoughts can only be shown or hidden; '${summary}' is sent as shown`,
        'approximated',
        'note',
      ),
    )
  if (Object.keys(config).length > 0) generation.thinkingConfig = config
}

function disableThinking(config: JsonObject, traits: ModelTraits, at: string, { report }: CodecContext): void {
  if (traits.thinking === 'budget' || traits.budget !== undefined) {
    const least = traits.budget?.[0] ?? 0
    config.thinkingBudget = least
    if (least > 0)
      report.add(loss(at, `the model always thinks; its minimum budget of ${least} is sent`, 'approximated'))
    return
  }
  const [least] = traits.levels
  config.thinkingLevel = least ?? 'low'
  report.add(loss(at, `the model always thinks; its lowest level '${String(least)}' is sent`, 'approximated'))
}

function clampBudget(tokens: number, traits: ModelTraits, at: string, { report }: CodecContext): number {
  if (traits.budget === undefined) return tokens
  const [least, most] = traits.budget
  const budget = Math.min(Math.max(tokens, least), most)
  if (budget !== tokens)
    report.add(loss(at, `the budget must be from ${least} to ${most}; ${budget} is sent`, 'clamped'))
  return budget
}

const effortOrder: readonly string[] = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** Returns the nearest level that the model accepts, or the higher of two equally near ones. */
function nearestLevel(effort: string, traits: ModelTraits, at: string, { report }: CodecContext): ThinkingLevel {
  const wanted = effortOrder.indexOf(effort)
  let best: ThinkingLevel = 'high'
  for (const level of traits.levels)
    if (Math.abs(effortOrder.indexOf(level) - wanted) <= Math.abs(effortOrder.indexOf(best) - wanted)) best = level
  if (best !== effort) report.add(loss(at, `the effort '${effort}' is sent as '${best}'`, 'approximated', 'note'))
  return best
}
