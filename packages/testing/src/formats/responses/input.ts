import type { Json, JsonObject } from '../../base/json.ts'
import { asList, asObject, asString } from '../../base/json.ts'
import type { Memory } from '../memory.ts'

/** Returns the items of an input; a text is one message of the user. */
export const itemsOf = (input: Json | undefined): JsonObject[] =>
  typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : asList(input).map(asObject)

/** Returns an item's type: an item with a role needs none, and one with only an id is a reference. */
export function typeOf(item: JsonObject): string {
  if (typeof item.type === 'string') return item.type
  return item.role !== undefined ? 'message' : item.id !== undefined ? 'item_reference' : ''
}

/** Returns the whole conversation: that of the earlier response, then this input with its references resolved. */
export function conversationOf(body: JsonObject, memory: Memory): JsonObject[] {
  const earlier = memory.conversations.get(asString(body.previous_response_id)) ?? []
  const items = itemsOf(body.input).flatMap((item) => {
    if (typeOf(item) !== 'item_reference') return [item]
    const found = memory.items.get(asString(item.id))
    return found ? [found] : []
  })
  return [...earlier, ...items]
}

/** Returns true for a tool result. */
export const isOutput = (item: JsonObject): boolean => typeOf(item).endsWith('_output')

/** Returns true for a call that the client must execute. */
export const isCall = (item: JsonObject): boolean =>
  typeOf(item).endsWith('_call') && typeof item.call_id === 'string' && item.execution !== 'server'

/** Returns the tools of a list, including those in groups. */
export function flatTools(tools: Json | undefined, namespace?: string): { tool: JsonObject; namespace?: string }[] {
  return asList(tools)
    .map(asObject)
    .flatMap((tool) => {
      if (tool.type === 'namespace') return flatTools(tool.tools, asString(tool.name))
      return [{ tool, ...(namespace === undefined ? {} : { namespace }) }]
    })
}

/** Returns all tools that the model may call: the request's, and those that a tool search has found. */
export const toolsOf = (body: JsonObject, items: readonly JsonObject[]): { tool: JsonObject; namespace?: string }[] => [
  ...flatTools(body.tools),
  ...items
    .filter((item) => typeOf(item) === 'tool_search_output' || typeOf(item) === 'additional_tools')
    .flatMap((item) => flatTools(item.tools)),
]
