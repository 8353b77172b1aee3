import { escapeStep, isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import type { Effort, Loss } from '../ir.ts'
import { nearestEffort } from '../shared/model-rules.ts'
import { isHarmless, loss } from '../shared/report.ts'
import type { Quirks } from '../target-traits.ts'
import { applyMessageQuirks, type FieldSupport } from './message-quirks.ts'

/** Edits of a chat body for an upstream with quirks. Paths of losses point into that body. */
export interface QuirkEdits {
  readonly set: JsonObject
  /** Fields that the upstream rejects. */
  readonly drop: string[]
  /** Fields without effect at the upstream. */
  readonly idle: string[]
  readonly losses: Loss[]
}

/** Computes the edits of a chat body for an upstream with quirks. Pass-through and translation both use it. */
export function applyQuirks(body: JsonObject, quirks: Quirks): QuirkEdits {
  const fitted: QuirkEdits = { set: {}, drop: [], idle: [], losses: [] }
  const renamed = rename(body, quirks, fitted)
  if (quirks.lacks !== undefined)
    for (const [field, support] of Object.entries(quirks.lacks))
      if (!field.startsWith('messages[') && !renamed.has(field)) withhold(field, body[field], support, quirks, fitted)
  if (quirks.streamOptions === false) dropStreamOptions(body, fitted)
  fitEffort(body, quirks, fitted)
  if (quirks.jsonFormats !== undefined) fitJsonFormat(body, quirks.jsonFormats, fitted)
  if (quirks.toolChoices !== undefined) fitToolChoice(body, quirks.toolChoices, fitted)
  const messages = applyMessageQuirks(body, quirks, fitted.losses)
  if (messages !== undefined) fitted.set.messages = messages
  return fitted
}

/** Renames fields to the upstream's names. Returns the client's names. */
function rename(
  body: JsonObject,
  { fieldNames, maxTokensField }: Quirks,
  { set, drop }: QuirkEdits,
): ReadonlySet<string> {
  if (fieldNames === undefined && maxTokensField !== 'max_tokens') return noNames
  const names = Object.entries(fieldNames ?? {})
  if (maxTokensField === 'max_tokens') names.push(['max_completion_tokens', 'max_tokens'])
  for (const [theirs, own] of names) {
    const value = body[theirs]
    if (value === undefined) continue
    drop.push(theirs)
    if (value !== null) set[own] = value
  }
  return new Set(names.map(([theirs]) => theirs))
}

const noNames: ReadonlySet<string> = new Set()

/** Values that equal the absence of the field. */
const defaults: { readonly [field: string]: (value: Json) => boolean } = {
  function_call: (value) => value === 'auto',
  frequency_penalty: (value) => value === 0,
  logit_bias: (value) => isObject(value) && Object.keys(value).length === 0,
  logprobs: (value) => value === false,
  metadata: (value) => isObject(value) && Object.keys(value).length === 0,
  modalities: (value) => Array.isArray(value) && value.every((item) => item === 'text'),
  n: (value) => value === 1,
  parallel_tool_calls: (value) => value === true,
  presence_penalty: (value) => value === 0,
  service_tier: (value) => value === 'auto' || value === 'default',
  store: (value) => value === false,
  tool_choice: (value) => value === 'auto',
  top_logprobs: (value) => value === 0,
  verbosity: (value) => value === 'medium',
}

/** Returns whether a value equals the absence of the field. */
const saysNothing = (field: string, value: Json): boolean =>
  value === null ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (Object.hasOwn(defaults, field) && defaults[field]?.(value) === true)

function withhold(
  field: string,
  value: Json | undefined,
  support: FieldSupport,
  { streamOptions }: Quirks,
  fitted: QuirkEdits,
): void {
  if (value === undefined) return
  const asksNothing = saysNothing(field, value)
  if (support === 'refused' || (support === 'limited' && !asksNothing)) fitted.drop.push(field)
  if (support === 'ignored') fitted.idle.push(field)
  if (asksNothing || (field === 'stream_options' && streamOptions === 'implied')) return
  const details = {
    refused: `the upstream does not accept ${field}`,
    limited: `the upstream does not accept this value of ${field}`,
    ignored: `${field} has no effect at the upstream`,
  }
  tell(fitted, `/${escapeStep(field)}`, details[support], 'unsupported', isHarmless(field) ? 'note' : 'warn')
}

const tell = (
  { losses }: QuirkEdits,
  path: string,
  detail: string,
  kind: Loss['kind'],
  severity: Loss['severity'],
): void => {
  losses.push(loss(path, detail, kind, severity))
}

function dropStreamOptions(body: JsonObject, fitted: QuirkEdits): void {
  const options = body.stream_options
  if (options === undefined) return
  fitted.drop.push('stream_options')
  if (isObject(options) && options.include_usage === true)
    tell(
      fitted,
      '/stream_options/include_usage',
      'the upstream does not accept stream_options; usage may be missing',
      'approximated',
      'note',
    )
}

function fitEffort(body: JsonObject, { efforts, thinkingSwitch }: Quirks, fitted: QuirkEdits): void {
  const { reasoning_effort: wanted } = body
  if (!isEffort(wanted) || fitted.drop.includes('reasoning_effort')) return
  if (wanted === 'none' && thinkingSwitch) {
    fitted.drop.push('reasoning_effort')
    fitted.set.thinking ??= body.thinking ?? { type: 'disabled' }
    return
  }
  const near = efforts === undefined ? wanted : nearestEffort(wanted, efforts)
  if (near === wanted) return
  if (near === undefined) fitted.drop.push('reasoning_effort')
  else fitted.set.reasoning_effort = near
  const sent = near === undefined ? 'it is not sent' : `'${near}' is sent`
  tell(
    fitted,
    '/reasoning_effort',
    `the upstream does not accept the effort '${wanted}'; ${sent}`,
    'approximated',
    wanted === 'none' ? 'warn' : 'note',
  )
}

function fitJsonFormat(body: JsonObject, forms: NonNullable<Quirks['jsonFormats']>, fitted: QuirkEdits): void {
  const format = body.response_format
  if (!isObject(format)) return
  const { type } = format
  if ((type !== 'json_object' && type !== 'json_schema') || forms.includes(type)) return
  if (type === 'json_schema' && forms.includes('json_object')) {
    fitted.set.response_format = { type: 'json_object' }
    const detail = 'the upstream does not accept a schema; JSON of any shape is requested'
    tell(fitted, '/response_format', detail, 'approximated', 'warn')
  } else if (type === 'json_object' && forms.includes('json_schema')) {
    const any = { name: 'response', schema: { type: 'object' } }
    fitted.set.response_format = { type: 'json_schema', json_schema: any }
    const detail = 'the upstream accepts only schemas; a schema that allows any object is sent'
    tell(fitted, '/response_format', detail, 'approximated', 'note')
  } else {
    fitted.drop.push('response_format')
    tell(fitted, '/response_format', `the upstream does not accept ${type}`, 'unsupported', 'warn')
  }
}

/** Expresses an unsupported tool choice by the tools that are sent: with a single tool, `required` names it. */
function fitToolChoice(body: JsonObject, way: NonNullable<Quirks['toolChoices']>, fitted: QuirkEdits): void {
  const { tool_choice: choice } = body
  if (!isObject(choice)) return
  const { tools } = body
  if (!Array.isArray(tools)) return
  const several =
    choice.type === 'allowed_tools' ? (isObject(choice.allowed_tools) ? choice.allowed_tools : {}) : undefined
  if (several === undefined && way === 'names') return
  const wanted = several === undefined ? [choice] : Array.isArray(several.tools) ? several.tools : []
  const names = new Set(wanted.map(nameOf))
  const kept = tools.filter((tool) => names.has(nameOf(tool)))
  // The upstream rejects a choice of a missing tool, or in an unknown form.
  if (kept.length === 0) return
  fitted.set.tool_choice = several?.mode === 'auto' ? 'auto' : 'required'
  if (kept.length === tools.length) return
  fitted.set.tools = kept
  const detail = 'the upstream does not support this choice; only the tools to choose from are sent'
  tell(fitted, '/tool_choice', detail, 'approximated', 'note')
}

function nameOf(tool: Json): string | undefined {
  if (!isObject(tool)) return undefined
  const inner = isObject(tool.function) ? tool.function : isObject(tool.custom) ? tool.custom : tool
  return typeof inner.name === 'string' ? inner.name : undefined
}

export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const satisfies readonly Effort[]

export const isEffort = (value: unknown): value is Effort => efforts.some((effort) => effort === value)
