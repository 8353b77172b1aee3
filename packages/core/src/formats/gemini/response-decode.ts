import { GatewayError } from '../../base/errors.ts'
import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Choice, ModelResponse, Part, Report, TextPart } from '../ir.ts'
import { drop, leftover, putBack, takeAny, takeObject, takeString, type Unread } from '../shared/json-fields.ts'
import { pointer } from '../shared/pointers.ts'
import { loss, objectsIn } from '../shared/report.ts'
import { checkChoiceCount } from '../shared/stream-parts.ts'
import { decodeError, isAnswer } from './error.ts'
import { decodeBlock, decodeFinish, holdsCall } from './finish.ts'
import { decodeSources } from './grounding.ts'
import { readLogprobs } from './logprobs.ts'
import { decodePart, type PartScope } from './parts-decode.ts'
import { respell, respelled } from './spelling.ts'
import { TextOffsets } from './text-offsets.ts'
import { tierIn } from './usage.ts'
import { decodeUsage } from './usage-decode.ts'

/** Takes whatever servers send, as far as it goes. An `error` in a 200 is an error; so is an answer without a candidate or a reason. */
export function decodeResponse(body: Json, context: ExchangeContext): ModelResponse {
  const source = Array.isArray(body) && body.length === 1 ? body[0] : body
  if (isObject(source) && source.error) throw toThrow(source)
  if (!isObject(source) || !isAnswer(source))
    throw new GatewayError(
      'upstream_bad_response',
      'The upstream answered 200 with something that is no generateContent answer.',
    )
  const fields = respell(source)
  const usage = takeAny(fields, 'usageMetadata')
  const candidates = takeAny(fields, 'candidates')
  if (Array.isArray(candidates)) checkChoiceCount(candidates.length)
  const response: ModelResponse = {
    id: takeString(fields, 'responseId') ?? '',
    model: takeString(fields, 'modelVersion') ?? '',
    created: 0,
    choices: (Array.isArray(candidates) ? candidatesIn(candidates, context.report) : [])
      .map((candidate, position) => ({
        index: typeof candidate.index === 'number' ? candidate.index : position,
        candidate,
      }))
      .sort((a, b) => a.index - b.index)
      .map(({ candidate, index }) => decodeCandidate(candidate, index, context)),
  }
  if (response.choices.length === 0) response.choices.push(unanswered(fields))
  put(response, 'usage', decodeUsage(usage))
  put(response, 'serviceTier', tierIn(usage))
  const extra = substance(fields)
  if (extra !== undefined) response.extra = { gemini: extra }
  return response
}

const candidateFields: readonly string[] = ['content', 'finishReason', 'index', 'finishMessage', 'logprobsResult']

/** The entries of `candidates` that are candidates; others are reported. */
export function candidatesIn(list: readonly Json[], report: Report): JsonObject[] {
  const objects = objectsIn(list, '/candidates', report)
  const isCandidate = (entry: JsonObject): boolean => {
    const fields = respelled(entry)
    return candidateFields.some((key) => fields[key] !== undefined)
  }
  if (list.length === 1) return objects
  for (const [index, entry] of objects.entries())
    if (!isCandidate(entry))
      report.add(loss(pointer('/candidates', index), 'an entry that is no candidate is left out'))
  return objects.filter(isCandidate)
}

function toThrow(body: JsonObject): GatewayError {
  const { kind, message, ...details } = decodeError(200, body)
  return new GatewayError(kind, message, details)
}

/** No candidate: the prompt was blocked, or the upstream said nothing at all. */
function unanswered(fields: Unread): Choice {
  const block = takeBlock(fields)
  return block ?? { parts: [], finish: { reason: 'other', raw: { format: 'gemini', value: '' } } }
}

/** Why a prompt was blocked; what else the feedback says goes with the choice, so that it can be written again. */
export function takeBlock(fields: Unread): Choice | undefined {
  const feedback = isObject(fields.promptFeedback) ? fields.promptFeedback : undefined
  const reason = feedback?.blockReason
  if (feedback === undefined || reason === undefined || reason === null || reason === 'BLOCK_REASON_UNSPECIFIED')
    return undefined
  drop(fields, 'promptFeedback')
  const finish = decodeBlock(reason, feedback.blockReasonMessage)
  finish.extra = { gemini: { promptFeedback: feedback } }
  return { parts: [], finish }
}

/** Ids for calls that came without one, and the asker's free-text tools. */
export function answerScope(context: ExchangeContext): PartScope {
  /** The id of the first call of each name. */
  const calls = new Map<string, string>()
  return {
    callId(id, name) {
      const made = id ?? context.newId('call_')
      if (!calls.has(name)) calls.set(name, made)
      return made
    },
    responseId: (id, name) => id ?? calls.get(name) ?? '',
    request: context.request,
  }
}

function decodeCandidate(candidate: JsonObject, index: number, context: ExchangeContext): Choice {
  const fields = respell(candidate)
  drop(fields, 'index')
  const content = takeObject(fields, 'content')
  const inner = content === undefined ? {} : respell(content)
  drop(inner, 'role')
  const wire = Array.isArray(inner.parts) ? inner.parts : isObject(inner.parts) ? [inner.parts] : []
  drop(inner, 'parts')
  const scope = answerScope(context)
  const parts: Part[] = []
  const texts = new Map<number, TextPart>()
  for (const [position, part] of wire.entries()) {
    if (!isObject(part)) continue
    const decoded = decodePart(part, `/candidates/${index}/content/parts/${position}`, position, scope)
    for (const one of decoded) if (one.type === 'text' && one.text !== '') texts.set(position, one)
    // A text that says nothing is how streams and thinkers fill up.
    for (const one of decoded) if (one.type !== 'text' || one.text !== '' || one.extra !== undefined) parts.push(one)
  }
  // A source that names no part means the first; thoughts may stand before the first text.
  const home = (part: number) => texts.get(part) ?? (part === 0 ? texts.values().next().value : undefined)
  const offsets = new Map<TextPart, TextOffsets>()
  const { of } = decodeSources(fields, (part) => {
    const cited = home(part)
    if (cited === undefined) return undefined
    const known = offsets.get(cited) ?? new TextOffsets(cited.text)
    offsets.set(cited, known)
    return known
  })
  for (const [position, citations] of of) {
    const part = home(position)
    if (part !== undefined) part.citations = [...(part.citations ?? []), ...citations]
  }
  const finish = decodeFinish(takeAny(fields, 'finishReason'), takeAny(fields, 'finishMessage'), holdsCall(parts))
  const choice: Choice = { parts, finish }
  const logprobs = takeLogprobs(fields, index, context.report)
  if (logprobs !== undefined) choice.logprobs = logprobs
  const rest = leftover(inner)
  if (rest !== undefined) putBack(fields, 'content', rest)
  const extra = substance(fields)
  if (extra !== undefined) choice.extra = { gemini: extra }
  return choice
}

/** The log probabilities of a candidate; the sum, which follows from them, is dropped. */
export function takeLogprobs(fields: Unread, candidate: number, report: Report): JsonObject | undefined {
  if (fields.logprobsResult === undefined) return undefined
  const decoded = readLogprobs(fields.logprobsResult, `/candidates/${candidate}/logprobsResult`, report)
  if (decoded !== undefined) drop(fields, 'logprobsResult')
  return decoded
}

/** Fields that say something: no nulls, no empty texts and lists. */
function substance(fields: Unread): JsonObject | undefined {
  for (const key in fields) {
    const value = fields[key]
    if (value === null || value === '' || (Array.isArray(value) && value.length === 0)) drop(fields, key)
  }
  return leftover(fields)
}
