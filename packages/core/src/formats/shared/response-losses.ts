import { isObject, type Json, type JsonObject, pointer } from '../../base/json/json.ts'
import type { Format } from '../../base/names.ts'
import type { IsShown, UncountedText, UsageFields } from '../capabilities.ts'
import type { ClientCodec, CodecContext, UpstreamCodec } from '../codec.ts'
import type { Finish, ModelEvent, ModelRequest, ReasoningCheck, ReasoningPart, Report, Turn, Usage } from '../ir.ts'
import { append } from './json-fields.ts'
import { type ResponsePointers, responsePath } from './pointers.ts'
import { loss, reportUnknown, type Shape } from './report.ts'

/** Returns JSON Pointers to the members of a usage object that the client is not shown. */
export function findUnshownUsage(value: JsonObject, fields: UsageFields, isShown: IsShown, at = ''): string[] {
  const found: string[] = []
  for (const key in value) {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined
    const inner = value[key]
    if (field === 'shown' || !counts(inner)) continue
    if (typeof field === 'string') {
      if (!isShown(field)) found.push(pointer(at, key))
    } else if (isUncounted(field)) {
      if (inner !== field.uncounted) found.push(pointer(at, key))
    } else if (isEntries(field) && Array.isArray(inner)) {
      for (const [index, entry] of inner.entries())
        if (isObject(entry)) append(found, findUnshownUsage(entry, field[0], isShown, pointer(pointer(at, key), index)))
    } else if (field !== undefined && !isEntries(field) && isObject(inner))
      append(found, findUnshownUsage(inner, field, isShown, pointer(at, key)))
    else found.push(pointer(at, key))
  }
  return found
}

const isEntries = (field: UsageFields[string] | undefined): field is readonly [UsageFields] => Array.isArray(field)

const isUncounted = (field: UsageFields[string] | undefined): field is UncountedText =>
  typeof field === 'object' && 'uncounted' in field

/** Zeros, and objects of zeros, count nothing. */
function counts(value: Json | undefined): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(counts)
  return value !== undefined && value !== null && value !== 0 && value !== '' && value !== false
}

/** Reports usage fields that the client's format lacks, as notes. Called once for a response: streams repeat their usage. */
export function reportUsage(
  usage: Usage | undefined,
  upstream: UpstreamCodec,
  client: ClientCodec,
  report: Report,
): void {
  if (usage?.raw === undefined || usage.raw.format === client.format) return
  const isShown: IsShown = (feature) => client.capabilities.responses[feature].client === 'kept'
  const { value } = usage.raw
  const unshown = upstream.unshownUsage?.(value, isShown) ?? findUnshownUsage(value, upstream.usageFields, isShown)
  for (const path of unshown)
    report.add(loss(`/usage${path}`, 'counted by the upstream, but not sent to the client', 'unsupported', 'note'))
}

/**
 * Returns a report that adds losses of the response to the same list.
 *
 * @param pointers positions of IR fields in the upstream's responses; default: paths stay unchanged
 */
export const responseReport = (report: Report, pointers?: ResponsePointers): Report => ({
  losses: report.losses,
  add: (loss) =>
    report.add({
      ...loss,
      path: pointers === undefined ? loss.path : responsePath(loss.path, pointers),
      side: 'answer',
    }),
})

/** Finish reasons that a format has in addition to the common ones. */
interface Tellable {
  /** The format has a finish reason for a paused response. */
  pause?: boolean
  /** The format whose own finish reasons are written back unchanged. */
  words?: Format
}

/** Reports a finish reason that the format can only write as a normal end: the client takes the response for complete. */
export function reportFinish(
  { reason, raw }: Finish,
  tellable: Tellable,
  choice: string,
  { report }: CodecContext,
): void {
  const at = `${choice}/finish`
  if (raw !== undefined && raw.format === tellable.words) return
  if (reason === 'pause' && !tellable.pause)
    report.add(loss(at, 'the response only paused; it is reported as finished', 'approximated', 'note'))
  if (reason === 'other' && raw !== undefined && raw.value !== '') {
    const word = raw.value.slice(0, 40)
    report.add(loss(at, `the response ended with '${word}', which is reported as finished`, 'approximated', 'note'))
  }
}

/**
 * Reports log probabilities that a format lacks. The IR holds them in chat's form; only chat has those of a refusal.
 *
 * @param known the members that the client gets
 */
export function reportLogprobs(logprobs: Json | undefined, known: Shape, choice: number, report: Report): void {
  if (!isObject(logprobs)) return
  const at = `/choices/${choice}/logprobs`
  reportUnknown(logprobs, known, at, report)
  if (Array.isArray(logprobs.refusal) && logprobs.refusal.length > 0)
    report.add(loss(`${at}/refusal`, 'the log probabilities of a refusal cannot be sent in this format'))
}

type Start = Extract<ModelEvent, { type: 'response-start' }>

/**
 * Bounds each value of a response's frame (id, model, service tier, provider fields) in characters. Some formats repeat the frame in every
 * event: a long value would be multiplied by the number of events.
 */
const longestFrameValue = 1024

/** Removes and reports longer values. Returns the same event if there are none. */
export function boundFrame(event: Start, report: Report): Start {
  const { id, model, serviceTier, extra } = event
  const tooLong = (path: string, text: string): boolean => {
    if (text.length <= longestFrameValue) return false
    report.add(loss(path, `it is longer than ${longestFrameValue} characters`))
    return true
  }
  let out = event
  if (tooLong('/id', id)) out = { ...out, id: '' }
  if (tooLong('/model', model)) out = { ...out, model: '' }
  if (serviceTier !== undefined && tooLong('/service_tier', serviceTier)) {
    const { serviceTier: _, ...rest } = out
    out = rest
  }
  if (extra === undefined) return out
  for (const [format, fields] of Object.entries(extra))
    for (const [key, value] of Object.entries(fields ?? {}))
      if (tooLong(`/${key}`, JSON.stringify(value))) {
        const { [key]: _, ...others } = out.extra?.[format as keyof typeof extra] ?? {}
        out = { ...out, extra: { ...out.extra, [format]: others } }
      }
  return out
}

/** The member of a response with the checks, in both formats that have them. */
export const checksField = 'input_transformations'

/** Reports the checks to clients whose format has no field for them. */
export function reportReasoningChecks(
  checks: readonly ReasoningCheck[] | undefined,
  client: string,
  report: Report,
): void {
  for (const check of checks ?? []) report.add(lossOfCheck(check, `${client} has no field for this`))
}

/** Creates the loss for one check. */
export const lossOfCheck = ({ at = '', reason, isShown }: ReasoningCheck, why: string) =>
  loss(
    at,
    `earlier reasoning ${isShown ? 'failed a check' : 'was not shown to the model'} (${reason}); ${why}`,
    'unsupported',
    isShown ? 'note' : 'warn',
  )

/** Returns the reasoning parts of a request, in order. */
export const reasoningIn = ({ turns }: { readonly turns: readonly Turn[] }): ReasoningPart[] =>
  turns.flatMap(({ parts }) => parts.filter((part): part is ReasoningPart => part.type === 'reasoning'))

/** Returns the part that a check refers to. */
export const checkedPart = ({ place }: ReasoningCheck, request: ModelRequest): ReasoningPart | undefined =>
  place === undefined ? undefined : reasoningIn(request).find((part) => part.at === place)

/** Splits a list into checks and other entries, which stay unchanged. */
export function readChecks(
  list: readonly JsonObject[],
  read: (entry: JsonObject, index: number) => ReasoningCheck | undefined,
): { checks: ReasoningCheck[]; others: JsonObject[] } {
  const checks: ReasoningCheck[] = []
  const others: JsonObject[] = []
  for (const [index, entry] of list.entries()) {
    const check = read(entry, index)
    if (check === undefined) others.push(entry)
    else checks.push(check)
  }
  return { checks, others }
}
