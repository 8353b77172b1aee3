import { GatewayError } from '../../base/errors.ts'
import { isObject, type JsonObject, put } from '../../base/json/json.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Choice, Citation, ModelResponse, Nothing, Part } from '../ir.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { reportFinish, reportReasoningChecks } from '../shared/response-losses.ts'
import { encodeTier } from './fields.ts'
import { encodeFinish } from './finish.ts'
import { encodeSources } from './grounding.ts'
import { encodeLogprobs } from './logprobs.ts'
import { type EncodeScope, encodeParts } from './parts-encode.ts'
import { encodeUsage } from './usage.ts'

/** Creates the scope of a client's response. The client gets foreign seals, so that it can send them back. */
export const clientScope = (context: ExchangeContext): EncodeScope => ({
  context,
  towards: 'client',
  mediaInResponses: true,
  functionNameOf: () => undefined,
})

/** Encodes a response. Throws `upstream_error` for a choice that ended with an error. */
export function encodeResponse(response: ModelResponse, context: ExchangeContext): JsonObject {
  const { id, model, created: _created, choices, usage, serviceTier, reasoningChecks, extra, ...rest } = response
  rest satisfies Nothing
  reportReasoningChecks(reasoningChecks, 'generateContent', context.report)
  const out: JsonObject = { ...ownExtra(extra, 'gemini', '', context.report) }
  const feedback = feedbackOf(choices)
  if (feedback !== undefined) out.promptFeedback = feedback
  else out.candidates = choices.map((choice, index) => encodeCandidate(choice, index, context))
  const counted = usage === undefined ? undefined : encodeUsage(usage)
  const metadata = withTier(counted, serviceTier, context)
  if (metadata !== undefined) out.usageMetadata = metadata
  out.modelVersion = model || context.request.model
  out.responseId = id || context.newId('')
  return out
}

/** Adds the service tier to the usage. A tier without usage, or one that Google lacks, is omitted and reported. */
export function withTier(
  usage: JsonObject | undefined,
  tier: string | undefined,
  context: ExchangeContext,
): JsonObject | undefined {
  if (tier === undefined || usage?.serviceTier !== undefined) return usage
  const word = encodeTier(tier)
  if (usage !== undefined && word !== undefined) {
    if (tier === 'fast')
      context.report.add(
        loss('/serviceTier', "generateContent names the tier 'fast' 'priority'", 'approximated', 'note'),
      )
    return { ...usage, serviceTier: word }
  }
  context.report.add(loss('/serviceTier', `generateContent has no service tier '${tier}'`, 'unsupported', 'note'))
  return usage
}

/** Returns the feedback of a prompt that Google blocked. Its response has no candidate. */
function feedbackOf(choices: readonly Choice[]): JsonObject | undefined {
  const [only, second] = choices
  const feedback = second === undefined ? only?.finish.extra?.gemini?.promptFeedback : undefined
  return isObject(feedback) && only?.parts.length === 0 ? feedback : undefined
}

function encodeCandidate(choice: Choice, index: number, context: ExchangeContext): JsonObject {
  const { parts, finish, logprobs, extra, ...rest } = choice
  rest satisfies Nothing
  const at = `/choices/${index}`
  const ending = encodeCandidateFinish(finish, parts.length > 0, at, context)
  if (ending === undefined)
    throw new GatewayError('upstream_error', finish.explanation ?? 'The upstream ended its response with an error.')
  const { content: ownContent, ...own } = ownExtra(extra, 'gemini', at, context.report) ?? {}
  const wire = partsForClient(encodeParts(parts, clientScope(context)), context)
  const out: JsonObject = {
    content: { ...(isObject(ownContent) ? ownContent : undefined), parts: wire, role: 'model' },
    ...ending,
    index,
    ...own,
  }
  encodeSources(citedTexts(parts, wire), out, context)
  put(out, 'logprobsResult', encodeLogprobs(logprobs, index, context.report))
  return out
}

/** Removes empty texts, for clients that drop turns with one from their history. A response without other parts keeps them. */
function partsForClient(parts: JsonObject[], context: ExchangeContext): JsonObject[] {
  if (context.client?.spoiledByEmptyText !== true) return parts
  const kept = parts.filter(({ text }) => text !== '')
  if (kept.length === 0) return parts
  for (const part of parts) if (part.text === '') reportLostSignature(part, context)
  return kept
}

/** Reports a signature on an empty text, which such a client's history cannot keep. */
export function reportLostSignature({ thoughtSignature }: JsonObject, { report }: ExchangeContext): void {
  if (thoughtSignature !== undefined)
    report.add(loss('/choices', "the client's SDK drops thought signatures", 'unsupported', 'note'))
}

/** Encodes `finishReason` and its message. Returns undefined for a response that failed, which must become an error. */
export function encodeCandidateFinish(
  finish: Choice['finish'],
  hasContent: boolean,
  at: string,
  context: ExchangeContext,
): JsonObject | undefined {
  const { reason: _reason, sequence, raw: _raw, explanation, extra, ...rest } = finish
  rest satisfies Nothing
  const word = encodeFinish(finish, hasContent)
  if (word === undefined) return undefined
  reportFinish(finish, { words: 'gemini' }, at, context)
  const { promptFeedback: _feedback, ...own } = ownExtra(extra, 'gemini', at, context.report) ?? {}
  if (sequence !== undefined)
    context.report.add(
      loss(`${at}/sequence`, `generateContent does not report the stop sequence: ${sequence}`, 'unsupported', 'note'),
    )
  const out: JsonObject = { finishReason: word, ...own }
  put(out, 'finishMessage', explanation)
  return out
}

/** Returns the cited texts with their index among the encoded parts. */
function citedTexts(
  parts: readonly Part[],
  wire: readonly JsonObject[],
): { part: number; text: string; citations: readonly Citation[]; at: string }[] {
  const out: { part: number; text: string; citations: readonly Citation[]; at: string }[] = []
  const nextText = createTextFinder(wire)
  let from = 0
  let first: number | undefined
  for (const part of parts) {
    if (part.type !== 'text') continue
    const place = nextText(part.text, from)
    if (place >= 0) from = place + 1
    first ??= place
    if (part.citations !== undefined && part.citations.length > 0)
      // Google's supports omit the part index for the first text, even after other parts.
      out.push({
        part: place === first ? 0 : Math.max(0, place),
        text: part.text,
        citations: part.citations,
        at: part.at ?? '',
      })
  }
  return out
}

/** Returns a function that finds the first part with a text from an index on, or -1. The indices must not decrease. */
function createTextFinder(wire: readonly JsonObject[]): (text: string, from: number) => number {
  const places = new Map<string, { readonly all: number[]; next: number }>()
  for (const [index, { text, thought }] of wire.entries()) {
    if (typeof text !== 'string' || thought === true) continue
    const known = places.get(text)
    if (known === undefined) places.set(text, { all: [index], next: 0 })
    else known.all.push(index)
  }
  return (text, from) => {
    const found = places.get(text)
    if (found === undefined) return -1
    while ((found.all[found.next] ?? from) < from) found.next++
    return found.all[found.next] ?? -1
  }
}
