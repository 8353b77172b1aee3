import type { JsonObject, ModelRequest, Tool } from '../ir.ts'
import { isObject } from '../shared/reader.ts'

/**
 * A namespace groups tools, and its members' names are unique only within it. Elsewhere a member is called
 * `namespace__member`; a call of that name is told to the client under its own two names again.
 */
export interface Member {
  namespace: string
  name: string
}

/** What most servers take as a tool's name. */
const longest = 64

export function loweredName({ namespace, name }: Member): string {
  const whole = `${namespace}__${name}`
  if (whole.length <= longest) return whole
  return `${whole.slice(0, longest - 9)}_${hash(whole)}`
}

/** FNV-1a: two long names that begin alike must not meet. */
function hash(text: string): string {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  return (value >>> 0).toString(16).padStart(8, '0')
}

/** The member a lowered tool stands for; undefined for a tool of no namespace. */
export function memberOf(tool: Tool): Member | undefined {
  const namespace = tool.extra?.responses?.namespace
  if (tool.type === 'native' || !isObject(namespace) || typeof namespace.name !== 'string') return undefined
  return { namespace: namespace.name, name: typeof namespace.member === 'string' ? namespace.member : tool.name }
}

const byList = new WeakMap<readonly Tool[], ReadonlyMap<string, Tool>>()

/** The tool of this name, if the request has one. Every call asks, so the names of a list are gone through only once. */
export function findTool(name: string, tools: ModelRequest['tools']): Tool | undefined {
  if (tools === undefined) return undefined
  let names = byList.get(tools.list)
  if (names === undefined) {
    names = new Map(tools.list.flatMap((tool) => (tool.type === 'native' ? [] : [[tool.name, tool]])))
    byList.set(tools.list, names)
  }
  return names.get(name)
}

/** The two names behind a lowered one, where a tool of the request is called so. */
export function findMember(name: string, tools: ModelRequest['tools']): Member | undefined {
  const tool = findTool(name, tools)
  return tool === undefined ? undefined : memberOf(tool)
}

/** How a member's names are kept with a tool or a call. */
export const keepMember = ({ namespace, name }: Member, others?: JsonObject): JsonObject => ({
  ...others,
  name: namespace,
  member: name,
})
