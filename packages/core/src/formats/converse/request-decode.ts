import { isObject, type Json, type JsonObject, pointer, put } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type { ModelRequest, Part, SettingsChange, Tool, ToolChoice, Turn } from '../ir.ts'
import { attachCallSeals } from '../shared/call-seals.ts'
import { drop, dropNulls, leftover, takeBoolean, takeString, type Unread, unread } from '../shared/json-fields.ts'
import { withAddedTools } from '../shared/settings-changes.ts'
import { decodeBlock, withCachePoints } from './blocks-decode.ts'
import { decodeSettings, keepUnread } from './settings-decode.ts'

/**
 * Decodes a request. Model and stream flag stand in the path; the caller copies them to the body as `model` and `stream`. For an upstream
 * of this format, settings and changes of tools stay as the client wrote them.
 */
export function decodeRequest(body: JsonObject, context: CodecContext): ModelRequest {
  const isVerbatim = context.upstream === 'converse'
  const fields = unread(body)
  const request: ModelRequest = {
    model: takeString(fields, 'model') ?? '',
    turns: [],
    stream: takeBoolean(fields, 'stream') ?? false,
  }
  const tools = decodeToolConfig(fields)
  const system = decodeSystem(fields, context)
  if (system !== undefined) request.turns.push(system)
  const readChanges = isVerbatim ? undefined : createChangeDecoder(tools?.list ?? [])
  for (const turn of decodeMessages(fields, readChanges, context)) request.turns.push(turn)
  put(
    request,
    'tools',
    withAddedTools(tools, request.turns, () => false),
  )
  const at: { [irField: string]: string } = {}
  if (!isVerbatim) decodeSettings(request, fields, at, context)
  dropNulls(fields)
  const extra = leftover(fields)
  if (extra !== undefined) request.extra = { converse: extra }
  if (Object.keys(at).length > 0) request.at = at
  return request
}

function decodeSystem(fields: Unread, context: CodecContext): Turn | undefined {
  if (!Array.isArray(fields.system)) return undefined
  const blocks = fields.system.filter(isObject)
  drop(fields, 'system')
  if (blocks.length === 0) return undefined
  return { role: 'system', parts: decodeBlocks(blocks, '/system', context), at: '/system' }
}

const decodeBlocks = (blocks: readonly JsonObject[], at: string, { upstream }: CodecContext): Part[] =>
  withCachePoints(blocks, at, (block, place) => decodeBlock(block, place, { isVerbatim: upstream === 'converse' }))

function decodeMessages(fields: Unread, readChanges: ChangeDecoder | undefined, context: CodecContext): Turn[] {
  const messages = Array.isArray(fields.messages) ? fields.messages : []
  drop(fields, 'messages')
  const turns: Turn[] = []
  for (const [index, message] of messages.entries()) {
    if (!isObject(message)) continue // the validator has rejected it
    const at = pointer('/messages', index)
    const inner = unread(message)
    const role = takeString(inner, 'role')
    const blocks = Array.isArray(inner.content) ? inner.content.filter(isObject) : []
    drop(inner, 'content')
    const content = decodeBlocks(blocks, pointer(at, 'content'), context)
    const changes = role === 'system' ? readChanges?.(content) : undefined
    const turn: Turn = {
      role: role === 'assistant' || role === 'system' ? role : 'user',
      parts: attachCallSeals(changes?.parts ?? content, 'converse', context),
      at,
    }
    if (changes !== undefined) turn.changes = changes.list
    dropNulls(inner)
    const rest = leftover(inner)
    if (rest !== undefined) turn.extra = { converse: rest }
    turns.push(turn)
  }
  return turns
}

/** Separates the changes of tools in a system message from its other parts. Undefined for a message without changes. */
type ChangeDecoder = (
  content: readonly Part[],
) => { readonly list: SettingsChange[]; readonly parts: Part[] } | undefined

/** @param tools tools of the request, to which changes refer by name. A reference to another tool stays a block */
function createChangeDecoder(tools: readonly Tool[]): ChangeDecoder {
  const byName = new Map(tools.flatMap((tool) => (tool.type === 'native' ? [] : [[tool.name, tool] as const])))
  const decodeChange = (part: Part): SettingsChange | undefined => {
    if (part.type !== 'native' || part.format !== 'converse') return undefined
    const [kind, ...more] = Object.keys(part.value)
    const change = kind === undefined ? undefined : part.value[kind]
    if (more.length > 0 || !isObject(change) || !isObject(change.tool)) return undefined
    const { name, type: _, ...others } = change.tool
    const tool = typeof name === 'string' ? byName.get(name) : undefined
    // Tools of MCP servers have a server's name, too. No other format has them by name.
    if (tool === undefined || Object.keys(others).length > 0 || Object.keys(change).length > 1) return undefined
    const base: SettingsChange = { at: part.at ?? '', ...(part.cache === undefined ? {} : { cache: part.cache }) }
    if (kind === 'toolAddition') return { ...base, addedTools: [tool] }
    return kind === 'toolRemoval' ? { ...base, removedTools: [tool.name] } : undefined
  }
  return (content) => {
    const list: SettingsChange[] = []
    const parts: Part[] = []
    for (const part of content) {
      const change = decodeChange(part)
      if (change === undefined) parts.push(part)
      else list.push(change)
    }
    return list.length === 0 ? undefined : { list, parts }
  }
}

function decodeToolConfig(fields: Unread): ModelRequest['tools'] {
  if (!isObject(fields.toolConfig)) return undefined
  const config = unread(fields.toolConfig)
  drop(fields, 'toolConfig')
  const tools: NonNullable<ModelRequest['tools']> = { list: [] }
  if (Array.isArray(config.tools)) {
    tools.list = withCachePoints(config.tools.filter(isObject), '/toolConfig/tools', decodeTool)
    drop(config, 'tools')
  }
  const choice = decodeChoice(config.toolChoice)
  if (choice !== undefined) {
    tools.choice = choice
    drop(config, 'toolChoice')
  }
  keepUnread(fields, 'toolConfig', config)
  return tools
}

/** Decodes a function. Other kinds of tools, and functions of a shape that is not known, stay as they are. */
function decodeTool(source: JsonObject, at: string): Tool {
  const { toolSpec, ...beside } = source
  if (!isObject(toolSpec) || Object.keys(beside).length > 0)
    return { type: 'native', format: 'converse', value: source, at }
  const spec = unread(toolSpec)
  const name = takeString(spec, 'name')
  const { json, ...otherSchemas } = isObject(spec.inputSchema) ? spec.inputSchema : {}
  if (name === undefined || !isObject(json) || Object.keys(otherSchemas).length > 0)
    return { type: 'native', format: 'converse', value: source, at }
  drop(spec, 'inputSchema')
  const tool: Tool = { type: 'function', name, schema: json, at }
  put(tool, 'description', takeString(spec, 'description'))
  put(tool, 'strict', takeBoolean(spec, 'strict'))
  dropNulls(spec)
  const rest = leftover(spec)
  if (rest !== undefined) tool.extra = { converse: rest }
  return tool
}

function decodeChoice(value: Json | undefined): ToolChoice | undefined {
  if (!isObject(value)) return undefined
  const [kind, ...more] = Object.keys(value)
  if (more.length > 0) return undefined
  if (kind === 'auto') return 'auto'
  if (kind === 'any') return 'required'
  const { name, ...others } = kind === 'tool' && isObject(value.tool) ? value.tool : {}
  return typeof name === 'string' && Object.keys(others).length === 0 ? { name } : undefined
}
