import { isObject, put } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type { Reasoning } from '../ir.ts'
import { drop, take, takeNumber, type Unread, unread } from '../shared/json-fields.ts'
import { loss } from '../shared/report.ts'
import { meaningfulFields } from './blocks-decode.ts'
import { isEffort } from './fields.ts'

/**
 * Decodes `thinking`, and `effort` from `outputConfig`. Unknown fields stay where they are.
 *
 * @param at JSON Pointer of the object that holds `thinking`
 */
export function decodeThinking(
  fields: Unread,
  outputConfig: Unread,
  context: CodecContext,
  at = '',
): Reasoning | undefined {
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
      decodeDisplay(inner, reasoning, context, at)
    }
    const rest = meaningfulFields(inner)
    if (rest === undefined) drop(fields, 'thinking')
    else fields.thinking = rest
  }
  if (Object.keys(reasoning).length === 0) return undefined
  // An effort alone asks for a thorough response, not for reasoning.
  if (reasoning.effort !== undefined && Object.keys(reasoning).length === 1 && fields.thinking === undefined)
    reasoning.adaptive = false
  return reasoning
}

function decodeDisplay(inner: Unread, reasoning: Reasoning, context: CodecContext, at: string): void {
  const { display } = inner
  if (display === 'updates')
    // Claude Code's value for summaries that are streamed. It belongs to a beta that needs its own header.
    context.report.add(loss(`${at}/thinking/display`, "'updates' is treated as 'summarized'", 'approximated', 'note'))
  else if (display !== 'omitted' && display !== 'summarized') return
  reasoning.summary = display === 'omitted' ? 'none' : 'auto'
  drop(inner, 'display')
}
