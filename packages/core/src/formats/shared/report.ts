import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { UpstreamFormat } from '../../base/names.ts'
import type { Codec } from '../codec.ts'
import type { Extra, Loss, ModelRequest, Report } from '../ir.ts'
import { setOwn } from './json-fields.ts'
import { pointer } from './pointers.ts'

/** Fields whose loss changes no answer (bookkeeping, hints for caches): reported as notes, never a reason to refuse. */
const harmless = new Set([
  'store',
  'metadata',
  'prompt_cache_key',
  'prompt_cache_retention',
  'safety_identifier',
  'user',
  'cache_control',
  'context_management',
  'safeguards',
  'caller',
  'defer_loading',
  'eager_input_streaming',
  'stream_options',
  'client_metadata',
  'prompt_cache_options',
  'prompt_cache_breakpoint',
  'internal_chat_message_metadata_passthrough',
  // names and states of items, and what a lowered tool or call was before: the meaning is carried without them
  'id',
  'status',
  'messageItem',
  'namespace',
  'native',
  'loaded',
  // what vendors of one dialect tell beside their answers
  'system_fingerprint',
  'prompt_filter_results',
  'content_filter_results',
  'native_finish_reason',
  'request_id',
  'time_info',
  'usage_breakdown',
  'avgLogprobs',
  'createTime',
  'finishMessage',
  'labels',
  'metrics',
  'performanceConfig',
  'safetyRatings',
  'tokenCount',
  'turnToken',
])

/** Whether a field's loss changes no answer. */
export const isHarmless = (field: string): boolean => harmless.has(field)

/** Fields that only hold further fields: what is lost is named one level deeper. */
const groups = new Set([
  'citationsContent',
  'content',
  'delta',
  'entry',
  'fileData',
  'functionCall',
  'functionCallingConfig',
  'generationConfig',
  'image',
  'incomplete_details',
  'inlineData',
  'message',
  'output_config',
  'reasoning',
  'reasoningContent',
  'response_format',
  'source',
  'text',
  'thinking',
  'thinkingConfig',
  'toolConfig',
  'toolUse',
  'url_citation',
])

/** Fields that formats of one vendor write in the same words, and in the same place: each takes them from the other. */
const sharedFields: { readonly [field: string]: readonly UpstreamFormat[] } = {
  prompt_cache_breakpoint: ['chat', 'responses'],
  prompt_cache_options: ['chat', 'responses'],
  prompt_cache_retention: ['chat', 'responses'],
}

const isShared = (field: string, owner: UpstreamFormat, own: UpstreamFormat): boolean => {
  const formats = Object.hasOwn(sharedFields, field) ? sharedFields[field] : undefined
  return formats?.includes(owner) === true && formats.includes(own)
}

/**
 * Reports every field of `extra` that another format owns: nobody else can read it, unless the format shares the field. Returns the own
 * part and what is shared, to be written, or undefined. `at` is where the node stood in its sender's body.
 */
export function ownExtra(
  extra: Extra | undefined,
  own: UpstreamFormat,
  at: string,
  report: Report,
): JsonObject | undefined {
  if (extra === undefined) return undefined
  let taken = extra[own]
  for (const owner of Object.keys(extra) as UpstreamFormat[]) {
    const fields = extra[owner]
    if (owner === own || fields === undefined) continue
    const foreign: JsonObject = {}
    for (const key of Object.keys(fields)) {
      const value = fields[key] as Json
      if (isShared(key, owner, own)) taken = { ...taken, [key]: value }
      else setOwn(foreign, key, value)
    }
    reportForeign(foreign, at, report)
  }
  return taken
}

/** Reports what only other formats say of a citation, in one note: its kind and its place are seldom missed. */
export function reportCitation(
  extra: Extra | undefined,
  own: UpstreamFormat,
  at: string,
  can: string,
  report: Report,
): void {
  for (const owner of Object.keys(extra ?? {}) as UpstreamFormat[])
    if (owner !== own)
      report.add(loss(at, `${can}; left out: ${namesIn(extra?.[owner]).join(', ')}`, 'approximated', 'note'))
}

/** The names of an object's members, and of theirs. */
function namesIn(value: Json | undefined): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const names = namesIn(inner)
    return names.length === 0 ? [key] : names.map((name) => `${key}.${name}`)
  })
}

/** How a codec keeps where a lowered tool came from: its name arrives without that. */
const isCarried = (key: string, value: Json | undefined): boolean =>
  (key === 'namespace' && typeof value !== 'string') || (key === 'loaded' && value === true)

function reportForeign(fields: JsonObject, at: string, report: Report): void {
  for (const key of Object.keys(fields)) {
    const value = fields[key]
    if (key === 'references' && areToolReferences(value)) {
      // Their names arrive in the text.
      for (const { type: _type, tool_name: _name, ...beside } of value) reportForeign(beside, at, report)
      continue
    }
    if (groups.has(key) && isObject(value)) {
      // An entry's own fields stand on the part itself.
      reportForeign(value, key === 'entry' ? at : pointer(at, key), report)
      continue
    }
    if (!isCarried(key, value)) reportField(key, at, report, value)
  }
}

/** The most names of inner fields that a report gives. */
const mostNames = 8

/** Reports a field of the object at `at` that only its sender's format knows. `value`: what it holds, to name that, too. */
export function reportField(key: string, at: string, report: Report, value?: Json): void {
  const inner = namesIn(value).slice(0, mostNames)
  report.add({
    path: key === 'native' ? at : pointer(at, key),
    kind: 'unsupported',
    severity: harmless.has(key) ? 'note' : 'warn',
    detail: `${key}${inner.length === 0 ? '' : ` (${inner.join(', ')})`} has no counterpart in the other format`,
  })
}

/**
 * Reports what a stream's event says that another format has no form for: fields of the answer under their own names, an event with a
 * type, which stands nowhere in a whole answer, under its type.
 *
 * @param client the format that has no form for it
 */
export function reportNativeEvent(value: JsonObject, client: Codec['format'], report: Report): void {
  const { type } = value
  if (typeof type === 'string' && type !== '')
    report.add(loss(pointer('', type), `the event ${type} has no form in ${client}`, 'unsupported', 'note'))
  else for (const key of Object.keys(value)) reportField(key, '', report)
}

/** Where an IR field stood in the client's body: what the decoder noted, else the client's format's own table. */
export const fieldPointer = (
  irField: string,
  at: { [irField: string]: string } | undefined,
  client: Pick<Codec, 'fieldPointers'> | undefined,
): string =>
  at?.[irField] ??
  client?.fieldPointers[irField] ??
  // A field of a field (`output.format.name`) stands in that one.
  at?.[/^\w+\.\w+(?=\.)/.exec(irField)?.[0] ?? ''] ??
  `/${irField.replaceAll('.', '/')}`

/**
 * Whether the client itself speaks the format with these pointers: where its turns and its user stood tells formats apart.
 * What it wrote in the format's own terms is between it and the upstream. A request that does not say counts as its own.
 */
export const isWrittenIn = ({ at }: ModelRequest, pointers: Codec['fieldPointers']): boolean =>
  at?.turns === undefined || (at.turns === pointers.turns && at['user.id'] === pointers['user.id'])

export const loss = (
  path: string,
  detail: string,
  kind: Loss['kind'] = 'unsupported',
  severity: Loss['severity'] = 'warn',
): Loss => ({ path, kind, severity, detail })

/** The members that an object may have. `true`: a decoder reads the value, or keeps or reports what it does not read of it. */
export type Shape = ReadonlyMap<string, true | Shape>

/** A shape as it is written down. An inner shape stands for an object, or for each entry of a list. */
export interface Members {
  readonly [member: string]: true | Members
}

/** Names that a sender chose are looked up in it: a map has no inherited ones. */
export const shapeOf = (members: Members): Shape =>
  new Map(Object.entries(members).map(([name, inner]) => [name, inner === true ? true : shapeOf(inner)]))

export const shapesOf = (shapes: { readonly [kind: string]: Members }): ReadonlyMap<string, Shape> =>
  new Map(Object.entries(shapes).map(([kind, members]) => [kind, shapeOf(members)]))

/**
 * Reports the members that a shape does not name. Whole answers are read field by field, and what is left is kept
 * (`Unread`). Parts of a stream are told before their last event: what only a later event says cannot join them any more, and is
 * reported here. Events that `TextMould` reads never come here.
 *
 * @param at where the object stands in the whole answer
 */
export function reportUnknown(value: JsonObject, shape: Shape, at: string, report: Report): void {
  for (const key in value) {
    const known = shape.get(key)
    if (known === true) continue
    const inner = value[key]
    if (!saysSomething(inner)) continue
    if (known === undefined) reportField(key, at, report)
    else if (isObject(inner)) reportUnknown(inner, known, pointer(at, key), report)
    else if (Array.isArray(inner)) reportEntries(inner, known, pointer(at, key), report)
    else reportField(key, at, report)
  }
}

function reportEntries(list: readonly Json[], shape: Shape, at: string, report: Report): void {
  for (const [index, entry] of objectsIn(list, at, report).entries())
    reportUnknown(entry, shape, pointer(at, index), report)
}

/** The entries of a list that are objects. Others, which no decoder reads, are reported. */
export function objectsIn(list: readonly Json[], at: string, report: Report): JsonObject[] {
  if (list.every(isObject)) return list as JsonObject[]
  for (const [index, entry] of list.entries())
    if (!isObject(entry) && saysSomething(entry)) reportField(String(index), at, report)
  return list.filter(isObject)
}

/** Nulls, empty texts, empty lists and empty objects are how servers write "none". */
function saysSomething(value: Json | undefined): boolean {
  if (value === undefined || value === null || value === '') return false
  if (Array.isArray(value)) return value.length > 0
  if (!isObject(value)) return true
  for (const _ in value) return true
  return false
}

/** Whether a text's field holds the blocks that the text names, for their own format. */
export const areToolReferences = (value: Json | undefined): value is JsonObject[] =>
  Array.isArray(value) && value.length > 0 && value.every((item) => isObject(item) && item.type === 'tool_reference')
