import type { UpstreamFormat } from '../../base/names.ts'
import type { AcceptedChanges } from '../codec.ts'
import type { ModelRequest, Report, SettingsChange, Tool, Turn } from '../ir.ts'
import { pointer } from './pointers.ts'
import { loss, ownExtra } from './report.ts'
import { nativeToolName } from './tools.ts'

const isSystem = ({ role }: Turn): boolean => role === 'system' || role === 'developer'

/** Few conversations change settings: the others skip the work for changes. */
export const hasChanges = ({ turns }: ModelRequest): boolean => turns.some(({ changes }) => changes !== undefined)

/**
 * Applies changes of settings that the target does not accept to the whole request: the values at the end of the conversation
 * are those of the next answer. Each such change is reported, unless nothing was said before it. Returns the same request where
 * there is nothing to apply.
 */
export function applySettingsChanges(
  request: ModelRequest,
  accepted: AcceptedChanges,
  own: UpstreamFormat,
  report: Report,
): ModelRequest {
  if (!hasChanges(request)) return request
  const isRemoving = request.turns.some(({ changes }) =>
    changes?.some(({ removedTools }) => removedTools !== undefined),
  )
  // Tools that are added and removed by turns cannot be told apart from each other: all of these changes stay, or none.
  const keepsTools = accepted.addedTools === true && (accepted.removedTools === true || !isRemoving)
  const settled = createSettled(request)
  const turns: Turn[] = []
  let isLeading = true
  for (const turn of request.turns) {
    isLeading &&= isSystem(turn)
    if (turn.changes === undefined) {
      turns.push(turn)
      continue
    }
    const kept: SettingsChange[] = []
    for (const change of turn.changes) {
      const rest = isLeading
        ? settled.apply(change, {}, true)
        : settled.apply(change, { ...accepted, addedTools: keepsTools, removedTools: keepsTools }, false)
      if (rest !== undefined) kept.push(rest)
      else reportBeside(change, own, report)
    }
    const { changes: _, ...bare } = turn
    if (kept.length > 0) turns.push({ ...bare, changes: kept })
    else if (turn.parts.length > 0 || turn.extra !== undefined) turns.push(bare)
  }
  settled.report(report)
  return { ...settled.request(), turns }
}

/** What a change says beside its settings, where nothing of it is left. */
function reportBeside({ at = '', cache, extra }: SettingsChange, own: UpstreamFormat, report: Report): void {
  if (cache !== undefined)
    report.add(loss(pointer(at, 'cache_control'), 'the block that it marks is not sent', 'unsupported', 'note'))
  const fields = ownExtra(extra, own, at, report)
  for (const key of Object.keys(fields ?? {})) report.add(loss(pointer(at, key), 'there is no block to carry it'))
}

interface Settled {
  /** Applies what is not accepted. Returns the rest of the change; undefined: nothing is left. */
  apply(change: SettingsChange, accepted: AcceptedChanges, isExact: boolean): SettingsChange | undefined
  report(report: Report): void
  request(): ModelRequest
}

function createSettled(request: ModelRequest): Settled {
  let { reasoning, output } = request
  const { tools } = request
  let unnamed = 0
  const at: { [irField: string]: string } = { ...request.at }
  const offered = new Map<string, Tool>()
  const offer = (tool: Tool): void => void offered.set(keyOf(tool, unnamed++), tool)
  for (const tool of tools?.list ?? []) if (tool.deferred !== true) offer(tool)
  /** Added by changes that stay. */
  const kept = new Set<string>()
  const told: { at: string; detail: () => string }[] = []

  function applyTools({ addedTools, removedTools, at = '' }: SettingsChange, isExact: boolean): void {
    for (const tool of addedTools ?? []) offer(tool)
    for (const name of removedTools ?? []) offered.delete(name)
    if (isExact) return
    const added = (addedTools ?? []).map(nameOf).join(', ')
    if (added !== '')
      told.push({
        at,
        detail: () => `tools cannot be added within a conversation here: ${added} is offered from its start`,
      })
    if (removedTools !== undefined)
      told.push({
        at,
        detail: () =>
          `tools cannot be removed within a conversation here: ${removedTools.join(', ')} is left out unless added again`,
      })
  }

  return {
    apply(change, accepted, isExact) {
      const { effort, format, addedTools, removedTools, ...rest } = change
      const left: SettingsChange = { ...rest }
      const place = change.at ?? ''
      if (effort !== undefined && accepted.effort) left.effort = effort
      else if (effort !== undefined) {
        reasoning = { ...reasoning, effort }
        at['reasoning.effort'] = place
        if (!isExact)
          told.push({
            at: place,
            detail: () =>
              `the effort cannot change within a conversation here: the last one, '${reasoning?.effort}', applies to all of it`,
          })
      }
      if (format !== undefined && accepted.format) left.format = format
      else if (format !== undefined) {
        output = { ...output, format }
        at['output.format'] = place
        if (!isExact)
          told.push({
            at: place,
            detail: () => 'the format of answers cannot change within a conversation here: the last one applies',
          })
      }
      if (accepted.addedTools) {
        if (addedTools !== undefined) left.addedTools = addedTools
        if (removedTools !== undefined) left.removedTools = removedTools
        for (const tool of addedTools ?? []) kept.add(nameOf(tool))
      } else applyTools(change, isExact)
      const isLeft = left.effort ?? left.format ?? left.addedTools ?? left.removedTools
      return isLeft === undefined ? undefined : left
    },
    report(report) {
      for (const { at, detail } of told) report.add(loss(at, detail(), 'approximated', 'note'))
    },
    request() {
      const out: ModelRequest = { ...request, at }
      if (reasoning !== undefined) out.reasoning = reasoning
      if (output !== undefined) out.output = output
      const later = (tools?.list ?? []).filter(
        (tool) => tool.deferred === true && kept.has(nameOf(tool)) && !offered.has(nameOf(tool)),
      )
      const list = [...offered.values(), ...later]
      if (tools !== undefined || list.length > 0) out.tools = { ...tools, list }
      return out
    },
  }
}

const nameOf = (tool: Tool): string => (tool.type === 'native' ? nativeToolName(tool.value) : tool.name)

/** Tools of a format's own need not have names. */
const keyOf = (tool: Tool, count: number): string =>
  tool.type === 'native' && typeof tool.value.name !== 'string' ? `\n${count}` : nameOf(tool)

/**
 * The tools of a request with those that its turns add.
 *
 * @param isHidden whether a tool of the request is not offered at first, according to its own fields
 */
export function withAddedTools(
  tools: ModelRequest['tools'],
  turns: readonly Turn[],
  isHidden: (tool: Tool) => boolean,
): ModelRequest['tools'] {
  const added = turns.flatMap(({ changes }) => changes?.flatMap(({ addedTools }) => addedTools ?? []) ?? [])
  if (added.length === 0) return tools
  const names = new Set<string>()
  for (const tool of added) if (tool.type !== 'native') names.add(tool.name)
  const list = (tools?.list ?? []).map(
    (tool): Tool =>
      tool.type !== 'native' && names.has(tool.name) && isHidden(tool) ? { ...tool, deferred: true } : tool,
  )
  const known = new Set(list.map((tool) => (tool.type === 'native' ? '' : tool.name)))
  for (const tool of added) {
    if (tool.type === 'native' || known.has(tool.name)) continue
    known.add(tool.name)
    list.push({ ...tool, deferred: true })
  }
  return { ...tools, list }
}
