import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import { type BodyChanges, holdsKey, type MarkedCall, stableEnds, tokensOf, withItem } from './conversation.ts'
import type { MarkedFormat } from './marked-formats.ts'

/**
 * Marks the prompt of a request for the cache: the end of the tools, of the instructions, of the newest turn, and of the turn that the
 * previous request ended with. Returns undefined if the client has set a mark itself, if the whole prompt is below the model's minimum, or
 * if the model accepts no marks.
 */
export function markPrompt(format: MarkedFormat, { body, model }: MarkedCall): BodyChanges | undefined {
  const { system, messages } = body
  const { mark, toolsIn, markEnd } = format
  const container = toolsIn === undefined ? body : body[toolsIn]
  const tools = isObject(container) ? container.tools : undefined
  const limits = format.limitsOf(model)
  if (
    limits === undefined ||
    body[mark] !== undefined ||
    [tools, system, messages].some((part) => holdsKey(part, mark))
  )
    return undefined
  const { minimum, marksTools } = limits
  const toolTokens = tokensOf(tools)
  const fixedTokens = toolTokens + tokensOf(system)
  if (fixedTokens + tokensOf(messages) < minimum) return undefined
  const changes: Record<string, Json> = {}
  // A mark before the minimum has no effect.
  const markedTools = marksTools && toolTokens >= minimum ? markEnd(tools) : undefined
  if (markedTools !== undefined)
    if (toolsIn === undefined) changes.tools = markedTools
    else changes[toolsIn] = { ...(container as JsonObject), tools: markedTools }
  const markedSystem = fixedTokens >= minimum ? markEnd(system) : undefined
  if (markedSystem !== undefined) changes.system = markedSystem
  if (Array.isArray(messages)) {
    let marked: readonly Json[] = messages
    for (const index of stableEnds(messages, Array.isArray(tools) && tools.length > 0)) {
      const message = messages[index] as JsonObject
      const content = markEnd(message.content)
      if (content !== undefined) marked = withItem(marked, index, { ...message, content })
    }
    if (marked !== messages) changes.messages = [...marked]
  }
  return changes
}
