import { isObject } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { ModelRequest, Tool } from '../ir.ts'
import { findTool, hash } from '../shared/tool-names.ts'

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
