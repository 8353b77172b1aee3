import { isObject, type Json, type JsonObject, pointer, put } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type { CacheHint, Located, ModelRequest, Nothing, Report, Tool, ToolChoice } from '../ir.ts'
import { drop, leftover, takeBoolean, takeObject, takeString, type Unread, unread } from '../shared/json-fields.ts'
import { decodeBreakpoint, encodeBreakpoint } from '../shared/prompt-cache.ts'
import { cachePlace, loss, ownExtra } from '../shared/report.ts'
import { nativeToolName } from '../shared/tools.ts'
import type { Quirks } from '../target-traits.ts'
import { enforce } from './strict-schema.ts'

type ToolList = Tool[]

export function decodeTool(source: Json, at: string): Tool {
  if (!isObject(source)) return { type: 'native', format: 'chat', value: { value: source }, at }
  const fields = unread(source)
  const type = source.type ?? (isObject(source.function) ? 'function' : undefined)
  if (type === 'function' && isObject(source.function)) {
    drop(fields, 'type')
    const inner = unread(source.function)
    const tool: Tool = { ...decodeFunction(inner), at }
    return finish(tool, fields, 'function', inner)
  }
  if (type === 'custom' && isObject(source.custom)) {
    drop(fields, 'type')
    const inner = unread(source.custom)
    const tool: Tool = { type: 'custom', name: takeString(inner, 'name') ?? '', at }
    put(tool, 'description', takeString(inner, 'description'))
    const { type: kind, grammar, ...others } = isObject(inner.format) ? inner.format : {}
    const plain = leftover(others) === undefined
    if (plain && kind === 'grammar' && isObject(grammar)) {
      tool.grammar = grammar
      drop(inner, 'format')
    } else if (plain && kind === 'text' && grammar === undefined) drop(inner, 'format') // what a custom tool is anyway
    return finish(tool, fields, 'custom', inner)
  }
  return { type: 'native', format: 'chat', value: source, at }
}

/** Decodes a function of `tools[].function` or of the deprecated `functions[]`. */
export function decodeFunction(fields: Unread): Tool {
  const tool: Tool = { type: 'function', name: takeString(fields, 'name') ?? '' }
  put(tool, 'description', takeString(fields, 'description'))
  put(tool, 'schema', takeObject(fields, 'parameters'))
  put(tool, 'strict', takeBoolean(fields, 'strict'))
  return tool
}

function finish(tool: Tool, fields: Unread, key: 'function' | 'custom', inner: Unread): Tool {
  put(tool, 'cache', decodeCache(fields))
  const rest = leftover(inner)
  if (rest === undefined) drop(fields, key)
  else fields[key] = rest
  const extra = leftover(fields)
  if (extra !== undefined) tool.extra = { chat: extra }
  return tool
}

/** Encodes a tool. Returns undefined, and reports it, for native tools of other formats. `isOwn`: the client speaks chat. */
export function encodeTool(tool: Tool, quirks: Quirks, isOwn: boolean, context: CodecContext): JsonObject | undefined {
  const at = tool.at ?? ''
  const own = ownExtra(tool.extra, 'chat', at, context.report)
  const out: JsonObject = { ...own }
  encodeCache(out, tool, quirks, context.report)
  switch (tool.type) {
    case 'function': {
      const {
        type: _,
        name,
        description,
        schema,
        strict,
        at: _at,
        cache: _cache,
        extra: _extra,
        deferred: _deferred,
        ...rest
      } = tool
      rest satisfies Nothing
      const inner: JsonObject = { ...(isObject(own?.function) ? own.function : undefined), name }
      put(inner, 'description', description)
      const held = isOwn
        ? { schema, strict }
        : enforce(schema, strict, at, (detail, severity) =>
            context.report.add(loss(at, detail, 'approximated', severity)),
          )
      put(inner, 'parameters', held.schema)
      put(inner, 'strict', held.strict)
      return { ...out, type: 'function', function: inner }
    }
    case 'custom': {
      const {
        type: _,
        name,
        description,
        grammar,
        at: _at,
        cache: _cache,
        extra: _extra,
        deferred: _deferred,
        ...rest
      } = tool
      rest satisfies Nothing
      const inner: JsonObject = { ...(isObject(own?.custom) ? own.custom : undefined), name }
      put(inner, 'description', description)
      if (grammar !== undefined) inner.format = { type: 'grammar', grammar }
      return { ...out, type: 'custom', custom: inner }
    }
    case 'native': {
      const { type: _, format, value, at: _at, cache: _cache, extra: _extra, deferred: _deferred, ...rest } = tool
      rest satisfies Nothing
      if (format === 'chat') return value
      context.report.add(loss(at, `the tool '${nativeToolName(value)}' has no counterpart in chat`))
      return undefined
    }
    default:
      tool satisfies never
      return undefined
  }
}

/** Decodes a tool choice. Returns undefined for unknown forms, which the caller keeps verbatim. */
export function decodeChoice(choice: Json): ToolChoice | undefined {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return choice
  if (choice === 'any') return 'required' // Mistral's word
  if (!isObject(choice)) return undefined
  if (choice.type !== 'allowed_tools') {
    const name = namedBy(choice)
    return name === undefined ? undefined : { name }
  }
  const { type: _, allowed_tools: inner, ...outerRest } = choice
  const { mode, tools, ...rest } = isObject(inner) ? inner : {}
  if (leftover(outerRest) !== undefined || leftover(rest) !== undefined || !Array.isArray(tools)) return undefined
  if (mode !== 'auto' && mode !== 'required') return undefined
  const allowed = tools.map(namedBy).filter((name) => name !== undefined)
  return allowed.length === tools.length ? { allowed, mode } : undefined
}

/** Reads `{type: 'function', function: {name}}`, the same for custom tools, or the form without the inner object. */
function namedBy(choice: Json): string | undefined {
  if (!isObject(choice)) return undefined
  const { type: _, function: called, custom, ...rest } = choice
  const inner = called ?? custom ?? rest
  if (!isObject(inner) || (inner !== rest && leftover(rest) !== undefined)) return undefined
  const { name, ...others } = inner
  return typeof name === 'string' && leftover(others) === undefined ? name : undefined
}

export function encodeChoice(choice: ToolChoice, tools: ToolList): Json {
  if (typeof choice === 'string') return choice
  const custom = new Set(tools.flatMap((tool) => (tool.type === 'custom' ? [tool.name] : [])))
  const reference = (name: string): JsonObject =>
    custom.has(name) ? { type: 'custom', custom: { name } } : { type: 'function', function: { name } }
  return 'name' in choice
    ? reference(choice.name)
    : { type: 'allowed_tools', allowed_tools: { mode: choice.mode, tools: choice.allowed.map(reference) } }
}

/** Clients of the deprecated `functions` also expect the deprecated response form. The position of the tools identifies them. */
export const legacyPointer = '/functions'
export const usesFunctions = (request: ModelRequest): boolean => request.at?.tools === legacyPointer

/** Calls of the deprecated form have no id. The position of the message makes one, which is the same in every turn. */
const legacyCall = /^function_call_\d+$/
export const legacyCallId = (message: number): string => `function_call_${message}`
export const isLegacyCall = (id: string): boolean => legacyCall.test(id)

export function encodeFunctions(
  out: JsonObject,
  tools: ToolList,
  choice: ToolChoice | undefined,
  context: CodecContext,
) {
  out.functions = tools.flatMap((tool, index) => {
    const encoded = encodeTool(tool, {}, true, context)
    if (isObject(encoded?.function)) return [encoded.function]
    context.report.add(loss(tool.at ?? pointer('/tools', index), 'cannot be written in the `functions` field'))
    return []
  })
  if (choice === undefined) return
  if (choice === 'auto' || choice === 'none') out.function_call = choice
  else if (typeof choice === 'object' && 'name' in choice) out.function_call = { name: choice.name }
  else context.report.add(loss('/tool_choice', 'this choice cannot be written in the `functions` field'))
}

/** Reads `cache_control`, a field of several providers that chat itself lacks, or OpenAI's breakpoint. Unknown forms stay unread. */
export function decodeCache(fields: Unread): CacheHint | undefined {
  if (!isObject(fields.cache_control)) return decodeBreakpoint(fields)
  const inner = unread(fields.cache_control)
  const { type, ttl } = inner
  drop(inner, 'type')
  drop(inner, 'ttl')
  const fits = type === 'ephemeral' && (ttl === undefined || ttl === '5m' || ttl === '1h')
  if (!fits || leftover(inner) !== undefined) return undefined
  drop(fields, 'cache_control')
  return ttl === '5m' || ttl === '1h' ? { ttl } : {}
}

/**
 * Writes the cache hint of a node.
 *
 * @param isPart the node is content of a message of the client: OpenAI accepts breakpoints there
 */
export function encodeCache(
  out: JsonObject,
  node: Located & { cache?: CacheHint },
  quirks: Quirks,
  report: Report,
  isPart = false,
): void {
  if (node.cache === undefined) return
  const { ttl, isBreakpoint } = node.cache
  // Upstreams without the key have no breakpoints either, and some reject unknown fields.
  if (isPart && isBreakpoint === true && quirks.lacks?.prompt_cache_key === undefined)
    encodeBreakpoint(out, node, report)
  else if (quirks.cacheControl) {
    if (ttl === '30m' || ttl === '12h')
      report.add(loss(cachePlace(node), `the upstream has no lifetime '${ttl}'`, 'approximated', 'note'))
    out.cache_control = { type: 'ephemeral', ...(ttl === '5m' || ttl === '1h' ? { ttl } : {}) }
  } else report.add(loss(cachePlace(node), 'chat completions has no cache hints', 'unsupported', 'note'))
}
