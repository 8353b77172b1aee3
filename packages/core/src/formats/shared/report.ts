import type { Codec } from '../codec.ts'
import type { Extra, Json, JsonObject, Loss, ModelRequest, Report, UpstreamFormat } from '../ir.ts'
import { areReferences } from './found-tools.ts'
import { pointer } from './pointer.ts'
import { isObject } from './reader.ts'

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
  'functionCallingConfig',
  'generationConfig',
  'message',
  'output_config',
  'reasoning',
  'response_format',
  'text',
  'thinking',
  'thinkingConfig',
  'toolConfig',
])

/**
 * Reports every field of `extra` that another format owns: nobody else can read it. Returns the own part, to be written
 * back, or undefined. `at` is where the node stood in its sender's body.
 */
export function ownExtra(
  extra: Extra | undefined,
  own: UpstreamFormat,
  at: string,
  report: Report,
): JsonObject | undefined {
  if (extra === undefined) return undefined
  for (const owner of Object.keys(extra) as UpstreamFormat[]) {
    const fields = extra[owner]
    if (owner === own || fields === undefined) continue
    reportForeign(fields, at, report)
  }
  return extra[own]
}

/** How a codec keeps where a lowered tool came from, or the blocks that a text names: their names arrive without that. */
const isCarried = (key: string, value: Json | undefined): boolean =>
  (key === 'references' && areReferences(value)) ||
  (key === 'namespace' && typeof value !== 'string') ||
  (key === 'loaded' && value === true)

function reportForeign(fields: JsonObject, at: string, report: Report): void {
  for (const key of Object.keys(fields)) {
    const value = fields[key]
    if (groups.has(key) && isObject(value)) {
      reportForeign(value, pointer(at, key), report)
      continue
    }
    if (isCarried(key, value)) continue
    report.add({
      path: key === 'native' ? at : pointer(at, key),
      kind: 'unsupported',
      severity: harmless.has(key) ? 'note' : 'warn',
      detail: `${key} has no counterpart in the upstream's format`,
    })
  }
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
