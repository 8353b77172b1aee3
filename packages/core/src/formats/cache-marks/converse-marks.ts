import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import { converseTraits } from '../converse/models.ts'
import { type BodyChanges, holdsKey, type MarkedCall, stableEnds, tokensOf, withItem } from './conversation.ts'

const cachePoint: JsonObject = { cachePoint: { type: 'default' } }

/** Nova's minimum. Claude's are in the table of its own format. */
const defaultMinimum = 1000

/** Marks the prompt of a Converse request in the same places as `markMessages`. Returns undefined if the model accepts no cache points. */
export function markConverse({ body, model }: MarkedCall): BodyChanges | undefined {
  const { toolConfig, system, messages } = body
  const { cache, claude } = converseTraits({ model, quirks: {} })
  if (cache === undefined || [toolConfig, system, messages].some((part) => holdsKey(part, 'cachePoint')))
    return undefined
  const minimum = claude?.cacheMinimum ?? defaultMinimum
  const tools = isObject(toolConfig) ? toolConfig.tools : undefined
  const toolTokens = tokensOf(tools)
  const fixedTokens = toolTokens + tokensOf(system)
  if (fixedTokens + tokensOf(messages) < minimum) return undefined
  const changes: Record<string, Json> = {}
  if (cache.tools && isObject(toolConfig) && Array.isArray(tools) && toolTokens >= minimum)
    changes.toolConfig = { ...toolConfig, tools: [...tools, cachePoint] }
  if (Array.isArray(system) && system.length > 0 && fixedTokens >= minimum) changes.system = [...system, cachePoint]
  if (Array.isArray(messages)) {
    let marked: readonly Json[] = messages
    for (const index of stableEnds(messages, tools !== undefined)) {
      const message = messages[index] as JsonObject
      if (!Array.isArray(message.content) || message.content.length === 0) continue
      marked = withItem(marked, index, { ...message, content: [...message.content, cachePoint] })
    }
    if (marked !== messages) changes.messages = [...marked]
  }
  return changes
}
