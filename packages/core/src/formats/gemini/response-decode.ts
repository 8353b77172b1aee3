import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, pointer, put } from '../../base/json/json.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Choice, ModelResponse, Part, Report, TextPart } from '../ir.ts'
import { drop, leftover, putBack, takeAny, takeObject, takeString, type Unread } from '../shared/json-fields.ts'
import { loss, objectsIn } from '../shared/report.ts'
import { checkChoiceCount } from '../shared/stream-parts.ts'
import { decodeError, isResponse } from './error.ts'
import { decodeBlockReason, decodeFinish, hasToolCall } from './finish.ts'
import { decodeSources } from './grounding.ts'
import { decodeLogprobs } from './logprobs.ts'
import { decodePart, type PartScope } from './parts-decode.ts'
import { copyInCamelCase, inCamelCase } from './spelling.ts'
import { TextOffsets } from './text-offsets.ts'
import { serviceTierIn } from './usage.ts'
import { decodeUsage, searchesIn, withBilled } from './usage-decode.ts'

/** Decodes leniently. Throws the error of a body that holds one under status 200, and `upstream_bad_response` for a body that is not a response. */
export function decodeResponse(body: Json, context: ExchangeContext): ModelResponse {
  const source = Array.isArray(body) && body.length === 1 ? body[0] : body
  if (isObject(source) && source.error) throw errorIn(source)
  if (!isObject(source) || !isResponse(source))
    throw new GatewayError(
      'upstream_bad_response',
      'The upstream returned status 200 with a body that is not a generateContent response.',
    )
  const fields = copyInCamelCase(source)
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
  if (response.choices.length === 0) response.choices.push(emptyChoice(fields))
  put(response, 'usage', withBilled(decodeUsage(usage), usage, searchesIn({ candidates: candidates ?? null })))
  put(response, 'serviceTier', serviceTierIn(usage))
  const extra = meaningfulFields(fields)
  if (extra !== undefined) response.extra = { gemini: extra }
  return response
}

const candidateFields: readonly string[] = ['content', 'finishReason', 'index', 'finishMessage', 'logprobsResult']

/** Returns the entries of `candidates` that are candidates, and reports others. */
export function candidatesIn(list: readonly Json[], report: Report): JsonObject[] {
  const objects = objectsIn(list, '/candidates', report)
  const isCandidate = (entry: JsonObject): boolean => {
    const fields = inCamelCase(entry)
    return candidateFields.some((key) => fields[key] !== undefined)
  }
  if (list.length === 1) return objects
  for (const [index, entry] of objects.entries())
    if (!isCandidate(entry))
      report.add(loss(pointer('/candidates', index), 'an entry that is not a candidate is left out'))
  return objects.filter(isCandidate)
}

function errorIn(body: JsonObject): GatewayError {
  const { kind, message, ...details } = decodeError(200, body)
  return new GatewayError(kind, message, details)
}

/** Returns the choice of a response without candidates: a blocked prompt, or an empty response. */
function emptyChoice(fields: Unread): Choice {
  const block = decodeBlockedPrompt(fields)
  return block ?? { parts: [], finish: { reason: 'other', raw: { format: 'gemini', value: '' } } }
}

/** Decodes a blocked prompt. The choice keeps the whole feedback, so that it can be encoded again. */
export function decodeBlockedPrompt(fields: Unread): Choice | undefined {
  const feedback = isObject(fields.promptFeedback) ? fields.promptFeedback : undefined
  const reason = feedback?.blockReason
  if (feedback === undefined || reason === undefined || reason === null || reason === 'BLOCK_REASON_UNSPECIFIED')
    return undefined
  drop(fields, 'promptFeedback')
  const finish = decodeBlockReason(reason, feedback.blockReasonMessage)
  finish.extra = { gemini: { promptFeedback: feedback } }
  return { parts: [], finish }
}

/** Creates the scope of a response, which generates ids for calls without one and knows the client's custom tools. */
export function responseScope(context: ExchangeContext): PartScope {
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
  const fields = copyInCamelCase(candidate)
  drop(fields, 'index')
  const content = takeObject(fields, 'content')
  const inner = content === undefined ? {} : copyInCamelCase(content)
  drop(inner, 'role')
  const wire = Array.isArray(inner.parts) ? inner.parts : isObject(inner.parts) ? [inner.parts] : []
  drop(inner, 'parts')
  const scope = responseScope(context)
  const parts: Part[] = []
  const texts = new Map<number, TextPart>()
  for (const [position, part] of wire.entries()) {
    if (!isObject(part)) continue
    const decoded = decodePart(part, `/candidates/${index}/content/parts/${position}`, position, scope)
    for (const one of decoded) if (one.type === 'text' && one.text !== '') texts.set(position, one)
    // Streams and thinking models send empty texts as padding.
    for (const one of decoded) if (one.type !== 'text' || one.text !== '' || one.extra !== undefined) parts.push(one)
  }
  // A source without a part index means the first text, which may follow thoughts.
  const textPartAt = (part: number) => texts.get(part) ?? (part === 0 ? texts.values().next().value : undefined)
  const offsets = new Map<TextPart, TextOffsets>()
  const { byPart } = decodeSources(fields, (part) => {
    const cited = textPartAt(part)
    if (cited === undefined) return undefined
    const known = offsets.get(cited) ?? new TextOffsets(cited.text)
    offsets.set(cited, known)
    return known
  })
  for (const [position, citations] of byPart) {
    const part = textPartAt(position)
    if (part !== undefined) part.citations = [...(part.citations ?? []), ...citations]
  }
  const finish = decodeFinish(takeAny(fields, 'finishReason'), takeAny(fields, 'finishMessage'), hasToolCall(parts))
  const choice: Choice = { parts, finish }
  const logprobs = takeLogprobs(fields, index, context.report)
  if (logprobs !== undefined) choice.logprobs = logprobs
  const rest = leftover(inner)
  if (rest !== undefined) putBack(fields, 'content', rest)
  const extra = meaningfulFields(fields)
  if (extra !== undefined) choice.extra = { gemini: extra }
  return choice
}

/** Decodes and removes the log probabilities of a candidate. */
export function takeLogprobs(fields: Unread, candidate: number, report: Report): JsonObject | undefined {
  if (fields.logprobsResult === undefined) return undefined
  const decoded = decodeLogprobs(fields.logprobsResult, `/candidates/${candidate}/logprobsResult`, report)
  if (decoded !== undefined) drop(fields, 'logprobsResult')
  return decoded
}

/** Returns the unread fields that have a value: no nulls, empty texts or empty lists. */
function meaningfulFields(fields: Unread): JsonObject | undefined {
  for (const key in fields) {
    const value = fields[key]
    if (value === null || value === '' || (Array.isArray(value) && value.length === 0)) drop(fields, key)
  }
  return leftover(fields)
}
