import { GatewayError } from '../../base/errors.ts'
import { isObject, put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Choice, Citation, ModelResponse, Nothing, Part } from '../ir.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { reportEnding, reportReasoningChecks } from '../shared/response-losses.ts'
import { encodeTier } from './fields.ts'
import { encodeFinish } from './finish.ts'
import { encodeSources } from './grounding.ts'
import { writeLogprobs } from './logprobs.ts'
import { type EncodeScope, encodeParts } from './parts-encode.ts'
import { encodeUsage } from './usage.ts'

/** How parts are written for a client: foreign seals are shown to it, so that it can send them back. */
export const clientScope = (context: ExchangeContext): EncodeScope => ({
  context,
  towards: 'client',
  mediaInside: true,
  nameOf: () => undefined,
})

export function encodeResponse(response: ModelResponse, context: ExchangeContext): JsonObject {
  const { id, model, created: _created, choices, usage, serviceTier, reasoningChecks, extra, ...rest } = response
  rest satisfies Nothing
  reportReasoningChecks(reasoningChecks, 'generateContent', context.report)
  const out: JsonObject = { ...ownExtra(extra, 'gemini', '', context.report) }
  const feedback = blockOf(choices)
  if (feedback !== undefined) out.promptFeedback = feedback
  else out.candidates = choices.map((choice, index) => encodeCandidate(choice, index, context))
  const counted = usage === undefined ? undefined : encodeUsage(usage)
  const metadata = withTier(counted, serviceTier, context)
  if (metadata !== undefined) out.usageMetadata = metadata
  out.modelVersion = model || context.request.model
  out.responseId = id || context.newId('')
  return out
}

/** The tier stands in the usage; another vendor's word, or one without a usage, is left out and reported. */
export function withTier(
  usage: JsonObject | undefined,
  tier: string | undefined,
  context: ExchangeContext,
): JsonObject | undefined {
  if (tier === undefined || usage?.serviceTier !== undefined) return usage
  const word = encodeTier(tier)
  if (usage !== undefined && word !== undefined) {
    if (tier === 'fast')
      context.report.add(loss('/serviceTier', "the tier 'fast' is named 'priority' here", 'approximated', 'note'))
    return { ...usage, serviceTier: word }
  }
  context.report.add(loss('/serviceTier', `the tier '${tier}' is not said here`, 'unsupported', 'note'))
  return usage
}

/** A prompt that Google blocked is told in Google's own way: without a candidate. */
function blockOf(choices: readonly Choice[]): JsonObject | undefined {
  const [only, second] = choices
  const feedback = second === undefined ? only?.finish.extra?.gemini?.promptFeedback : undefined
  return isObject(feedback) && only?.parts.length === 0 ? feedback : undefined
}

function encodeCandidate(choice: Choice, index: number, context: ExchangeContext): JsonObject {
  const { parts, finish, logprobs, extra, ...rest } = choice
  rest satisfies Nothing
  const at = `/choices/${index}`
  const ending = encodeEnding(finish, parts.length > 0, at, context)
  if (ending === undefined)
    throw new GatewayError('upstream_error', finish.explanation ?? 'The upstream ended its answer with an error.')
  const { content: ownContent, ...own } = ownExtra(extra, 'gemini', at, context.report) ?? {}
  const wire = keptParts(encodeParts(parts, clientScope(context)), context)
  const out: JsonObject = {
    content: { ...(isObject(ownContent) ? ownContent : undefined), parts: wire, role: 'model' },
    ...ending,
    index,
    ...own,
  }
  encodeSources(citedIn(parts, wire), out, context)
  put(out, 'logprobsResult', writeLogprobs(logprobs, index, context.report))
  return out
}

/** The parts without those that make the client forget the turn. Of an answer that says nothing there is nothing to keep. */
function keptParts(parts: JsonObject[], context: ExchangeContext): JsonObject[] {
  if (context.client?.spoiledByEmptyText !== true) return parts
  const kept = parts.filter(({ text }) => text !== '')
  if (kept.length === 0) return parts
  for (const part of parts) if (part.text === '') reportUnkept(part, context)
  return kept
}

/** The client keeps no signatures in its history, whatever it is sent. */
export function reportUnkept({ thoughtSignature }: JsonObject, { report }: ExchangeContext): void {
  if (thoughtSignature !== undefined)
    report.add(loss('/choices', "the client's SDK keeps no signatures of thoughts", 'unsupported', 'note'))
}

/** `finishReason` and what goes with it; undefined if only an error can tell how the answer ended. */
export function encodeEnding(
  finish: Choice['finish'],
  said: boolean,
  at: string,
  context: ExchangeContext,
): JsonObject | undefined {
  const { reason: _reason, sequence, raw: _raw, explanation, extra, ...rest } = finish
  rest satisfies Nothing
  const word = encodeFinish(finish, said)
  if (word === undefined) return undefined
  reportEnding(finish, { words: 'gemini' }, at, context)
  const { promptFeedback: _feedback, ...own } = ownExtra(extra, 'gemini', at, context.report) ?? {}
  if (sequence !== undefined)
    context.report.add(
      loss(`${at}/sequence`, `which stop sequence was hit is not said here: ${sequence}`, 'unsupported', 'note'),
    )
  const out: JsonObject = { finishReason: word, ...own }
  put(out, 'finishMessage', explanation)
  return out
}

/** The cited texts, and the place of each among the parts as written. */
function citedIn(
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
      // Google names no part for the first text, whatever stands before it.
      out.push({
        part: place === first ? 0 : Math.max(0, place),
        text: part.text,
        citations: part.citations,
        at: part.at ?? '',
      })
  }
  return out
}

/** Finds the first part with a text from a place on; -1 if there is none. The places asked for never decrease. */
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
