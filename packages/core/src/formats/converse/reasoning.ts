import type { JsonObject } from '../../base/json/types.ts'
import type { CodecContext, TargetTraits } from '../codec.ts'
import type { Effort, ModelRequest } from '../ir.ts'
import { encodeThinking, type ThinkingSetting } from '../messages/thinking.ts'
import { effortOfBudget } from '../shared/effort.ts'
import { fieldPointer, loss } from '../shared/report.ts'
import type { Nothing } from '../shared/strict.ts'
import type { ConverseTraits } from './models.ts'

/**
 * The wish for reasoning, in the fields that Converse passes on to the model. Returns whether Claude thinks, which other
 * settings do not go with.
 */
export function encodeReasoning(
  request: ModelRequest,
  additional: JsonObject,
  traits: ConverseTraits,
  setting: ThinkingSetting,
  context: CodecContext & { readonly target: TargetTraits },
): boolean {
  if (traits.claude !== undefined) return encodeThinking(request, additional, traits.claude, setting, context)
  const { effort, budgetTokens, adaptive, off, summary, ...rest } = request.reasoning ?? {}
  rest satisfies Nothing
  const tell = (field: string, detail: string, ...more: [kind?: 'approximated', severity?: 'note']): void =>
    context.report.add(loss(fieldPointer(`reasoning.${field}`, request.at, undefined), detail, ...more))
  if (summary !== undefined && summary !== 'none' && summary !== 'auto')
    tell('summary', 'the model shows its reasoning as it sees fit', 'approximated', 'note')

  const field = effort !== undefined ? 'effort' : budgetTokens !== undefined ? 'budgetTokens' : 'adaptive'
  if (off === true || effort === 'none') {
    if (traits.reasoning === 'reasoningConfig') additional.reasoningConfig = { type: 'disabled' }
    else tell(off === true ? 'off' : 'effort', 'Bedrock has no way to keep the model from reasoning')
    return false
  }
  const asked = effort ?? (budgetTokens === undefined ? undefined : effortOfBudget(budgetTokens))
  if (asked === undefined) {
    if (adaptive === true) tell('adaptive', 'the model reasons as it sees fit', 'approximated', 'note')
    return false
  }
  if (traits.reasoning === undefined) {
    // An effort alone asks for a thorough answer; the model still gives one.
    tell(field, 'Bedrock has no word for how much the model is to reason')
    return false
  }
  const word = traits.reasoning === 'config' ? coarse(asked) : nearest(asked)
  if (word !== effort)
    tell(
      field,
      `it is sent as the effort '${word}'`,
      'approximated',
      ...(effort === undefined ? [] : ['note' as const]),
    )
  if (traits.reasoning === 'effort') additional.reasoning_effort = word
  else if (traits.reasoning === 'config') additional.reasoning_config = word
  else additional.reasoningConfig = { type: 'enabled', maxReasoningEffort: word }
  return false
}

function nearest(effort: Effort): 'low' | 'medium' | 'high' {
  if (effort === 'low' || effort === 'minimal' || effort === 'none') return 'low'
  return effort === 'medium' ? 'medium' : 'high'
}
const coarse = (effort: Effort): 'low' | 'high' => (nearest(effort) === 'low' ? 'low' : 'high')
