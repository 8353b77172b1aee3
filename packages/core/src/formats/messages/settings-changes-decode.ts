import { isObject, put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { Part, Reasoning, SettingsChange, Tool, Turn } from '../ir.ts'
import { pointer } from '../shared/pointer.ts'
import { drop, take, takeString, type Unread, unread } from '../shared/reader.ts'
import { substance } from './blocks-decode.ts'
import { decodeCache } from './cache.ts'
import { isEffort } from './fields.ts'
import { decodeTool } from './tools.ts'

/** What a system message changes, and what else it says. */
interface ReadChanges {
  readonly list: SettingsChange[]
  readonly parts: Part[]
}

/**
 * Returns a reader of system messages: an effort in `output_config`, and blocks of `tool_addition` and `tool_removal`. It returns
 * undefined for a message without any. Tools of MCP servers stay blocks: no other format has them by name.
 *
 * @param tools those of the request, which additions refer to
 */
export function createChangeReader(
  tools: readonly Tool[],
): (content: readonly Part[], fields: Unread, at: string) => ReadChanges | undefined {
  const known = new Map<string, Tool>()
  for (const tool of tools) {
    const name = nameOf(tool)
    if (name !== undefined) known.set(name, tool)
  }
  return (content, fields, at) => {
    const list: SettingsChange[] = []
    const parts: Part[] = []
    for (const part of content) {
      const change = part.type === 'native' ? decodeToolChange(part.value, part.at ?? '', known) : undefined
      if (change === undefined) parts.push(part)
      else list.push(change)
    }
    const effort = decodeEffort(fields, at)
    if (effort !== undefined) list.push(effort)
    return list.length === 0 ? undefined : { list, parts }
  }
}

function decodeEffort(fields: Unread, at: string): SettingsChange | undefined {
  if (!isObject(fields.output_config)) return undefined
  const inner = unread(fields.output_config)
  const effort = take(inner, 'effort', isEffort)
  if (effort === undefined) return undefined
  const rest = substance(inner)
  if (rest === undefined) drop(fields, 'output_config')
  else fields.output_config = rest
  return { effort, at: pointer(pointer(at, 'output_config'), 'effort') }
}

function decodeToolChange(source: JsonObject, at: string, known: Map<string, Tool>): SettingsChange | undefined {
  const { type, tool } = source
  if ((type !== 'tool_addition' && type !== 'tool_removal') || !isObject(tool)) return undefined
  const change: SettingsChange = { at }
  const place = pointer(at, 'tool')
  const inner = unread(tool)
  const kind = takeString(inner, 'type')
  if (type === 'tool_addition' && kind === 'tool_definition' && isObject(tool.definition)) {
    const defined = decodeTool(tool.definition, pointer(place, 'definition'))
    const name = nameOf(defined)
    if (name !== undefined) known.set(name, defined)
    drop(inner, 'definition')
    change.addedTools = [defined]
  } else if (kind === 'tool_reference') {
    const name = takeString(inner, 'name')
    const referred = name === undefined ? undefined : known.get(name)
    if (name === undefined || referred === undefined) return undefined
    if (type === 'tool_addition') change.addedTools = [withoutDeferral(referred)]
    else change.removedTools = [name]
  } else return undefined
  const block = unread(source)
  drop(block, 'type')
  drop(block, 'tool')
  put(change, 'cache', decodeCache(block))
  const rest = { ...substance(block), ...nested('tool', substance(inner)) }
  if (Object.keys(rest).length > 0) change.extra = { messages: rest }
  return change
}

/** A tool as a reference adds it: that it was hidden until then is said by its place. */
function withoutDeferral(tool: Tool): Tool {
  const { extra, ...rest } = tool
  const { defer_loading: _, ...own }: JsonObject = extra?.messages ?? {}
  return Object.keys(own).length === 0 ? rest : { ...rest, extra: { messages: own } }
}

function nameOf(tool: Tool): string | undefined {
  if (tool.type !== 'native') return tool.name
  return typeof tool.value.name === 'string' ? tool.value.name : undefined
}

const nested = (key: string, value: JsonObject | undefined): JsonObject => (value === undefined ? {} : { [key]: value })

/** An effort alone asks for a thorough answer, not for reasoning; so does one that comes later. */
export const laterThinking = (turns: readonly Turn[]): Reasoning | undefined =>
  turns.some(({ changes }) => changes?.some(({ effort }) => effort !== undefined)) ? { adaptive: false } : undefined
