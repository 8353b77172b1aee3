import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { Format } from '../../base/names.ts'
import type { IsShown, UsageFeature } from '../capabilities.ts'
import type { Codec, CodecContext, UpstreamCodec } from '../codec.ts'
import type { Finish, ModelEvent, ModelRequest, ReasoningCheck, ReasoningPart, Report, Turn, Usage } from '../ir.ts'
import { append } from './json-fields.ts'
import { pointer } from './pointers.ts'
import { loss, reportUnknown, type Shape } from './report.ts'

/** How each field of a usage object is read. `told`: it follows from the others, or is told in another place. */
export interface UsageFields {
  /** A list holds the fields of its entries. */
  readonly [field: string]: UsageFeature | 'shown' | UsageFields | readonly [UsageFields]
}

/** Pointers to what a usage object says beyond the fields that are shown. */
export function findUnshownUsage(value: JsonObject, fields: UsageFields, isShown: IsShown, at = ''): string[] {
  const found: string[] = []
  for (const key in value) {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined
    const inner = value[key]
    if (field === 'shown' || !counts(inner)) continue
    if (typeof field === 'string') {
      if (!isShown(field)) found.push(pointer(at, key))
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

/** Zeros count nothing, and neither do objects full of them. */
function counts(value: Json | undefined): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(counts)
  return value !== undefined && value !== null && value !== 0 && value !== '' && value !== false
}

/**
 * Reports what the upstream's own usage says and the client's has no word for: bookkeeping, so notes. Once for an answer:
 * streams tell their usage many times.
 */
export function reportUsage(usage: Usage | undefined, upstream: UpstreamCodec, client: Codec, report: Report): void {
  if (usage?.raw === undefined || usage.raw.format === client.format) return
  const isShown: IsShown = (feature) => client.capabilities.responses[feature].client === 'kept'
  for (const path of upstream.unshownUsage(usage.raw.value, isShown))
    report.add(loss(`/usage${path}`, 'counted by the upstream, and not told to the client', 'unsupported', 'note'))
}

/** Endings a format can tell beside those that every format has. */
interface Tellable {
  /** It has a word for an answer that only pauses. */
  pause?: boolean
  /** The format whose own words are written back as they came. */
  words?: Format
}

/** Reports an ending that can only be told as a plain one: whoever goes by the word takes the answer for finished. */
export function reportFinish(
  { reason, raw }: Finish,
  tellable: Tellable,
  choice: string,
  { report }: CodecContext,
): void {
  const at = `${choice}/finish`
  if (raw !== undefined && raw.format === tellable.words) return
  if (reason === 'pause' && !tellable.pause)
    report.add(loss(at, 'the answer only paused; it is told as finished', 'approximated', 'note'))
  if (reason === 'other' && raw !== undefined && raw.value !== '') {
    const word = raw.value.slice(0, 40)
    report.add(loss(at, `the answer ended with '${word}', which is told as finished`, 'approximated', 'note'))
  }
}

/**
 * Reports what a format cannot say of log probabilities, which the IR holds as chat writes them: nobody else has a place for those of a
 * refusal's text.
 *
 * @param known the members that arrive
 */
export function reportLogprobs(logprobs: Json | undefined, known: Shape, choice: number, report: Report): void {
  if (!isObject(logprobs)) return
  const at = `/choices/${choice}/logprobs`
  reportUnknown(logprobs, known, at, report)
  if (Array.isArray(logprobs.refusal) && logprobs.refusal.length > 0)
    report.add(loss(`${at}/refusal`, 'the log probabilities of a refusal have no place here'))
}

type Start = Extract<ModelEvent, { type: 'response-start' }>

/**
 * Characters that a value of a response's frame (id, model, service tier, vendor fields) may have. Some formats repeat the frame in
 * every event: without a bound, one long value and many small events would become their product.
 */
const longestFrameValue = 1024

/** Returns the event without the values that are longer; the same event if there are none. What is left out is reported. */
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

/** Where an answer of either format that has them holds the checks. */
export const checksField = 'input_transformations'

/** Reports checks to clients whose format has no place for them. */
export function reportReasoningChecks(
  checks: readonly ReasoningCheck[] | undefined,
  client: string,
  report: Report,
): void {
  for (const check of checks ?? []) report.add(lossOfCheck(check, `${client} does not say so`))
}

/** The loss of one check. */
export const lossOfCheck = ({ at = '', reason, isShown }: ReasoningCheck, why: string) =>
  loss(
    at,
    `earlier reasoning ${isShown ? 'failed a check' : 'was not shown to the model'} (${reason}); ${why}`,
    'unsupported',
    isShown ? 'note' : 'warn',
  )

/** The parts of reasoning in a request, in order. */
export const reasoningIn = ({ turns }: { readonly turns: readonly Turn[] }): ReasoningPart[] =>
  turns.flatMap(({ parts }) => parts.filter((part): part is ReasoningPart => part.type === 'reasoning'))

/** The part that a check is about. */
export const checkedPart = ({ place }: ReasoningCheck, request: ModelRequest): ReasoningPart | undefined =>
  place === undefined ? undefined : reasoningIn(request).find((part) => part.at === place)

/** The entries of a list that `read` understands, as checks, and the others, to be kept as they are. */
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
