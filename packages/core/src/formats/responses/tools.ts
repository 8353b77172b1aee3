import { isObject, type Json, type JsonObject, pointer, put } from '../../base/json/json.ts'
import { enforce, isStrictSchema } from '../chat/strict-schema.ts'
import type { CodecContext } from '../codec.ts'
import type { ModelRequest, Nothing, Tool, ToolChoice } from '../ir.ts'
import {
  drop,
  dropNulls,
  leftover,
  takeBoolean,
  takeObject,
  takeString,
  type Unread,
  unread,
} from '../shared/json-fields.ts'
import { hash } from '../shared/names.ts'
import { cachePlace, loss, ownExtra } from '../shared/report.ts'
import { findTool, nativeToolName } from '../shared/tools.ts'

type NamedTool = Exclude<Tool, { type: 'native' }>

/** Decodes tools. Members of namespaces get unique flattened names. */
export function decodeTools(tools: readonly Json[], at: string): Tool[] {
  return makeNamesUnique(tools.flatMap((tool, index) => decodeTool(tool, pointer(at, index))))
}

/**
 * The members of a namespace become separate tools. A tool search that the client runs becomes a function of that name;
 * `extra` keeps the original, which is restored for upstreams of this format.
 */
function decodeTool(source: Json, at: string): Tool[] {
  if (!isObject(source)) return [{ type: 'native', format: 'responses', value: { value: source }, at }]
  if (source.type === 'namespace') return decodeNamespace(source, at)
  if (isClientSearch(source)) {
    const tool: Tool = { type: 'function', name: toolSearchName, at, extra: { responses: { native: source } } }
    if (typeof source.description === 'string') tool.description = source.description
    if (isObject(source.parameters)) tool.schema = source.parameters
    return [tool]
  }
  return [decodeNamedTool(source, at) ?? { type: 'native', format: 'responses', value: source, at }]
}

/** The name of the function that stands for a tool search of the client. */
export const toolSearchName = 'tool_search'
const isClientSearch = (tool: JsonObject): boolean => tool.type === 'tool_search' && tool.execution === 'client'

/** Decodes a function or custom tool. Returns undefined for tools that only this format knows. */
function decodeNamedTool(source: JsonObject, at: string): NamedTool | undefined {
  if ((source.type !== 'function' && source.type !== 'custom') || typeof source.name !== 'string') return undefined
  const fields = unread(source)
  drop(fields, 'type')
  const tool = source.type === 'function' ? decodeFunction(fields, at) : decodeCustom(fields, at)
  put(tool, 'description', takeString(fields, 'description'))
  dropNulls(fields)
  const rest = leftover(fields)
  if (rest !== undefined) tool.extra = { responses: rest }
  return tool
}

function decodeFunction(fields: Unread, at: string): NamedTool {
  const tool: Extract<Tool, { type: 'function' }> = { type: 'function', name: takeString(fields, 'name') ?? '', at }
  put(tool, 'schema', takeObject(fields, 'parameters'))
  // This format's functions are strict by default if their schema allows it. Functions of other formats are not.
  put(tool, 'strict', takeBoolean(fields, 'strict') ?? (isStrictSchema(tool.schema, at) ? true : undefined))
  return tool
}

function decodeCustom(fields: Unread, at: string): NamedTool {
  const tool: Extract<Tool, { type: 'custom' }> = { type: 'custom', name: takeString(fields, 'name') ?? '', at }
  const { format } = fields
  if (isObject(format) && format.type === 'grammar') {
    const { type: _, ...grammar } = format
    tool.grammar = grammar
    drop(fields, 'format')
  } else if (isObject(format) && format.type === 'text') drop(fields, 'format') // the default of custom tools
  return tool
}

function decodeNamespace(source: JsonObject, at: string): Tool[] {
  const { type: _, name, tools, ...others } = source
  const kept: Tool[] = [{ type: 'native', format: 'responses', value: source, at }]
  if (typeof name !== 'string' || !Array.isArray(tools) || tools.length === 0) return kept
  const members: Tool[] = []
  for (const [index, inner] of tools.entries()) {
    const tool = isObject(inner) ? decodeNamedTool(inner, pointer(pointer(at, 'tools'), index)) : undefined
    if (tool === undefined) return kept
    const member = { namespace: name, name: tool.name }
    members.push({
      ...tool,
      name: memberName(member, undefined),
      extra: { responses: { ...tool.extra?.responses, namespace: memberExtra(member, others) } },
    })
  }
  return members
}

/** Encodes tools. Native tools of other formats are reported and omitted. */
export function encodeTools(list: readonly Tool[], isResponsesClient: boolean, context: CodecContext): JsonObject[] {
  const out: JsonObject[] = []
  let open: { name: string; tools: JsonObject[] } | undefined
  for (const tool of list) {
    if (tool.deferred === true || tool.extra?.responses?.loaded === true) continue // an item of the conversation offers it
    const encoded = encodeTool(tool, isResponsesClient, context)
    if (encoded === undefined) continue
    const namespace = tool.extra?.responses?.namespace
    const member = memberOf(tool)
    if (member === undefined || !isObject(namespace)) {
      open = undefined
      out.push(encoded)
      continue
    }
    if (open?.name !== member.namespace) {
      open = { name: member.namespace, tools: [] }
      out.push({
        ...(isObject(namespace.others) ? namespace.others : undefined),
        type: 'namespace',
        name: member.namespace,
        tools: open.tools,
      })
    }
    open.tools.push({ ...encoded, name: member.name })
  }
  return out
}

function encodeTool(tool: Tool, isResponsesClient: boolean, context: CodecContext): JsonObject | undefined {
  const at = tool.at ?? ''
  const {
    native,
    namespace: _namespace,
    loaded: _loaded,
    ...own
  } = ownExtra(tool.extra, 'responses', at, context.report) ?? {}
  if (tool.cache !== undefined)
    context.report.add(loss(cachePlace(tool), 'responses has no cache hints on tools', 'unsupported', 'note'))
  switch (tool.type) {
    case 'function': {
      const {
        type,
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
      if (isObject(native)) return native
      const out: JsonObject = { ...own, type, name }
      put(out, 'description', description)
      const enforced = isResponsesClient
        ? { schema, strict }
        : enforce(schema, strict, at, (detail, severity) =>
            context.report.add(loss(at, detail, 'approximated', severity)),
          )
      out.parameters = enforced.schema ?? { type: 'object', properties: {} }
      // Other formats' functions are not strict by default; here they would be.
      put(out, 'strict', enforced.strict ?? (isResponsesClient ? undefined : false))
      return out
    }
    case 'custom': {
      const {
        type,
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
      const out: JsonObject = { ...own, type, name }
      put(out, 'description', description)
      if (grammar !== undefined) out.format = { type: 'grammar', ...grammar }
      return out
    }
    case 'native': {
      const { type: _, format, value, at: _at, cache: _cache, extra: _extra, deferred: _deferred, ...rest } = tool
      rest satisfies Nothing
      if (format === 'responses') return value
      context.report.add(loss(at, `the tool '${nativeToolName(value)}' has no counterpart in responses`))
      return undefined
    }
    default:
      return tool satisfies never
  }
}

/** Adds the tools that items of the conversation load. They are offered like the others, and encoded within their items. */
export function addLoadedTools(request: ModelRequest, loaded: readonly Tool[]): void {
  if (loaded.length === 0) return
  const tools = request.tools ?? { list: [] }
  const known = new Set(tools.list.map((tool) => (tool.type === 'native' ? '' : tool.name)))
  const news: Tool[] = []
  for (const tool of loaded) {
    if (tool.type === 'native' || known.has(tool.name)) continue
    known.add(tool.name)
    news.push({ ...tool, extra: { responses: { ...tool.extra?.responses, loaded: true } } })
  }
  request.tools = { ...tools, list: [...tools.list, ...news] }
}

/** Returns the native tool behind a function of the request, whose calls are encoded as native items. */
export function nativeToolOf(name: string, tools: ModelRequest['tools']): JsonObject | undefined {
  const native = findTool(name, tools)?.extra?.responses?.native
  return isObject(native) ? native : undefined
}

/**
 * A namespace groups tools, and its members' names are unique only within it. Other formats get a member as
 * `namespace__member`; a call of that name reaches the client under both names again.
 */
export interface Member {
  namespace: string
  name: string
}

const joinedName = ({ namespace, name }: Member): string => `${namespace}__${name}`
const memberKey = ({ namespace, name }: Member): string => JSON.stringify([namespace, name])

const namesByList = new WeakMap<readonly Tool[], ReadonlyMap<string, string>>()

/** Returns a member's flattened name: that of the request's tool, if there is one. */
export function memberName(member: Member, tools: ModelRequest['tools']): string {
  if (tools === undefined) return joinedName(member)
  let names = namesByList.get(tools.list)
  if (names === undefined) {
    names = new Map(tools.list.flatMap((tool) => memberEntry(tool)))
    namesByList.set(tools.list, names)
  }
  return names.get(memberKey(member)) ?? joinedName(member)
}

function memberEntry(tool: Tool): [string, string][] {
  const member = memberOf(tool)
  return tool.type === 'native' || member === undefined ? [] : [[memberKey(member), tool.name]]
}

/** Makes flattened names unique: a namespace's `a__b` and a function `a__b` are two tools. */
function makeNamesUnique(tools: Tool[]): Tool[] {
  const owners = new Map<string, string>()
  for (const tool of tools) if (tool.type !== 'native' && memberOf(tool) === undefined) owners.set(tool.name, '')
  return tools.map((tool) => {
    const member = memberOf(tool)
    if (tool.type === 'native' || member === undefined) return tool
    const key = memberKey(member)
    let name = joinedName(member)
    for (let n = 1; (owners.get(name) ?? key) !== key; n++) name = `${joinedName(member)}_${hash(`${n}\n${key}`)}`
    owners.set(name, key)
    return name === tool.name ? tool : { ...tool, name }
  })
}

/** Returns the namespace member behind a tool, or undefined. */
export function memberOf(tool: Tool): Member | undefined {
  const namespace = tool.extra?.responses?.namespace
  if (tool.type === 'native' || !isObject(namespace) || typeof namespace.name !== 'string') return undefined
  return { namespace: namespace.name, name: typeof namespace.member === 'string' ? namespace.member : tool.name }
}

/** Returns the namespace member behind a flattened name, if a tool of the request has that name. */
export function findMember(name: string, tools: ModelRequest['tools']): Member | undefined {
  const tool = findTool(name, tools)
  return tool === undefined ? undefined : memberOf(tool)
}

/**
 * Returns the `extra` value that keeps a member's names with a tool or a call.
 *
 * @param others the namespace's other fields, one object for all members: copies would multiply them by the number of members
 */
export const memberExtra = ({ namespace, name }: Member, others?: JsonObject): JsonObject =>
  others === undefined ? { name: namespace, member: name } : { name: namespace, member: name, others }

/** Decodes a tool choice. Returns undefined for tools that only this format knows (`mcp`, hosted tools), which the caller keeps unchanged. */
export function decodeChoice(choice: Json, tools: ModelRequest['tools']): ToolChoice | undefined {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return choice
  if (!isObject(choice)) return undefined
  if (choice.type === 'allowed_tools' || (choice.type === undefined && Array.isArray(choice.tools))) {
    const names = Array.isArray(choice.tools) ? choice.tools.map((tool) => chosenName(tool, tools)) : [undefined]
    const mode = choice.mode === 'required' ? 'required' : 'auto'
    return names.every((name) => name !== undefined) ? { allowed: names, mode } : undefined
  }
  const name = chosenName(choice, tools)
  return name === undefined ? undefined : { name }
}

function chosenName(choice: Json, tools: ModelRequest['tools']): string | undefined {
  if (!isObject(choice) || (choice.type !== 'function' && choice.type !== 'custom')) return undefined
  const { name, namespace } = choice
  if (typeof name !== 'string') return undefined
  return typeof namespace === 'string' ? memberName({ namespace, name }, tools) : name
}

/** Encodes a tool choice. */
export function encodeChoice(choice: ToolChoice, tools: ModelRequest['tools']): Json {
  if (typeof choice === 'string') return choice
  const reference = (name: string): JsonObject => {
    const native = nativeToolOf(name, tools)
    if (native !== undefined) return { type: native.type ?? null }
    const type = findTool(name, tools)?.type === 'custom' ? 'custom' : 'function'
    return { type, ...(findMember(name, tools) ?? { name }) }
  }
  return 'name' in choice
    ? reference(choice.name)
    : { type: 'allowed_tools', mode: choice.mode, tools: choice.allowed.map(reference) }
}
