import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { ModelRequest, ToolChoice } from '../ir.ts'
import { findTool } from '../shared/tool-names.ts'
import { findMember, memberName } from './namespaces.ts'
import { nativeOf } from './tools.ts'

/** Undefined: a choice of something only this format knows (`mcp`, hosted tools); the caller keeps it verbatim. */
export function decodeChoice(choice: Json, tools: ModelRequest['tools']): ToolChoice | undefined {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return choice
  if (!isObject(choice)) return undefined
  if (choice.type === 'allowed_tools' || (choice.type === undefined && Array.isArray(choice.tools))) {
    const names = Array.isArray(choice.tools) ? choice.tools.map((tool) => namedBy(tool, tools)) : [undefined]
    const mode = choice.mode === 'required' ? 'required' : 'auto'
    return names.every((name) => name !== undefined) ? { allowed: names, mode } : undefined
  }
  const name = namedBy(choice, tools)
  return name === undefined ? undefined : { name }
}

function namedBy(choice: Json, tools: ModelRequest['tools']): string | undefined {
  if (!isObject(choice) || (choice.type !== 'function' && choice.type !== 'custom')) return undefined
  const { name, namespace } = choice
  if (typeof name !== 'string') return undefined
  return typeof namespace === 'string' ? memberName({ namespace, name }, tools) : name
}

export function encodeChoice(choice: ToolChoice, tools: ModelRequest['tools']): Json {
  if (typeof choice === 'string') return choice
  const reference = (name: string): JsonObject => {
    const native = nativeOf(name, tools)
    if (native !== undefined) return { type: native.type ?? null }
    const type = findTool(name, tools)?.type === 'custom' ? 'custom' : 'function'
    return { type, ...(findMember(name, tools) ?? { name }) }
  }
  return 'name' in choice
    ? reference(choice.name)
    : { type: 'allowed_tools', mode: choice.mode, tools: choice.allowed.map(reference) }
}
