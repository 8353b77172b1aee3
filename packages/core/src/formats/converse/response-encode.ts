import { GatewayError } from '../../base/errors.ts'
import { isObject, type JsonObject, put } from '../../base/json/json.ts'
import type { CodecContext, ExchangeContext } from '../codec.ts'
import type {
  Choice,
  Finish,
  ModelResponse,
  NativePart,
  Nothing,
  Part,
  ReasoningPart,
  Sealed,
  ToolCallPart,
} from '../ir.ts'
import { sealForCarrier } from '../shared/call-seals.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { reportFinish, reportReasoningChecks } from '../shared/response-losses.ts'
import { writeSeal, writeSealBase64 } from '../shared/seals.ts'
import { inputObject } from '../shared/tools.ts'
import { encodeFinish, hasCall } from './finish.ts'
import { encodeResponseMedia } from './media-encode.ts'
import { citedText } from './request-encode-turns.ts'
import { encodeUsage } from './usage-encode.ts'

/** Encodes a response. Throws GatewayError for a response that ended in an error, since no stop reason expresses that. */
export function encodeResponse(response: ModelResponse, context: ExchangeContext): JsonObject {
  // Converse has neither id, model nor creation time. The header of every response has the call's id.
  const {
    id: _,
    model: _model,
    created: _created,
    choices,
    usage,
    serviceTier,
    reasoningChecks,
    extra,
    ...rest
  } = response
  rest satisfies Nothing
  const { report } = context
  const [choice, ...others] = choices
  for (const [index] of others.entries())
    report.add(loss(`/choices/${index + 1}`, 'Converse carries one choice; the others are left out'))
  const { parts, finish, logprobs, extra: choiceExtra, ...choiceRest } = choice ?? noChoice
  choiceRest satisfies Nothing
  const at = '/choices/0'
  if (logprobs !== undefined) report.add(loss(`${at}/logprobs`, 'Converse has no log probabilities'))
  reportReasoningChecks(reasoningChecks, 'Converse', report)
  checkFinish(finish, parts.length > 0)
  const content = parts.flatMap((part) => encodeResponsePart(part, context))
  const own = ownExtra(choiceExtra, 'converse', at, report)
  return {
    ...ownExtra(extra, 'converse', '', report),
    output: { message: { role: 'assistant', content } },
    ...encodeEnding(finish, hasCall(parts), own, context),
    usage: encodeUsage(usage),
    ...encodeMetadata(serviceTier, own, context),
  }
}

const noChoice: Choice = { parts: [], finish: { reason: 'other' } }

/** Fields of a response's end. In a stream, the others stand in its last event. */
const endingFields: ReadonlySet<string> = new Set(['additionalModelResponseFields'])

/** Encodes the stop reason, with the fields that Bedrock sends next to it. */
export function encodeEnding(
  finish: Finish,
  calls: boolean,
  own: JsonObject | undefined,
  context: ExchangeContext,
): JsonObject {
  const at = '/choices/0'
  reportFinish(finish, { words: 'converse' }, at, context)
  ownExtra(finish.extra, 'converse', at, context.report)
  if (finish.explanation !== undefined && finish.raw?.format !== 'converse')
    context.report.add(
      loss(
        `${at}/explanation`,
        `Converse has no field for the explanation of the finish: ${finish.explanation}`,
        'unsupported',
        'note',
      ),
    )
  const out = encodeFinish(finish, calls)
  const { additionalModelResponseFields: others } = own ?? {}
  if (isObject(others))
    out.additionalModelResponseFields = { ...others, ...(out.additionalModelResponseFields as JsonObject | undefined) }
  return out
}

/** Encodes what follows the usage: the measured latency, the tier and the fields that only Bedrock has. */
export function encodeMetadata(
  serviceTier: string | undefined,
  own: JsonObject | undefined,
  { elapsedMs }: ExchangeContext,
): JsonObject {
  const out: JsonObject = { metrics: { latencyMs: Math.round(elapsedMs?.() ?? 0) } }
  for (const [key, value] of Object.entries(own ?? {})) if (!endingFields.has(key)) out[key] = value
  put(out, 'serviceTier', serviceTier === undefined ? undefined : { type: serviceTier })
  return out
}

/** Throws GatewayError for a response that another upstream ended in an error, and for an empty one that ended for an unknown reason. */
export function checkFinish({ reason, raw, explanation }: Finish, hasParts: boolean): void {
  if (raw?.format === 'converse') return
  if (reason === 'error' || (reason === 'other' && !hasParts))
    throw new GatewayError('upstream_error', explanation ?? 'The upstream ended its response with an error.')
}

/** Encodes a part of a response as whole blocks. A part without a form in Converse is reported, and becomes no block. */
export function encodeResponsePart(part: Part, context: ExchangeContext): JsonObject[] {
  if (part.cache !== undefined)
    context.report.add(loss(part.at ?? '', 'a response has no cache points', 'unsupported', 'note'))
  switch (part.type) {
    case 'text':
      return [encodeText(part, context)]
    case 'refusal': {
      const { type: _, text, cache: _cache, extra, at = '', ...rest } = part
      rest satisfies Nothing
      ownExtra(extra, 'converse', at, context.report)
      return [{ text }]
    }
    case 'reasoning':
      return encodeReasoning(part, context)
    case 'tool-call':
      return encodeCall(part, context)
    case 'native':
      return encodeNative(part, context)
    case 'media': {
      const block = encodeResponseMedia(part, context)
      return block === undefined ? [] : [block]
    }
    case 'tool-result':
      context.report.add(loss(part.at ?? '', 'a tool result cannot be part of a Converse response and is left out'))
      return []
    default:
      return part satisfies never
  }
}

function encodeText(part: Part & { type: 'text' }, context: ExchangeContext): JsonObject {
  const { type: _, text, citations = [], cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const fields = ownExtra(extra, 'converse', at, context.report) ?? {}
  return citations.length > 0 || fields.citationsContent !== undefined ? citedText(part, fields, context) : { text }
}

/** Encodes reasoning of any format. The signature distinguishes Bedrock's seals from others when the block is sent again. */
function encodeReasoning(part: ReasoningPart, context: CodecContext): JsonObject[] {
  const { type: _, text, summary: _summary, redacted, seal, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { reasoningContent } = ownExtra(extra, 'converse', at, context.report) ?? {}
  const { reasoningText, ...fields } = isObject(reasoningContent) ? reasoningContent : {}
  if (redacted !== true) return [signedReasoning(text, seal, fields, isObject(reasoningText) ? reasoningText : {})]
  if (seal !== undefined)
    return [{ reasoningContent: { ...fields, redactedContent: writeSealBase64(seal, 'converse') } }]
  context.report.add(loss(at, 'withheld reasoning without a seal is empty and left out', 'unsupported', 'note'))
  return []
}

function signedReasoning(
  text: string,
  seal: Sealed | undefined,
  fields: JsonObject = {},
  own: JsonObject = {},
): JsonObject {
  const signature = seal === undefined ? {} : { signature: writeSeal(seal, 'converse') }
  return { reasoningContent: { ...fields, reasoningText: { ...own, text, ...signature } } }
}

/** Encodes a call. AWS's SDKs send back only its id, name and input, so that reasoning in front of it carries its seal. */
function encodeCall(part: ToolCallPart, context: ExchangeContext): JsonObject[] {
  const { type: _, id, name, input: _input, custom: _custom, seal, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { toolUse } = ownExtra(extra, 'converse', at, context.report) ?? {}
  const toolUseId = id || context.newId('tooluse_')
  const call = {
    toolUse: { ...(isObject(toolUse) ? toolUse : {}), toolUseId, name, input: inputObject(part, context.report) },
  }
  return seal === undefined ? [call] : [callSealBlock(toolUseId, seal), call]
}

/** Returns the reasoning block that carries a call's seal. */
export const callSealBlock = (id: string, seal: Sealed): JsonObject => signedReasoning('', sealForCarrier({ id }, seal))

function encodeNative(part: NativePart, context: CodecContext): JsonObject[] {
  const { type: _, format, value, incidental, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  ownExtra(extra, 'converse', at, context.report)
  if (format === 'converse') return [value]
  const what = typeof value.type === 'string' ? `a ${value.type} block` : 'a block of another format'
  context.report.add(loss(at, `${what} has no counterpart in Converse`, 'unsupported', incidental ? 'note' : 'warn'))
  return []
}
