import { isObject, put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { CodecContext } from '../codec.ts'
import type { ModelRequest, Nothing, Reasoning } from '../ir.ts'
import { drop, leftover, putBack, takeBoolean, takeNumber, takeObject, type Unread } from '../shared/json-fields.ts'
import { fieldPointer, loss } from '../shared/report.ts'
import { effortOfLevel, type Level } from './fields.ts'
import type { ModelTraits } from './models.ts'
import { respell } from './spelling.ts'

/** Reads `thinkingConfig`; what is not known of it stays in `fields`. */
export function decodeThinking(fields: Unread): Reasoning | undefined {
  const config = takeObject(fields, 'thinkingConfig')
  if (config === undefined) return undefined
  const inner = respell(config)
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
  // Here thoughts stay hidden unless they are asked for.
  reasoning.summary = takeBoolean(inner, 'includeThoughts') === true ? 'auto' : 'none'
  const rest = leftover(inner)
  if (rest !== undefined) putBack(fields, 'thinkingConfig', rest)
  return reasoning.summary === 'none' && Object.keys(reasoning).length === 1 ? undefined : reasoning
}

/** Tokens for an effort, as Google's own compatible endpoint counts them. */
const budgets = {
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 24_576,
  max: 32_768,
} as const satisfies Record<string, number>

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
  const stop = off === true || effort === 'none'
  const asked = effort !== undefined || budgetTokens !== undefined || adaptive === true

  if (traits.thinking === 'none') {
    if (asked && !stop)
      report.add(
        loss(
          at(budgetTokens !== undefined ? 'budgetTokens' : effort === undefined ? 'adaptive' : 'effort'),
          'the model cannot think',
        ),
      )
    if (summary !== undefined && summary !== 'none' && !stop)
      report.add(loss(at('summary'), 'there are no thoughts to be shown', 'unsupported', 'note'))
    return
  }
  if (stop) switchOff(config, traits, at(off ? 'off' : 'effort'), context)
  else if (budgetTokens !== undefined && (traits.thinking === 'budget' || effort === undefined)) {
    config.thinkingBudget = clampBudget(budgetTokens, traits, at('budgetTokens'), context)
    if (effort !== undefined)
      report.add(loss(at('effort'), 'the budget says how much to think; the effort is not sent', 'unsupported', 'note'))
  } else if (effort !== undefined) {
    if (budgetTokens !== undefined)
      report.add(
        loss(at('budgetTokens'), 'the effort says how much to think; the budget is not sent', 'unsupported', 'note'),
      )
    if (traits.thinking === 'level') config.thinkingLevel = nearestLevel(effort, traits, at('effort'), context)
    else {
      const tokens = clampBudget(budgets[effort as keyof typeof budgets], traits, at('effort'), context)
      config.thinkingBudget = tokens
      report.add(loss(at('effort'), `the model takes a budget: ${tokens} tokens are sent`, 'approximated', 'note'))
    }
  } else if (adaptive) config.thinkingBudget = -1
  if (summary === undefined ? asked && !stop : summary !== 'none' && !stop) config.includeThoughts = true
  if (summary === 'concise' || summary === 'detailed')
    report.add(loss(at('summary'), `thoughts are shown or not; '${summary}' is sent as shown`, 'approximated', 'note'))
  if (Object.keys(config).length > 0) generation.thinkingConfig = config
}

function switchOff(config: JsonObject, traits: ModelTraits, at: string, { report }: CodecContext): void {
  if (traits.thinking === 'budget' || traits.budget !== undefined) {
    const least = traits.budget?.[0] ?? 0
    config.thinkingBudget = least
    if (least > 0) report.add(loss(at, `the model always thinks; its least budget of ${least} is sent`, 'approximated'))
    return
  }
  const [least] = traits.levels
  config.thinkingLevel = least ?? 'low'
  report.add(loss(at, `the model always thinks; its least level '${String(least)}' is sent`, 'approximated'))
}

function clampBudget(tokens: number, traits: ModelTraits, at: string, { report }: CodecContext): number {
  if (traits.budget === undefined) return tokens
  const [least, most] = traits.budget
  const budget = Math.min(Math.max(tokens, least), most)
  if (budget !== tokens) report.add(loss(at, `it must lie from ${least} to ${most}; ${budget} is sent`, 'clamped'))
  return budget
}

const order: readonly string[] = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** The nearest level the model takes; of two equally near, the one that thinks more. */
function nearestLevel(effort: string, traits: ModelTraits, at: string, { report }: CodecContext): Level {
  const wanted = order.indexOf(effort)
  let best: Level = 'high'
  for (const level of traits.levels)
    if (Math.abs(order.indexOf(level) - wanted) <= Math.abs(order.indexOf(best) - wanted)) best = level
  if (best !== effort) report.add(loss(at, `the effort '${effort}' is sent as '${best}'`, 'approximated', 'note'))
  return best
}
