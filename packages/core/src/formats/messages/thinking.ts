import { isObject, put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { CodecContext, TargetTraits } from '../codec.ts'
import type { ModelRequest, Reasoning } from '../ir.ts'
import { effortOfBudget } from '../shared/effort.ts'
import { drop, take, takeNumber, type Unread, unread } from '../shared/reader.ts'
import { fieldPointer, loss } from '../shared/report.ts'
import type { Nothing } from '../shared/strict.ts'
import { substance } from './blocks-decode.ts'
import { type EffortWord, isEffort } from './fields.ts'
import { budgetOfEffort, type ModelTraits, minBudget, nearestEffort } from './models.ts'

/** Reads `thinking`, and `effort` out of `outputConfig`. What is not known here stays where it is. */
export function decodeThinking(fields: Unread, outputConfig: Unread, context: CodecContext): Reasoning | undefined {
  const reasoning: Reasoning = {}
  put(reasoning, 'effort', take(outputConfig, 'effort', isEffort))
  if (isObject(fields.thinking)) {
    const inner = unread(fields.thinking)
    const { type } = inner
    if (type === 'enabled') put(reasoning, 'budgetTokens', takeNumber(inner, 'budget_tokens'))
    else if (type === 'adaptive') reasoning.adaptive = true
    else if (type === 'disabled') reasoning.off = true
    if (type === 'adaptive' || type === 'disabled' || reasoning.budgetTokens !== undefined) {
      drop(inner, 'type')
      decodeDisplay(inner, reasoning, context)
    }
    const rest = substance(inner)
    if (rest === undefined) drop(fields, 'thinking')
    else fields.thinking = rest
  }
  if (Object.keys(reasoning).length === 0) return undefined
  // An effort alone asks for a thorough answer, not for reasoning.
  if (reasoning.effort !== undefined && Object.keys(reasoning).length === 1 && fields.thinking === undefined)
    reasoning.adaptive = false
  return reasoning
}

function decodeDisplay(inner: Unread, reasoning: Reasoning, context: CodecContext): void {
  const { display } = inner
  if (display === 'updates')
    // Claude Code's word for summaries as they come; a beta that needs its own header.
    context.report.add(loss('/thinking/display', "'updates' is taken as 'summarized'", 'approximated', 'note'))
  else if (display !== 'omitted' && display !== 'summarized') return
  reasoning.summary = display === 'omitted' ? 'none' : 'auto'
  drop(inner, 'display')
}

/** What the rest of the request says that thinking depends on. */
export interface ThinkingSetting {
  readonly maxTokens: number
  /** A tool call is forced. */
  readonly forced: boolean
  /** The last answer called tools, and its thinking is gone. */
  readonly brokenLoop: boolean
}

type EncodeContext = CodecContext & { readonly target: TargetTraits }

/** Writes `thinking` and `output_config.effort`. Returns whether thinking is on. */
export function encodeThinking(
  request: ModelRequest,
  out: JsonObject,
  traits: ModelTraits,
  setting: ThinkingSetting,
  context: EncodeContext,
): boolean {
  const { effort, budgetTokens, adaptive, off, summary, ...rest } = request.reasoning ?? {}
  rest satisfies Nothing
  const at = (field: string): string => fieldPointer(`reasoning.${field}`, request.at, undefined)
  const { report } = context
  const kept = isObject(out.thinking) ? out.thinking : undefined
  const word = effort === 'minimal' ? 'low' : effort === 'none' ? undefined : effort
  const wish = off || effort === 'none' ? 'off' : wants(effort, budgetTokens, adaptive) ? 'on' : 'unsaid'

  let thinking: JsonObject | undefined
  let said = word
  if (wish === 'off') {
    if (traits.thinking === 'none') thinking = undefined
    else if (traits.canDisable) thinking = { type: 'disabled' }
    else {
      report.add(
        loss(at(off ? 'off' : 'effort'), 'the model always thinks; it is asked to think little', 'approximated'),
      )
      said = 'low'
    }
  } else if (wish === 'on') {
    const blocked = obstacle(traits, setting, isAdaptive(request, traits))
    const field = budgetTokens !== undefined ? 'budgetTokens' : adaptive ? 'adaptive' : 'effort'
    if (blocked !== undefined) report.add(loss(at(field), `thinking is left out: ${blocked}`))
    else thinking = switchOn(request, traits, setting, at, context)
    if (thinking?.type === 'adaptive' && said === undefined && budgetTokens !== undefined)
      said = nearestEffort(effortOfBudget(budgetTokens) as EffortWord, traits.efforts)
    // A budget says it all; an effort beside it is written only if the client wrote both.
    if (thinking?.type === 'enabled' && budgetTokens === undefined && adaptive !== true) said = undefined
    // One loss is told once.
    if (thinking === undefined && field === 'effort' && traits.efforts.length === 0) said = undefined
  }
  if (thinking !== undefined) out.thinking = { ...kept, ...thinking }
  writeDisplay(summary, out, thinking, at('summary'), context)
  if (said !== undefined) writeEffort(said, effort, out, traits, at('effort'), context)
  return thinking !== undefined && thinking.type !== 'disabled'
}

const wants = (effort: unknown, budget: number | undefined, adaptive: boolean | undefined): boolean =>
  budget !== undefined || adaptive === true || (effort !== undefined && adaptive !== false)

/** Whether the model is left to decide how much it thinks: it asked for nothing else, or takes nothing else. */
const isAdaptive = ({ reasoning }: ModelRequest, { thinking }: ModelTraits): boolean =>
  thinking === 'adaptive' ||
  (thinking === 'either' && (reasoning?.adaptive === true || reasoning?.budgetTokens === undefined))

/** Why this call cannot think though it was asked to; undefined if nothing stands in the way. */
function obstacle(traits: ModelTraits, setting: ThinkingSetting, adaptive: boolean): string | undefined {
  if (traits.thinking === 'none') return 'the model cannot think'
  if (adaptive) return undefined
  if (setting.forced) return 'a budget does not go with a forced tool call'
  if (setting.brokenLoop) return 'the signed reasoning before the last tool call was not sent back'
  if (setting.maxTokens <= minBudget) return `it needs more than ${minBudget} max_tokens`
  return undefined
}

function switchOn(
  request: ModelRequest,
  traits: ModelTraits,
  setting: ThinkingSetting,
  at: (field: string) => string,
  { report }: EncodeContext,
): JsonObject {
  const { effort, budgetTokens } = request.reasoning ?? {}
  if (isAdaptive(request, traits)) {
    if (budgetTokens !== undefined)
      report.add(
        loss(at('budgetTokens'), 'the model takes no budget; it thinks as much as it sees fit', 'approximated'),
      )
    return { type: 'adaptive' }
  }
  const room = setting.maxTokens - 1
  if (budgetTokens !== undefined) {
    const budget = Math.min(Math.max(budgetTokens, minBudget), room)
    if (budget !== budgetTokens)
      report.add(
        loss(at('budgetTokens'), `it must lie from ${minBudget} to below max_tokens; ${budget} is sent`, 'clamped'),
      )
    return { type: 'enabled', budget_tokens: budget }
  }
  const key = effort === undefined || effort === 'none' ? 'high' : effort
  const budget = Math.min(budgetOfEffort[key], room)
  const field = effort === undefined ? 'adaptive' : 'effort'
  report.add(loss(at(field), `the model takes a budget: ${budget} tokens are sent`, 'approximated', 'note'))
  return { type: 'enabled', budget_tokens: budget }
}

function writeDisplay(
  summary: Reasoning['summary'],
  out: JsonObject,
  thinking: JsonObject | undefined,
  at: string,
  { report }: EncodeContext,
): void {
  if (summary === undefined) return
  if (thinking === undefined || thinking.type === 'disabled') {
    report.add(loss(at, 'there is no thinking to be shown', 'unsupported', 'note'))
    return
  }
  if (summary === 'concise' || summary === 'detailed')
    report.add(loss(at, `'${summary}' is sent as 'summarized'`, 'approximated', 'note'))
  out.thinking = {
    ...thinking,
    ...(isObject(out.thinking) ? out.thinking : undefined),
    display: summary === 'none' ? 'omitted' : 'summarized',
  }
}

function writeEffort(
  word: EffortWord,
  asked: Reasoning['effort'],
  out: JsonObject,
  traits: ModelTraits,
  at: string,
  { report }: EncodeContext,
): void {
  const nearest = nearestEffort(word, traits.efforts)
  if (nearest === undefined) {
    report.add(loss(at, 'the model takes no effort'))
    return
  }
  if (asked !== undefined && asked !== 'none' && nearest !== asked)
    report.add(loss(at, `the effort '${asked}' is sent as '${nearest}'`, 'approximated', 'note'))
  out.output_config = { ...(isObject(out.output_config) ? out.output_config : undefined), effort: nearest }
}
