import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import { modelTraits } from '../messages/models.ts'
import { type BodyChanges, holdsKey, type MarkedCall, stableEnds, tokensOf, withItem } from './conversation.ts'

const mark: JsonObject = { type: 'ephemeral' }

/** Blocks that cannot be marked. */
const unmarkable: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking'])

/**
 * Marks the prompt of a Messages request for the cache: the end of the tools, of the instructions, of the newest turn, and of the turn that
 * the previous request ended with. Returns undefined if the client has set a mark itself, or if the prompt is below the model's minimum.
 */
export function markMessages({ body, model }: MarkedCall): BodyChanges | undefined {
  const { tools, system, messages } = body
  if (body.cache_control !== undefined || [tools, system, messages].some((part) => holdsKey(part, 'cache_control')))
    return undefined
  const minimum = modelTraits({ model, quirks: {} }).cacheMinimum
  const toolTokens = tokensOf(tools)
  const fixedTokens = toolTokens + tokensOf(system)
  const total = fixedTokens + tokensOf(messages)
  if (total < minimum) return undefined
  const changes: Record<string, Json> = {}
  if (Array.isArray(tools) && toolTokens >= minimum) {
    const last = tools.findLastIndex((tool) => isObject(tool) && tool.defer_loading !== true)
    if (last >= 0) changes.tools = withItem(tools, last, { ...(tools[last] as JsonObject), cache_control: mark })
  }
  if (fixedTokens >= minimum) {
    const marked = markContent(system)
    if (marked !== undefined) changes.system = marked
  }
  if (Array.isArray(messages)) {
    let marked: readonly Json[] = messages
    for (const index of stableEnds(messages, Array.isArray(tools) && tools.length > 0)) {
      const message = messages[index] as JsonObject
      const content = markContent(message.content)
      if (content !== undefined) marked = withItem(marked, index, { ...message, content })
    }
    if (marked !== messages) changes.messages = [...marked]
  }
  return changes
}

/** Returns content whose last markable block is marked; undefined if it has none. */
function markContent(content: Json | undefined): Json[] | undefined {
  if (typeof content === 'string')
    return content === '' ? undefined : [{ type: 'text', text: content, cache_control: mark }]
  if (!Array.isArray(content)) return undefined
  const last = content.findLastIndex((block) => isObject(block) && !unmarkable.has(block.type) && block.text !== '')
  return last < 0 ? undefined : withItem(content, last, { ...(content[last] as JsonObject), cache_control: mark })
}
