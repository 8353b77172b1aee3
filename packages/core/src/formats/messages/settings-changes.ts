import { isObject, type JsonObject, pointer, put } from '../../base/json/json.ts'
import type { AcceptedChanges, CodecContext, RequestFlags, TargetTraits } from '../codec.ts'
import type { Effort, Nothing, Part, SettingsChange, Tool, Turn } from '../ir.ts'
import { drop, take, takeString, type Unread, unread } from '../shared/json-fields.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { meaningfulFields } from './blocks-decode.ts'
import { cacheControl, decodeCache } from './cache.ts'
import { isEffort } from './fields.ts'
import { type ModelTraits, modelTraits, nearestEffort } from './models.ts'
import { decodeTool } from './tools.ts'

/** The changes of a system message, and its other parts. */
interface DecodedChanges {
  readonly list: SettingsChange[]
  readonly parts: Part[]
}

/**
 * Returns a function that decodes the changes in a system message: an effort in `output_config`, and blocks of `tool_addition` and
 * `tool_removal`. The function returns undefined for a message without changes. Tools of MCP servers stay blocks, since no other format
 * has them by name.
 * @param tools tools of the request, to which additions refer
 */
export function createChangeDecoder(
  tools: readonly Tool[],
): (content: readonly Part[], fields: Unread, at: string) => DecodedChanges | undefined {
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
  const rest = meaningfulFields(inner)
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
  const rest = { ...meaningfulFields(block), ...nestIfDefined('tool', meaningfulFields(inner)) }
  if (Object.keys(rest).length > 0) change.extra = { messages: rest }
  return change
}

/** Returns a tool as a `tool_reference` adds it, without `defer_loading`: the place of the addition expresses the deferral. */
function withoutDeferral(tool: Tool): Tool {
  const { extra, ...rest } = tool
  const { defer_loading: _, ...fields }: JsonObject = extra?.messages ?? {}
  return Object.keys(fields).length === 0 ? rest : { ...rest, extra: { messages: fields } }
}

function nameOf(tool: Tool): string | undefined {
  if (tool.type !== 'native') return tool.name
  return typeof tool.value.name === 'string' ? tool.value.name : undefined
}

const nestIfDefined = (key: string, value: JsonObject | undefined): JsonObject =>
  value === undefined ? {} : { [key]: value }

/** Returns the changes that the upstream accepts within a conversation. Only models that accept system messages there accept any. */
export function acceptedChanges(target: TargetTraits): AcceptedChanges {
  const { laterChanges = [] } = target.quirks
  const traits = modelTraits(target)
  if (!traits.systemTurns) return {}
  const tools = laterChanges.includes('tools')
  return {
    effort: laterChanges.includes('effort') && traits.efforts.length > 0,
    addedTools: tools,
    removedTools: tools,
  }
}

/** Context for encoding the changes of a conversation's turns, in their order. */
export interface ChangeContext extends CodecContext {
  readonly tools: {
    /** The client's request is itself in the messages format. */
    readonly isSameFormat: boolean
    /** Names of the tools that the upstream knows so far. Encoding a turn that adds tools extends it. */
    readonly offered: Set<string>
    encode(tool: Tool): JsonObject[]
  }
}

/** The blocks of a system message that express its changes, and the fields of the message. */
interface EncodedChanges {
  readonly blocks: readonly JsonObject[]
  readonly extraFields: JsonObject | undefined
}

const noChanges: EncodedChanges = { blocks: [], extraFields: undefined }

/** Encodes the changes of settings that a turn makes. */
export function encodeChanges(turn: Turn, traits: ModelTraits, context: ChangeContext): EncodedChanges {
  if (turn.changes === undefined) return noChanges
  const blocks: JsonObject[] = []
  let extraFields: JsonObject | undefined
  for (const change of turn.changes) {
    const { effort, addedTools, removedTools, format: _format, at = '', cache, extra, ...rest } = change
    rest satisfies Nothing
    const { tool: keptTool, ...fields } = ownExtra(extra, 'messages', at, context.report) ?? {}
    const reference = isObject(keptTool) ? keptTool : undefined
    for (const tool of addedTools ?? [])
      for (const added of encodeAdded(tool, context))
        blocks.push({ ...fields, type: 'tool_addition', tool: { ...reference, ...added } })
    for (const name of removedTools ?? [])
      blocks.push({ ...fields, type: 'tool_removal', tool: { ...reference, type: 'tool_reference', name } })
    const last = blocks.at(-1)
    if (cache !== undefined && last !== undefined && effort === undefined) last.cache_control = cacheControl(cache)
    if (effort !== undefined)
      extraFields = {
        ...extraFields,
        ...fields,
        output_config: { effort: encodeEffort(effort, change, traits, context) },
      }
  }
  return { blocks, extraFields }
}

/** Encodes an added tool. A tool that the upstream already knows is sent as a reference, any other as a definition. */
function encodeAdded(tool: Tool, { tools }: ChangeContext): JsonObject[] {
  const name = tool.type === 'native' ? String(tool.value.name) : tool.name
  if (tools.offered.has(name)) return [{ type: 'tool_reference', name }]
  tools.offered.add(name)
  return tools.encode(tool).map((definition) => ({ type: 'tool_definition', definition }))
}

function encodeEffort(
  effort: Effort,
  { at = '' }: SettingsChange,
  traits: ModelTraits,
  context: ChangeContext,
): string {
  const least = effort === 'none' || effort === 'minimal'
  const wanted = least ? 'low' : effort
  const sent = context.tools.isSameFormat ? wanted : (nearestEffort(wanted, traits.efforts) ?? wanted)
  if (sent !== effort)
    context.report.add(
      loss(at, `the effort '${effort}' is sent as '${sent}'`, 'approximated', effort === 'none' ? 'warn' : 'note'),
    )
  return sent
}

const toolsFlag = 'mid-conversation-tool-changes-2026-07-01'

const definitionsFlag = 'inline-tools-2026-09-15'

const effortFlag = 'mid-conversation-output-config-2026-07-01'

/** Returns the beta flags without which Anthropic rejects changes within a conversation. */
export function requestFlags({ messages }: JsonObject): RequestFlags | undefined {
  const flags = new Set<string>()
  for (const message of Array.isArray(messages) ? messages : []) {
    if (!isObject(message) || message.role !== 'system') continue
    if (isObject(message.output_config)) flags.add(effortFlag)
    for (const block of Array.isArray(message.content) ? message.content : []) {
      if (!isObject(block) || (block.type !== 'tool_addition' && block.type !== 'tool_removal')) continue
      const isDefined = isObject(block.tool) && block.tool.type === 'tool_definition'
      flags.add(isDefined ? definitionsFlag : toolsFlag)
    }
  }
  return flags.size === 0 ? undefined : { header: 'anthropic-beta', flags: [...flags] }
}
