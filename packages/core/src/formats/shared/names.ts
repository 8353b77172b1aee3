import type { ModelRequest, Part, Report, SettingsChange, Tool, ToolChoice, Turn } from '../ir.ts'
import { loss } from './report.ts'

/** The tool names that a format accepts. */
export interface NameRule {
  /** Matches an accepted name. */
  readonly accepted: RegExp
  /** Matches each character that is not accepted; with the flags `g` and `u`. */
  readonly refused: RegExp
  readonly longest: number
  /** Returns whether a tool is sent under another name anyway, so that its own is not checked. */
  readonly skips?: (tool: Tool) => boolean
}

interface Names {
  /** Maps between the client's names and the upstream's names. */
  readonly lowered: ReadonlyMap<string, string>
  readonly raised: ReadonlyMap<string, string>
}

const none: Names = { lowered: new Map(), raised: new Map() }
const known = new WeakMap<ModelRequest, Map<NameRule, Names>>()

/**
 * Replaces tool names that the upstream rejects, in tools, tool choice, earlier calls and results. A replacement is short and ends with a
 * hash, so that it is the same in every turn without any state; `restoreToolName` reverses it. Returns the same request if no name changes.
 */
export function shortenToolNames(request: ModelRequest, rule: NameRule, report: Report): ModelRequest {
  if (!anyRefused(request, rule)) return request
  const { lowered } = namesOf(request, rule)
  if (lowered.size === 0) return request
  const reported = new Set<string>()
  const rename = (name: string, at: string | undefined): string => {
    const short = lowered.get(name)
    if (short === undefined) return name
    if (!reported.has(name)) report.add(loss(at ?? '', describe(name, short), 'approximated', 'note'))
    reported.add(name)
    return short
  }
  const out: ModelRequest = { ...request }
  const { tools } = request
  if (tools !== undefined) {
    out.tools = { ...tools, list: tools.list.map((tool) => renameTool(tool, rule, rename)) }
    if (tools.choice !== undefined) out.tools.choice = renameChoice(tools.choice, request, rename)
  }
  out.turns = request.turns.map((turn) => renameTurn(turn, rule, rename))
  return out
}

/** Returns the client's name of a tool that the upstream called. Other names stay unchanged. */
export const restoreToolName = (name: string, request: ModelRequest, rule: NameRule): string =>
  namesOf(request, rule).raised.get(name) ?? name

const describe = (name: string, short: string): string =>
  `the upstream does not accept a tool named '${name.length > 80 ? `${name.slice(0, 80)}…` : name}'; it is sent as '${short}', and its calls are returned with the original name`

function namesOf(request: ModelRequest, rule: NameRule): Names {
  let byRule = known.get(request)
  if (byRule === undefined) {
    byRule = new Map()
    known.set(request, byRule)
  }
  let names = byRule.get(rule)
  if (names === undefined) {
    names = findNames(request, rule)
    byRule.set(rule, names)
  }
  return names
}

/** Returns whether any name is not accepted. Most requests have none and need no maps. */
function anyRefused({ tools, turns }: ModelRequest, rule: NameRule): boolean {
  const isRefused = (name: string): boolean => name !== '' && !isTaken(name, rule)
  if (tools !== undefined) {
    for (const tool of tools.list) if (tool.type !== 'native' && isRefused(tool.name)) return true
    const { choice } = tools
    if (typeof choice === 'object' && ('name' in choice ? isRefused(choice.name) : choice.allowed.some(isRefused)))
      return true
  }
  for (const { parts } of turns)
    for (const part of parts)
      if ((part.type === 'tool-call' || part.type === 'tool-result') && part.name !== undefined && isRefused(part.name))
        return true
  return false
}

const isTaken = (name: string, rule: NameRule): boolean => name.length <= rule.longest && rule.accepted.test(name)

/** Collects accepted names first, so that a shortened name never equals one of them. */
function findNames(request: ModelRequest, rule: NameRule): Names {
  const used = new Set<string>()
  const refused = new Set<string>()
  const skipped = new Set<string>()
  const see = (name: string): void => {
    if (name === '' || skipped.has(name)) return
    if (isTaken(name, rule)) used.add(name)
    else refused.add(name)
  }
  for (const tool of request.tools?.list ?? []) {
    if (rule.skips?.(tool) && tool.type !== 'native') skipped.add(tool.name)
    else if (tool.type !== 'native') see(tool.name)
    // A native tool keeps its name; no other tool may use it.
    else if (typeof tool.value.name === 'string') used.add(tool.value.name)
  }
  const choice = request.tools?.choice
  if (typeof choice === 'object') for (const name of 'name' in choice ? [choice.name] : choice.allowed) see(name)
  for (const { parts } of request.turns)
    for (const part of parts)
      if (part.type === 'tool-call') see(part.name)
      else if (part.type === 'tool-result' && part.name !== undefined) see(part.name)
  if (refused.size === 0) return none
  const lowered = new Map<string, string>()
  const raised = new Map<string, string>()
  for (const name of refused) {
    let short = shorten(name, rule, name)
    for (let n = 2; used.has(short) || skipped.has(short); n++) short = shorten(name, rule, `${n}\n${name}`)
    used.add(short)
    lowered.set(name, short)
    raised.set(short, name)
  }
  return { lowered, raised }
}

function shorten(name: string, rule: NameRule, hashed: string): string {
  const mark = `_${hash(hashed)}`
  // One character is reserved: a format may reject the first one.
  const short = name.replace(rule.refused, '_').slice(0, rule.longest - mark.length - 1) + mark
  return rule.accepted.test(short) ? short : `_${short}`
}

/** FNV-1a in eight hexadecimal digits, so that names with the same beginning stay different. */
export function hash(text: string): string {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  return (value >>> 0).toString(16).padStart(8, '0')
}

type Rename = (name: string, at: string | undefined) => string

const renameTool = (tool: Tool, rule: NameRule, rename: Rename): Tool =>
  tool.type === 'native' || rule.skips?.(tool) ? tool : { ...tool, name: rename(tool.name, tool.at) }

function renameChoice(choice: ToolChoice, { at }: ModelRequest, rename: Rename): ToolChoice {
  if (typeof choice === 'string') return choice
  const place = at?.['tools.choice']
  return 'name' in choice
    ? { name: rename(choice.name, place) }
    : { ...choice, allowed: choice.allowed.map((name) => rename(name, place)) }
}

function renameTurn(turn: Turn, rule: NameRule, rename: Rename): Turn {
  if (turn.changes !== undefined)
    return { ...turn, changes: turn.changes.map((one) => renameChange(one, rule, rename)) }
  const named = (part: Part): boolean => part.type === 'tool-call' || part.type === 'tool-result'
  if (!turn.parts.some(named)) return turn
  const renamed = (part: Part): Part => {
    if (part.type === 'tool-call') return { ...part, name: rename(part.name, part.at) }
    if (part.type !== 'tool-result' || part.name === undefined) return part
    return { ...part, name: rename(part.name, part.at) }
  }
  return { ...turn, parts: turn.parts.map(renamed) }
}

function renameChange(change: SettingsChange, rule: NameRule, rename: Rename): SettingsChange {
  const { addedTools, removedTools, at } = change
  const out: SettingsChange = { ...change }
  if (addedTools !== undefined) out.addedTools = addedTools.map((tool) => renameTool(tool, rule, rename))
  if (removedTools !== undefined) out.removedTools = removedTools.map((name) => rename(name, at))
  return out
}

/**
 * Creates a function that makes names unique: the wanted name, otherwise the name with the first free number from 2. The search continues
 * where it ended for the same name, because many equal names would otherwise take quadratic time.
 *
 * @param separator text between the name and its number
 * @param used names that exist already
 */
export function createUniqueNames(separator: string, used: Iterable<string>): (wanted: string) => string {
  const names = new Set(used)
  const last = new Map<string, number>()
  return (wanted) => {
    let name = wanted
    if (names.has(name)) {
      let number = last.get(wanted) ?? 1
      do name = `${wanted}${separator}${++number}`
      while (names.has(name))
      last.set(wanted, number)
    }
    names.add(name)
    return name
  }
}

/** Maps the ids of a conversation's tool calls to ids that the upstream accepts. A call and its result get the same id. */
export interface ToolIds {
  ofCall(id: string): string
  ofResult(id: string): string
}

/**
 * Creates the mapping for a conversation. Accepted ids stay unchanged. Others are rewritten and never collide with another id of the
 * conversation. Calls without an id are numbered, and results without an id belong to these calls in order.
 */
export function createToolIds(turns: readonly Turn[], rule: NameRule): ToolIds {
  let uniqueId: ((wanted: string) => string) | undefined
  const rewritten = new Map<string, string>()
  /** Ids of the calls that came without one, and how many results have used them. */
  const numbered: string[] = []
  let resultCount = 0
  let numberedCount = 0

  const createId = (wanted: string): string => {
    uniqueId ??= createUniqueNames(
      '_',
      turns.flatMap(({ parts }) => parts.map(callIdOf)).filter((id) => isTaken(id, rule)),
    )
    return uniqueId(wanted)
  }
  const rewrite = (id: string): string => {
    if (isTaken(id, rule)) return id
    let accepted = rewritten.get(id)
    if (accepted === undefined) {
      accepted = createId(shortenId(id.replace(rule.refused, '_'), rule.longest))
      rewritten.set(id, accepted)
    }
    return accepted
  }
  const numberCall = (): string => createId(`call_${++numberedCount}`)

  return {
    ofCall(id) {
      if (id !== '') return rewrite(id)
      const accepted = numberCall()
      numbered.push(accepted)
      return accepted
    },
    ofResult: (id) => (id === '' ? (numbered[resultCount++] ?? numberCall()) : rewrite(id)),
  }
}

const callIdOf = (part: Part): string =>
  part.type === 'tool-call' ? part.id : part.type === 'tool-result' ? part.callId : ''

/** Shortens an id with a hash, so that ids with the same beginning stay different. */
const shortenId = (id: string, longest: number): string =>
  id.length <= longest ? id : `${id.slice(0, longest - 13)}_${hash(id)}`
