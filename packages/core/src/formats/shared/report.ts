import { isObject, type Json, type JsonObject, pointer } from '../../base/json/json.ts'
import type { AnyFormat } from '../../base/names.ts'
import type { ClientCodec } from '../codec.ts'
import type { CacheHint, Extra, Located, Loss, ModelRequest, Report } from '../ir.ts'
import { setOwn } from './json-fields.ts'

/** Fields whose loss does not change a response, such as bookkeeping and cache hints. Reported as notes. */
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
  // additional response fields of vendors of one format
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
  // settings of the machine that runs a model: upstreams have their own
  'keep_alive',
  'num_ctx',
  'num_batch',
  'num_gpu',
  'main_gpu',
  'low_vram',
  'use_mmap',
  'use_mlock',
  'num_thread',
  'numa',
  'f16_kv',
  'draft_num_predict',
])

/** Returns whether the loss of a field does not change a response. */
export const isHarmless = (field: string): boolean => harmless.has(field)

/** Fields that only group other fields: their members are reported instead. */
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
  'options',
  'output_config',
  'reasoning',
  'reasoningContent',
  'reasoningText',
  'response_format',
  'source',
  'text',
  'thinking',
  'thinkingConfig',
  'toolConfig',
  'toolResult',
  'toolUse',
  'url_citation',
])

/** Fields with the same name and place in several formats of one provider. Each format writes the other's fields. */
const sharedFields: { readonly [field: string]: readonly AnyFormat[] } = {
  prompt_cache_breakpoint: ['chat', 'responses'],
  prompt_cache_options: ['chat', 'responses'],
  prompt_cache_retention: ['chat', 'responses'],
}

const isShared = (field: string, owner: AnyFormat, own: AnyFormat): boolean => {
  const formats = Object.hasOwn(sharedFields, field) ? sharedFields[field] : undefined
  return formats?.includes(owner) === true && formats.includes(own)
}

/**
 * Reports the fields of `extra` that other formats own, except for shared ones. Returns the own and shared fields, to be written.
 *
 * @param at JSON Pointer of the node in its sender's body
 */
export function ownExtra(extra: Extra | undefined, own: AnyFormat, at: string, report: Report): JsonObject | undefined {
  if (extra === undefined) return undefined
  let accepted = extra[own]
  for (const owner of Object.keys(extra) as AnyFormat[]) {
    const fields = extra[owner]
    if (owner === own || fields === undefined) continue
    const foreign: JsonObject = {}
    for (const key of Object.keys(fields)) {
      const value = fields[key] as Json
      if (isShared(key, owner, own)) accepted = { ...accepted, [key]: value }
      else setOwn(foreign, key, value)
    }
    reportForeign(foreign, at, report)
  }
  return accepted
}

/** Reports the citation fields of other formats in one note. */
export function reportCitation(
  extra: Extra | undefined,
  own: AnyFormat,
  at: string,
  can: string,
  report: Report,
): void {
  for (const owner of Object.keys(extra ?? {}) as AnyFormat[])
    if (owner !== own)
      report.add(loss(at, `${can}; left out: ${namesIn(extra?.[owner]).join(', ')}`, 'approximated', 'note'))
}

/** Returns the names of the members at all levels. */
function namesIn(value: Json | undefined): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const names = namesIn(inner)
    return names.length === 0 ? [key] : names.map((name) => `${key}.${name}`)
  })
}

/** Returns whether a field only records the original form of a node: the name of a converted tool, or text that was a JSON value. */
const isCarried = (key: string, value: Json | undefined): boolean =>
  (key === 'namespace' && typeof value !== 'string') || ((key === 'loaded' || key === 'jsonBlock') && value === true)

function reportForeign(fields: JsonObject, at: string, report: Report): void {
  for (const key of Object.keys(fields)) {
    const value = fields[key]
    if (key === 'references' && areToolReferences(value)) {
      // The text holds their names.
      for (const { type: _type, tool_name: _name, ...beside } of value) reportForeign(beside, at, report)
      continue
    }
    if (groups.has(key) && isObject(value)) {
      // The fields of an entry are fields of the part.
      reportForeign(value, key === 'entry' ? at : pointer(at, key), report)
      continue
    }
    if (!isCarried(key, value)) reportField(key, at, report, value)
  }
}

/** Bounds the names of inner fields in a report. */
const mostNames = 8

/** Reports a field of the object at `at` that only the sender's format has. `value` adds the names of inner fields. */
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
 * Reports a native stream event: an event with a type under its type, otherwise each field under its name.
 *
 * @param client the format that has no form for it
 */
export function reportNativeEvent(value: JsonObject, client: ClientCodec['format'], report: Report): void {
  const { type } = value
  if (typeof type === 'string' && type !== '')
    report.add(loss(pointer('', type), `the event ${type} has no counterpart in ${client}`, 'unsupported', 'note'))
  else for (const key of Object.keys(value)) reportField(key, '', report)
}

/** Returns the JSON Pointer of an IR field in the client's body: as the decoder recorded it, otherwise by the table of the client's format. */
export const fieldPointer = (
  irField: string,
  at: { [irField: string]: string } | undefined,
  client: Pick<ClientCodec, 'fieldPointers'> | undefined,
): string =>
  at?.[irField] ??
  client?.fieldPointers[irField] ??
  // A nested field (`output.format.name`) is inside its parent.
  at?.[/^\w+\.\w+(?=\.)/.exec(irField)?.[0] ?? ''] ??
  `/${irField.replaceAll('.', '/')}`

/**
 * Returns whether the client speaks the format with these pointers, by the pointers of its turns and user. A request without pointers counts
 * as the format's own. Values of the client in the upstream's own format are sent unchanged.
 */
export const isWrittenIn = ({ at }: ModelRequest, pointers: ClientCodec['fieldPointers']): boolean =>
  at?.turns === undefined || (at.turns === pointers.turns && at['user.id'] === pointers['user.id'])

/** Returns the place of a node's cache hint. Most formats have it in the node. */
export const cachePlace = ({ at = '', cache }: Located & { readonly cache?: CacheHint }): string =>
  cache?.at ?? pointer(at, cache?.isBreakpoint === true ? 'prompt_cache_breakpoint' : 'cache_control')

export const loss = (
  path: string,
  detail: string,
  kind: Loss['kind'] = 'unsupported',
  severity: Loss['severity'] = 'warn',
): Loss => ({ path, kind, severity, detail })

/** The known members of an object. `true`: a decoder reads the value, and keeps or reports its unknown parts. */
export type Shape = ReadonlyMap<string, true | Shape>

/** The notation of a shape. An inner shape describes an object, or each entry of a list. */
export interface Members {
  readonly [member: string]: true | Members
}

/** Creates a shape. A map, because senders choose the names that are looked up, and objects inherit names. */
export const shapeOf = (members: Members): Shape =>
  new Map(Object.entries(members).map(([name, inner]) => [name, inner === true ? true : shapeOf(inner)]))

export const shapesOf = (shapes: { readonly [kind: string]: Members }): ReadonlyMap<string, Shape> =>
  new Map(Object.entries(shapes).map(([kind, members]) => [kind, shapeOf(members)]))

/**
 * Reports members that a shape does not name. Decoders of whole responses keep unread fields instead (`Unread`). Stream parts are emitted
 * before their last event, so that unknown fields of later events are reported here. Events that match a `TextDeltaTemplate` have none.
 *
 * @param at JSON Pointer of the object in the whole response
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

/** Returns the entries that are objects, and reports the others. */
export function objectsIn(list: readonly Json[], at: string, report: Report): JsonObject[] {
  if (list.every(isObject)) return list as JsonObject[]
  for (const [index, entry] of list.entries())
    if (!isObject(entry) && saysSomething(entry)) reportField(String(index), at, report)
  return list.filter(isObject)
}

/** Servers write null, empty texts, lists and objects for "none". */
function saysSomething(value: Json | undefined): boolean {
  if (value === undefined || value === null || value === '') return false
  if (Array.isArray(value)) return value.length > 0
  if (!isObject(value)) return true
  for (const _ in value) return true
  return false
}

/** Returns whether a value is a list of tool references in the Messages format. */
export const areToolReferences = (value: Json | undefined): value is JsonObject[] =>
  Array.isArray(value) && value.length > 0 && value.every((item) => isObject(item) && item.type === 'tool_reference')
