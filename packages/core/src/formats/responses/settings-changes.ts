import { isObject, type JsonObject, pointer } from '../../base/json/json.ts'
import type { AcceptedChanges, CodecContext, TargetTraits } from '../codec.ts'
import type { ModelRequest, Nothing, Output, SettingsChange, Tool, Turn } from '../ir.ts'
import { drop, take, type Unread, unread } from '../shared/json-fields.ts'
import { cachePlace, loss, ownExtra } from '../shared/report.ts'
import { meaningfulFields } from './content.ts'
import { isEffort, isResponsesClient } from './fields.ts'
import { type ItemScope, otherItemFields } from './items-decode.ts'
import { decodeFormat, encodeFormat } from './output-format.ts'
import { decodeTools, encodeTools } from './tools.ts'

/** Decodes an item that changes later settings to a turn. Returns undefined for other items and for unknown changes. */
export function decodeSettingsChange(item: JsonObject, type: string, at: string, scope: ItemScope): Turn | undefined {
  if (type !== 'configuration_update' && type !== 'additional_tools') return undefined
  const fields = unread(item)
  drop(fields, 'type')
  const changes = type === 'additional_tools' ? decodeAddedTools(fields, at) : decodeSettings(fields, at)
  const [first] = changes
  if (first === undefined) return undefined
  const rest = otherItemFields(fields, scope)
  if (rest !== undefined) first.extra = { responses: rest }
  return { role: 'developer', parts: [], changes, at }
}

function decodeAddedTools(fields: Unread, at: string): SettingsChange[] {
  // Only this role may add tools.
  if (fields.role === 'developer') drop(fields, 'role')
  if (!Array.isArray(fields.tools)) return []
  const addedTools = decodeTools(fields.tools, pointer(at, 'tools'))
  drop(fields, 'tools')
  return addedTools.length === 0 ? [] : [{ addedTools, at }]
}

function decodeSettings(fields: Unread, at: string): SettingsChange[] {
  const changes: SettingsChange[] = []
  const change = (key: 'reasoning' | 'text', read: (inner: Unread) => SettingsChange): void => {
    const source = fields[key]
    if (!isObject(source)) return
    const inner = unread(source)
    const found = read(inner)
    if (Object.keys(found).length > 0) changes.push({ ...found, at })
    const rest = meaningfulFields(inner)
    if (rest === undefined) drop(fields, key)
    else fields[key] = rest
  }
  change('reasoning', (inner) => {
    const effort = take(inner, 'effort', isEffort)
    return effort === undefined ? {} : { effort }
  })
  change('text', (inner) => {
    const output: Output = {}
    decodeFormat(inner, output)
    return output.format === undefined ? {} : { format: output.format }
  })
  return changes
}

/** Returns whether a tool is deferred: an item or a tool search offers it later. */
export const isDeferred = ({ extra }: Tool): boolean => extra?.responses?.defer_loading === true

/** Returns the changes that both the upstream and the model's rule accept. */
export function acceptedChanges({ quirks, modelRule }: TargetTraits): AcceptedChanges {
  const { laterChanges = [] } = quirks
  const does = (change: 'effort' | 'tools'): boolean =>
    laterChanges.includes(change) && (modelRule === undefined || modelRule.laterChanges?.includes(change) === true)
  const effort = does('effort')
  return { effort, format: effort, addedTools: does('tools') }
}

/** Encodes the changes of one turn: all settings in one item, and one item for each change of tools. */
export function encodeChanges(
  changes: readonly SettingsChange[],
  request: ModelRequest,
  context: CodecContext,
): JsonObject[] {
  const items: JsonObject[] = []
  let settings: JsonObject | undefined
  for (const change of changes) {
    const { effort, format, addedTools, removedTools: _removed, at = '', cache, extra, ...rest } = change
    rest satisfies Nothing
    if (cache !== undefined)
      context.report.add(loss(cachePlace({ at, cache }), 'responses has no cache hints', 'unsupported', 'note'))
    const own = ownExtra(extra, 'responses', at, context.report)
    if (addedTools !== undefined) {
      const tools = encodeTools(addedTools, isResponsesClient(request), context)
      if (tools.length > 0) items.push({ role: 'developer', ...own, type: 'additional_tools', tools })
      continue
    }
    const { reasoning, text, ...others } = own ?? {}
    if (settings === undefined) {
      settings = { type: 'configuration_update' }
      items.push(settings)
    }
    Object.assign(settings, others)
    if (effort !== undefined || isObject(reasoning))
      settings.reasoning = {
        ...(isObject(reasoning) ? reasoning : undefined),
        ...(effort === undefined ? {} : { effort }),
      }
    if (format !== undefined || isObject(text)) {
      const kept = isObject(text) ? text : {}
      const ownFormat = isObject(kept.format) ? kept.format : {}
      settings.text = {
        ...kept,
        ...(format === undefined ? {} : { format: encodeFormat(format, ownFormat, request, context) }),
      }
    }
  }
  return items
}
