import { pointer } from '../../base/json/json.ts'
import type { UpstreamFormat } from '../../base/names.ts'
import type { AcceptedChanges } from '../codec.ts'
import type { ModelRequest, Report, SettingsChange, Tool, Turn } from '../ir.ts'
import { cachePlace, loss, ownExtra } from './report.ts'
import { nativeToolName } from './tools.ts'

/**
 * Changes of settings within a conversation (effort, response format, tools).
 *
 * A target accepts some kinds of changes at their place in the conversation. All others are applied to the whole request, so that the
 * next response has the last values:
 *
 *     request   effort: low     system  user  assistant  [effort: high]  user
 *     accepted  effort: low     system  user  assistant  [effort: high]  user
 *     otherwise effort: high    system  user  assistant                  user      and a note for the change
 */

const isSystem = ({ role }: Turn): boolean => role === 'system' || role === 'developer'

/** Returns whether a conversation changes settings. Few do: the others skip this work. */
export const hasChanges = ({ turns }: ModelRequest): boolean => turns.some(({ changes }) => changes !== undefined)

/**
 * Applies changes that the target does not accept to the whole request, and reports each of them. A change before the first turn of the
 * user loses nothing by that and is not reported. Returns the same request if it changes nothing.
 *
 * @param accepted changes that stay at their place
 * @param own the upstream's format
 */
export function applySettingsChanges(
  request: ModelRequest,
  accepted: AcceptedChanges,
  own: UpstreamFormat,
  report: Report,
): ModelRequest {
  if (!hasChanges(request)) return request
  const removesTools = request.turns.some(({ changes }) =>
    changes?.some(({ removedTools }) => removedTools !== undefined),
  )
  // The order of additions and removals decides which tools are offered: all of these changes stay, or none.
  const keepsTools = accepted.addedTools === true && (accepted.removedTools === true || !removesTools)
  const acceptedLater: AcceptedChanges = { ...accepted, addedTools: keepsTools, removedTools: keepsTools }
  const settings = new RequestSettings(request)
  const turns: Turn[] = []
  let isBeforeUser = true
  for (const turn of request.turns) {
    isBeforeUser &&= isSystem(turn)
    if (turn.changes === undefined) {
      turns.push(turn)
      continue
    }
    const kept: SettingsChange[] = []
    for (const change of turn.changes) {
      const remaining = isBeforeUser ? settings.apply(change, {}, false) : settings.apply(change, acceptedLater, true)
      if (remaining !== undefined) kept.push(remaining)
      else reportLostBlock(change, own, report)
    }
    const { changes: _, ...withoutChanges } = turn
    if (kept.length > 0) turns.push({ ...withoutChanges, changes: kept })
    else if (turn.parts.length > 0 || turn.extra !== undefined) turns.push(withoutChanges)
  }
  settings.reportTo(report)
  return { ...settings.request(), turns }
}

/** Reports the cache hint and the extra fields of a change that is applied as a whole: no block is left to carry them. */
function reportLostBlock({ at = '', cache, extra }: SettingsChange, own: UpstreamFormat, report: Report): void {
  if (cache !== undefined)
    report.add(loss(cachePlace({ at, cache }), 'the block with the hint is not sent', 'unsupported', 'note'))
  const fields = ownExtra(extra, own, at, report)
  for (const key of Object.keys(fields ?? {})) report.add(loss(pointer(at, key), 'the request has no block for it'))
}

/** The settings of a request while changes are applied to them. */
class RequestSettings {
  readonly #request: ModelRequest
  #reasoning: ModelRequest['reasoning']
  #output: ModelRequest['output']
  readonly #at: { [irField: string]: string }
  /** Tools that are offered after the changes so far, by `keyOf`. */
  readonly #offered = new Map<string, Tool>()
  /** Names of tools that are added by changes that stay at their place. */
  readonly #addedLater = new Set<string>()
  /** Details are written at the end: some quote the last value of a setting. */
  readonly #losses: { readonly at: string; readonly detail: () => string }[] = []
  #toolCount = 0

  constructor(request: ModelRequest) {
    this.#request = request
    this.#reasoning = request.reasoning
    this.#output = request.output
    this.#at = { ...request.at }
    for (const tool of request.tools?.list ?? []) if (tool.deferred !== true) this.#offer(tool)
  }

  /**
   * Applies the parts of a change that are not accepted, and returns the accepted ones; undefined if there are none.
   *
   * @param isLoss the change took effect in the middle of the conversation: that is reported
   */
  apply(change: SettingsChange, accepted: AcceptedChanges, isLoss: boolean): SettingsChange | undefined {
    const { effort, format, addedTools, removedTools, ...common } = change
    const kept: SettingsChange = { ...common }
    const at = change.at ?? ''
    if (effort !== undefined && accepted.effort) kept.effort = effort
    else if (effort !== undefined) {
      this.#reasoning = { ...this.#reasoning, effort }
      this.#at['reasoning.effort'] = at
      if (isLoss)
        this.#addLoss(
          at,
          () =>
            `the upstream cannot change the effort during a conversation: the last one, '${this.#reasoning?.effort}', applies to the whole request`,
        )
    }
    if (format !== undefined && accepted.format) kept.format = format
    else if (format !== undefined) {
      this.#output = { ...this.#output, format }
      this.#at['output.format'] = at
      if (isLoss)
        this.#addLoss(
          at,
          () =>
            'the upstream cannot change the response format during a conversation: the last one applies to the whole request',
        )
    }
    if (accepted.addedTools) {
      if (addedTools !== undefined) kept.addedTools = addedTools
      if (removedTools !== undefined) kept.removedTools = removedTools
      for (const tool of addedTools ?? []) this.#addedLater.add(nameOf(tool))
    } else this.#applyTools(change, isLoss)
    const hasSetting = kept.effort ?? kept.format ?? kept.addedTools ?? kept.removedTools
    return hasSetting === undefined ? undefined : kept
  }

  #applyTools({ addedTools = [], removedTools = [], at = '' }: SettingsChange, isLoss: boolean): void {
    for (const tool of addedTools) this.#offer(tool)
    for (const name of removedTools) this.#offered.delete(name)
    if (!isLoss) return
    if (addedTools.length > 0) {
      const names = addedTools.map(nameOf).join(', ')
      this.#addLoss(at, () => `the upstream cannot add tools during a conversation: ${names} is sent from its start`)
    }
    if (removedTools.length > 0) {
      const names = removedTools.join(', ')
      this.#addLoss(
        at,
        () => `the upstream cannot remove tools during a conversation: ${names} is left out unless added again`,
      )
    }
  }

  #offer(tool: Tool): void {
    this.#offered.set(keyOf(tool, this.#toolCount++), tool)
  }

  #addLoss(at: string, detail: () => string): void {
    this.#losses.push({ at, detail })
  }

  reportTo(report: Report): void {
    for (const { at, detail } of this.#losses) report.add(loss(at, detail(), 'approximated', 'note'))
  }

  /** Returns the request with the applied settings. Tools that a later turn adds follow those that are offered from the start. */
  request(): ModelRequest {
    const { tools } = this.#request
    const out: ModelRequest = { ...this.#request, at: this.#at }
    if (this.#reasoning !== undefined) out.reasoning = this.#reasoning
    if (this.#output !== undefined) out.output = this.#output
    const addedLater = (tools?.list ?? []).filter(
      (tool) => tool.deferred === true && this.#addedLater.has(nameOf(tool)) && !this.#offered.has(nameOf(tool)),
    )
    const list = [...this.#offered.values(), ...addedLater]
    if (tools !== undefined || list.length > 0) out.tools = { ...tools, list }
    return out
  }
}

const nameOf = (tool: Tool): string => (tool.type === 'native' ? nativeToolName(tool.value) : tool.name)

/** Returns the name of a tool, or a unique key for a native tool without one. */
const keyOf = (tool: Tool, count: number): string =>
  tool.type === 'native' && typeof tool.value.name !== 'string' ? `\n${count}` : nameOf(tool)

/**
 * Returns the tools of a request and of its turns. Tools that a turn adds are marked as deferred.
 *
 * @param isHidden returns true if a tool's fields hide it at first
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
