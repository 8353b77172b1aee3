import { isObject, type Json, type JsonObject, pointer, put } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type { ModelRequest, Nothing, Tool, ToolChoice } from '../ir.ts'
import { drop, takeBoolean, takeObject, takeString, type Unread, unread } from '../shared/json-fields.ts'
import { fieldPointer, isWrittenIn, loss, ownExtra } from '../shared/report.ts'
import { customSchema, nativeToolName, offeredTools } from '../shared/tools.ts'
import { meaningfulFields } from './blocks-decode.ts'
import { cacheControl, decodeCache } from './cache.ts'
import { fieldPointers } from './fields.ts'
import { enforceTool, type ModelTraits } from './models.ts'

type Tools = NonNullable<ModelRequest['tools']>

/** Decodes `tools` and `tool_choice`. Unknown kinds of choices stay in the fields. */
export function decodeTools(fields: Unread): Tools | undefined {
  const tools: Tools = { list: [] }
  let any = false
  if (Array.isArray(fields.tools)) {
    tools.list = fields.tools.map((tool, index) => decodeTool(tool, pointer('/tools', index)))
    drop(fields, 'tools')
    any = true
  }
  if (isObject(fields.tool_choice)) {
    const inner = unread(fields.tool_choice)
    const choice = decodeChoice(inner)
    if (choice !== undefined) {
      tools.choice = choice
      any = true
      const serial = takeBoolean(inner, 'disable_parallel_tool_use')
      if (serial !== undefined) tools.parallel = !serial
      const rest = meaningfulFields(inner)
      if (rest === undefined) drop(fields, 'tool_choice')
      else fields.tool_choice = rest
    }
  }
  return any ? tools : undefined
}

/** Decodes a tool. Anything but a custom tool becomes a native tool. */
export function decodeTool(source: Json, at: string): Tool {
  if (!isObject(source)) return { type: 'native', format: 'messages', value: { value: source }, at }
  const fields = unread(source)
  const type = takeString(fields, 'type')
  const name = takeString(fields, 'name')
  // Types with a date are Anthropic's own tools: Anthropic runs them, or only Claude knows their schema.
  if ((type !== undefined && type !== 'custom') || name === undefined)
    return { type: 'native', format: 'messages', value: source, at }
  const tool: Tool = { type: 'function', name, at }
  put(tool, 'description', takeString(fields, 'description'))
  put(tool, 'schema', takeObject(fields, 'input_schema'))
  put(tool, 'strict', takeBoolean(fields, 'strict'))
  const cache = decodeCache(fields)
  if (cache !== undefined) tool.cache = cache
  const rest = meaningfulFields(fields)
  if (rest !== undefined) tool.extra = { messages: rest }
  return tool
}

/** Returns undefined for an unknown kind of choice. */
function decodeChoice(choice: Unread): ToolChoice | undefined {
  const { type, name } = choice
  const decoded =
    type === 'auto' || type === 'none'
      ? type
      : type === 'any'
        ? 'required'
        : type === 'tool' && typeof name === 'string'
          ? { name }
          : undefined
  if (decoded === undefined) return undefined
  drop(choice, 'type')
  if (type === 'tool') drop(choice, 'name')
  return decoded
}

/** Encodes `tools` and `tool_choice`. Returns whether a call is forced, which excludes thinking by a budget. */
export function encodeTools(
  tools: Tools,
  out: JsonObject,
  request: ModelRequest,
  traits: ModelTraits,
  context: CodecContext,
): boolean {
  const { list, choice, parallel, ...rest } = tools
  rest satisfies Nothing
  const { report } = context
  const at = (field: string): string => fieldPointer(field, request.at, undefined)
  let offered = list
  let choiceToSend: 'auto' | 'none' | 'required' | { name: string } | undefined
  if (typeof choice === 'object' && 'allowed' in choice) {
    // Messages has no list of allowed tools. Offering only these has the same effect.
    offered = offeredTools(list, choice, report)
    choiceToSend = choice.mode
    report.add(loss(at('tools.choice'), 'only the allowed tools are offered', 'approximated', 'note'))
  } else choiceToSend = choice

  const isSameFormat = isWrittenIn(request, fieldPointers)
  const encodedTools = offered.filter(isListed).flatMap((tool) => encodeTool(tool, traits, isSameFormat, context))
  if (encodedTools.length > 0) out.tools = encodedTools
  const existingChoice = isObject(out.tool_choice) ? out.tool_choice : undefined
  if (encodedTools.length === 0) {
    if (choiceToSend === 'required' || typeof choiceToSend === 'object')
      report.add(loss(at('tools.choice'), 'no tool is left to choose'))
    delete out.tool_choice
    return false
  }
  let isToolForced = choiceToSend === 'required' || typeof choiceToSend === 'object'
  if (isToolForced && !traits.forcedTools) {
    const what = typeof choiceToSend === 'object' ? `'${choiceToSend.name}'` : 'a tool'
    report.add(loss(at('tools.choice'), `the model cannot be forced to call ${what}; it may do so`, 'approximated'))
    choiceToSend = 'auto'
    isToolForced = false
  }
  const serial = parallel === false && choiceToSend !== 'none'
  if (choiceToSend !== undefined || serial || existingChoice !== undefined) {
    const wireChoice: JsonObject = { ...existingChoice }
    if (choiceToSend !== undefined || existingChoice?.type === undefined)
      Object.assign(wireChoice, encodeChoice(choiceToSend ?? 'auto'))
    if (serial) wireChoice.disable_parallel_tool_use = true
    else if (parallel === true && choiceToSend !== undefined && choiceToSend !== 'none')
      wireChoice.disable_parallel_tool_use = false
    out.tool_choice = wireChoice
  }
  return isToolForced
}

const encodeChoice = (choice: 'auto' | 'none' | 'required' | { name: string }): JsonObject =>
  typeof choice === 'object' ? { type: 'tool', name: choice.name } : { type: choice === 'required' ? 'any' : choice }

/** A tool that a turn adds is defined there, unless a client of messages listed it. */
export const isListed = (tool: Tool): boolean => tool.deferred !== true || isDeferred(tool)

/** Returns whether a tool is deferred: a turn or a tool search offers it later. */
export const isDeferred = ({ extra }: Tool): boolean => extra?.messages?.defer_loading === true

/** Encodes a tool, or reports it and returns none if it belongs to another format. */
export function encodeTool(
  tool: Tool,
  traits: ModelTraits,
  isSameFormat: boolean,
  context: CodecContext,
): JsonObject[] {
  const { report } = context
  const at = tool.at ?? ''
  switch (tool.type) {
    case 'function': {
      const { type: _, name, description, schema, strict, cache, extra, at: _at, deferred: _deferred, ...rest } = tool
      rest satisfies Nothing
      checkToolName(name, at, context)
      const out: JsonObject = { ...ownExtra(extra, 'messages', at, report), name }
      put(out, 'description', description)
      const enforced =
        isSameFormat || !traits.structured
          ? { schema, strict }
          : enforceTool(schema, strict, at, (detail, severity) =>
              report.add(loss(at, detail, 'approximated', severity)),
            )
      out.input_schema = withObjectType(enforced.schema)
      if (traits.structured) put(out, 'strict', enforced.strict)
      else if (strict) report.add(loss(pointer(at, 'strict'), 'the model accepts no strict tools'))
      if (cache !== undefined) out.cache_control = cacheControl(cache)
      return [out]
    }
    case 'custom': {
      const {
        type: _,
        name,
        description,
        grammar: _grammar,
        cache,
        extra,
        at: _at,
        deferred: _deferred,
        ...rest
      } = tool
      rest satisfies Nothing
      checkToolName(name, at, context)
      const out: JsonObject = { ...ownExtra(extra, 'messages', at, report), name }
      put(out, 'description', description)
      out.input_schema = customSchema(tool, report)
      if (cache !== undefined) out.cache_control = cacheControl(cache)
      return [out]
    }
    case 'native': {
      const { type: _, format, value, cache: _cache, extra, at: _at, deferred: _deferred, ...rest } = tool
      rest satisfies Nothing
      ownExtra(extra, 'messages', at, report)
      if (format === 'messages') return [value]
      report.add(loss(at, `the tool '${nativeToolName(value)}' has no counterpart in messages`))
      return []
    }
    default:
      return tool satisfies never
  }
}

/** Adds `type`, which Anthropic requires. A schema without it means an object. */
function withObjectType(schema: JsonObject | undefined): JsonObject {
  if (schema === undefined) return { type: 'object', properties: {} }
  return schema.type === undefined ? { type: 'object', ...schema } : schema
}

/** Reports a tool without a name. Other invalid names are rewritten. */
export function checkToolName(name: string, at: string, context: CodecContext): void {
  if (name === '') context.report.add(loss(at, 'a tool without a name is not accepted', 'unsupported', 'fatal'))
}
