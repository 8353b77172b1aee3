import { isObject } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { AcceptedChanges, RequestFlags, TargetTraits } from '../codec.ts'
import type { Effort, SettingsChange, Tool, Turn } from '../ir.ts'
import { loss, ownExtra } from '../shared/report.ts'
import type { Nothing } from '../shared/strict.ts'
import type { BlockContext } from './blocks-encode.ts'
import { encodeCache } from './cache.ts'
import { type ModelTraits, modelTraits, nearestEffort } from './models.ts'

/** What a turn's changes become: blocks of its system message, and fields beside them. */
interface EncodedChanges {
  readonly blocks: readonly JsonObject[]
  readonly own: JsonObject | undefined
}

/** Models that accept system messages within the conversation accept changes there, where the upstream does. */
export function acceptedChanges(target: TargetTraits): AcceptedChanges {
  const { laterChanges = [] } = target.quirks
  const traits = modelTraits(target)
  if (!traits.systemTurns) return {}
  const tools = laterChanges.includes('tools')
  return {
    effort: laterChanges.includes('effort') && traits.efforts.length > 0,
    addedTools: tools,
    removedTools: tools,
  }
}

const noChanges: EncodedChanges = { blocks: [], own: undefined }

export function encodeChanges(turn: Turn, traits: ModelTraits, context: BlockContext): EncodedChanges {
  if (turn.changes === undefined) return noChanges
  const blocks: JsonObject[] = []
  let own: JsonObject | undefined
  for (const change of turn.changes) {
    const { effort, addedTools, removedTools, format: _format, at = '', cache: _cache, extra, ...rest } = change
    rest satisfies Nothing
    const { tool: kept, ...fields } = ownExtra(extra, 'messages', at, context.report) ?? {}
    const reference = isObject(kept) ? kept : undefined
    for (const tool of addedTools ?? [])
      for (const added of encodeAdded(tool, context))
        blocks.push({ ...fields, type: 'tool_addition', tool: { ...reference, ...added } })
    for (const name of removedTools ?? [])
      blocks.push({ ...fields, type: 'tool_removal', tool: { ...reference, type: 'tool_reference', name } })
    const last = blocks.at(-1)
    if (last !== undefined && effort === undefined) encodeCache(last, change)
    if (effort !== undefined)
      own = { ...own, ...fields, output_config: { effort: encodeEffort(effort, change, traits, context) } }
  }
  return { blocks, own }
}

/** A tool that the request lists, or that was added before, goes by its name; any other is defined. */
function encodeAdded(tool: Tool, { tools }: BlockContext): JsonObject[] {
  const name = tool.type === 'native' ? String(tool.value.name) : tool.name
  if (tools.offered.has(name)) return [{ type: 'tool_reference', name }]
  tools.offered.add(name)
  return tools.encode(tool).map((definition) => ({ type: 'tool_definition', definition }))
}

function encodeEffort(effort: Effort, { at = '' }: SettingsChange, traits: ModelTraits, context: BlockContext): string {
  const least = effort === 'none' || effort === 'minimal'
  const wanted = least ? 'low' : effort
  const sent = context.tools.isOwn ? wanted : (nearestEffort(wanted, traits.efforts) ?? wanted)
  if (sent !== effort)
    context.report.add(
      loss(at, `the effort '${effort}' is sent as '${sent}'`, 'approximated', effort === 'none' ? 'warn' : 'note'),
    )
  return sent
}

const toolsFlag = 'mid-conversation-tool-changes-2026-07-01'
const definitionsFlag = 'inline-tools-2026-09-15'
const effortFlag = 'mid-conversation-output-config-2026-07-01'

/** The betas without which Anthropic refuses changes within a conversation. */
export function requestFlags({ messages }: JsonObject): RequestFlags | undefined {
  const flags = new Set<string>()
  for (const message of Array.isArray(messages) ? messages : []) {
    if (!isObject(message) || message.role !== 'system') continue
    if (isObject(message.output_config)) flags.add(effortFlag)
    for (const block of Array.isArray(message.content) ? message.content : []) {
      if (!isObject(block) || (block.type !== 'tool_addition' && block.type !== 'tool_removal')) continue
      const isDefined = isObject(block.tool) && block.tool.type === 'tool_definition'
      flags.add(isDefined ? definitionsFlag : toolsFlag)
    }
  }
  return flags.size === 0 ? undefined : { header: 'anthropic-beta', flags: [...flags] }
}
