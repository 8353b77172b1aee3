import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
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
import { pointer } from '../shared/pointers.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { findTool, nativeToolName } from '../shared/tools.ts'

type NamedTool = Exclude<Tool, { type: 'native' }>

export function decodeTools(tools: readonly Json[], at: string): Tool[] {
  return tellApart(tools.flatMap((tool, index) => decodeTool(tool, pointer(at, index))))
}

/**
 * The tools of a namespace become tools of their own. A tool search that the client runs becomes a function of that
 * name; what it was is kept beside it, and restored for its own format.
 */
function decodeTool(source: Json, at: string): Tool[] {
  if (!isObject(source)) return [{ type: 'native', format: 'responses', value: { value: source }, at }]
  if (source.type === 'namespace') return decodeNamespace(source, at)
  if (isClientSearch(source)) {
    const tool: Tool = { type: 'function', name: searchName, at, extra: { responses: { native: source } } }
    if (typeof source.description === 'string') tool.description = source.description
    if (isObject(source.parameters)) tool.schema = source.parameters
    return [tool]
  }
  return [decodePlain(source, at) ?? { type: 'native', format: 'responses', value: source, at }]
}

export const searchName = 'tool_search'
const isClientSearch = (tool: JsonObject): boolean => tool.type === 'tool_search' && tool.execution === 'client'

/** Undefined: a tool that only this format knows. */
function decodePlain(source: JsonObject, at: string): NamedTool | undefined {
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
  // Functions are strict here unless they say otherwise, as far as their schema allows it. Elsewhere they are not.
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
  } else if (isObject(format) && format.type === 'text') drop(fields, 'format') // what a custom tool is anyway
  return tool
}

function decodeNamespace(source: JsonObject, at: string): Tool[] {
  const { type: _, name, tools, ...others } = source
  const kept: Tool[] = [{ type: 'native', format: 'responses', value: source, at }]
  if (typeof name !== 'string' || !Array.isArray(tools) || tools.length === 0) return kept
  const members: Tool[] = []
  for (const [index, inner] of tools.entries()) {
    const tool = isObject(inner) ? decodePlain(inner, pointer(pointer(at, 'tools'), index)) : undefined
    if (tool === undefined) return kept
    const member = { namespace: name, name: tool.name }
    members.push({
      ...tool,
      name: memberName(member, undefined),
      extra: { responses: { ...tool.extra?.responses, namespace: keepMember(member, others) } },
    })
  }
  return members
}

/** The tools with which an answer can be told: those of another format only are reported, and left out. */
export function encodeTools(list: readonly Tool[], ownClient: boolean, context: CodecContext): JsonObject[] {
  const out: JsonObject[] = []
  let open: { name: string; tools: JsonObject[] } | undefined
  for (const tool of list) {
    if (tool.deferred === true || tool.extra?.responses?.loaded === true) continue // stands in the conversation, where the client put it
    const encoded = encodeTool(tool, ownClient, context)
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

function encodeTool(tool: Tool, ownClient: boolean, context: CodecContext): JsonObject | undefined {
  const at = tool.at ?? ''
  const {
    native,
    namespace: _namespace,
    loaded: _loaded,
    ...own
  } = ownExtra(tool.extra, 'responses', at, context.report) ?? {}
  if (tool.cache !== undefined)
    context.report.add(
      loss(pointer(at, 'cache_control'), 'a cache hint on a tool has no form in responses', 'unsupported', 'note'),
    )
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
      const held = ownClient
        ? { schema, strict }
        : enforce(schema, strict, at, (detail, severity) =>
            context.report.add(loss(at, detail, 'approximated', severity)),
          )
      out.parameters = held.schema ?? { type: 'object', properties: {} }
      // Elsewhere a function that says nothing is not strict; here it would be.
      put(out, 'strict', held.strict ?? (ownClient ? undefined : false))
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

/** The tools a conversation brings along: they are offered like the others, and written where they stand. */
export function addLoaded(request: ModelRequest, loaded: readonly Tool[]): void {
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

/** The tool of this format that a tool of the request stands for; it is raised again when it is called. */
export function nativeOf(name: string, tools: ModelRequest['tools']): JsonObject | undefined {
  const native = findTool(name, tools)?.extra?.responses?.native
  return isObject(native) ? native : undefined
}

/**
 * A namespace groups tools, and its members' names are unique only within it. Elsewhere a member is called
 * `namespace__member`; a call of that name is told to the client under its own two names again.
 */
export interface Member {
  namespace: string
  name: string
}

const plainName = ({ namespace, name }: Member): string => `${namespace}__${name}`
const keyOf = ({ namespace, name }: Member): string => JSON.stringify([namespace, name])

const byList = new WeakMap<readonly Tool[], ReadonlyMap<string, string>>()

/** What a member is called elsewhere: as the request's tools say, where they hold it. */
export function memberName(member: Member, tools: ModelRequest['tools']): string {
  if (tools === undefined) return plainName(member)
  let names = byList.get(tools.list)
  if (names === undefined) {
    names = new Map(tools.list.flatMap((tool) => namedMember(tool)))
    byList.set(tools.list, names)
  }
  return names.get(keyOf(member)) ?? plainName(member)
}

function namedMember(tool: Tool): [string, string][] {
  const member = memberOf(tool)
  return tool.type === 'native' || member === undefined ? [] : [[keyOf(member), tool.name]]
}

/** The tools with names of their own: `a__b` of a namespace and a function of that name, say, are two tools. */
export function tellApart(tools: Tool[]): Tool[] {
  const owners = new Map<string, string>()
  for (const tool of tools) if (tool.type !== 'native' && memberOf(tool) === undefined) owners.set(tool.name, '')
  return tools.map((tool) => {
    const member = memberOf(tool)
    if (tool.type === 'native' || member === undefined) return tool
    const key = keyOf(member)
    let name = plainName(member)
    for (let n = 1; (owners.get(name) ?? key) !== key; n++) name = `${plainName(member)}_${hash(`${n}\n${key}`)}`
    owners.set(name, key)
    return name === tool.name ? tool : { ...tool, name }
  })
}

/** The member a lowered tool stands for; undefined for a tool of no namespace. */
export function memberOf(tool: Tool): Member | undefined {
  const namespace = tool.extra?.responses?.namespace
  if (tool.type === 'native' || !isObject(namespace) || typeof namespace.name !== 'string') return undefined
  return { namespace: namespace.name, name: typeof namespace.member === 'string' ? namespace.member : tool.name }
}

/** The two names behind a lowered one, where a tool of the request is called so. */
export function findMember(name: string, tools: ModelRequest['tools']): Member | undefined {
  const tool = findTool(name, tools)
  return tool === undefined ? undefined : memberOf(tool)
}

/**
 * How a member's names are kept with a tool or a call.
 *
 * @param others what else the namespace says; shared by its members, since copies would multiply it by their number
 */
export const keepMember = ({ namespace, name }: Member, others?: JsonObject): JsonObject =>
  others === undefined ? { name: namespace, member: name } : { name: namespace, member: name, others }

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
