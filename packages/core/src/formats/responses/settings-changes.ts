import { isObject } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { AcceptedChanges, TargetTraits } from '../codec.ts'
import type { Output, SettingsChange, Tool, Turn } from '../ir.ts'
import { pointer } from '../shared/pointer.ts'
import { drop, take, type Unread, unread } from '../shared/reader.ts'
import { beside, type ItemScope } from './answer-items.ts'
import { substance } from './content.ts'
import { isEffort } from './fields.ts'
import { decodeFormat } from './text-format.ts'
import { decodeTools } from './tools.ts'

/** An item that changes settings from there on, as a turn; undefined for other items, and for one that says nothing known. */
export function decodeChange(item: JsonObject, type: string, at: string, scope: ItemScope): Turn | undefined {
  if (type !== 'configuration_update' && type !== 'additional_tools') return undefined
  const fields = unread(item)
  drop(fields, 'type')
  const changes = type === 'additional_tools' ? decodeTooling(fields, at) : decodeSettings(fields, at)
  const [first] = changes
  if (first === undefined) return undefined
  const rest = beside(fields, scope)
  if (rest !== undefined) first.extra = { responses: rest }
  return { role: 'developer', parts: [], changes, at }
}

function decodeTooling(fields: Unread, at: string): SettingsChange[] {
  // The only role that may add tools.
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
    const rest = substance(inner)
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

/** Deferred tools are offered by the item that adds them, or by a search for tools. */
export const isHidden = ({ extra }: Tool): boolean => extra?.responses?.defer_loading === true

/** A rule about the model says which of the changes that the upstream accepts it does. */
export function acceptedChanges({ quirks, modelRule }: TargetTraits): AcceptedChanges {
  const { laterChanges = [] } = quirks
  const does = (change: 'effort' | 'tools'): boolean =>
    laterChanges.includes(change) && (modelRule === undefined || modelRule.laterChanges?.includes(change) === true)
  const effort = does('effort')
  return { effort, format: effort, addedTools: does('tools') }
}
