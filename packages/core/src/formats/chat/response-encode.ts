import { GatewayError } from '../../base/errors.ts'
import { isObject, type JsonObject, put } from '../../base/json/json.ts'
import type { CodecContext, ExchangeContext } from '../codec.ts'
import type { Choice, Citation, MediaPart, ModelResponse, Nothing, Part, ReasoningPart, ToolCallPart } from '../ir.ts'
import { loss, ownExtra, reportCitation } from '../shared/report.ts'
import { reportFinish, reportReasoningChecks } from '../shared/response-losses.ts'
import { contentOf, encodeFinish } from './finish.ts'
import { audioMediaType, partName } from './media.ts'
import { encodeCallSeal, encodeDetail, joinReasoning, needsDetails } from './reasoning.ts'
import { usesFunctions } from './tools.ts'
import { encodeUsage } from './usage.ts'

export function encodeResponse(response: ModelResponse, context: ExchangeContext): JsonObject {
  const { id, model, created, choices, usage, serviceTier, reasoningChecks, extra, ...rest } = response
  rest satisfies Nothing
  reportReasoningChecks(reasoningChecks, 'chat', context.report)
  const out: JsonObject = {
    // Some SDKs reject a response without it.
    system_fingerprint: null,
    ...ownExtra(extra, 'chat', '', context.report),
    id: id || context.newId('chatcmpl-'),
    object: 'chat.completion',
    created: created || context.now(),
    model: model || context.request.model,
    choices: choices.map((choice, index) => encodeAnswer(choice, index, context)),
  }
  if (usage !== undefined) out.usage = encodeUsage(usage, choices.some(reasons))
  put(out, 'service_tier', serviceTier)
  return out
}

const reasons = ({ parts }: Choice): boolean => parts.some((part) => part.type === 'reasoning')

function encodeAnswer(choice: Choice, index: number, context: ExchangeContext): JsonObject {
  const { parts, finish, logprobs, extra, ...rest } = choice
  rest satisfies Nothing
  const { reason, sequence, raw: _, explanation, extra: finishExtra, ...finishRest } = finish
  finishRest satisfies Nothing
  if (reason === 'error' || (reason === 'other' && parts.length === 0))
    throw new GatewayError('upstream_error', explanation ?? 'The upstream ended its response with an error.')
  const at = `/choices/${index}`
  const { message: ownMessage, ...own } = ownExtra(extra, 'chat', at, context.report) ?? {}
  ownExtra(finishExtra, 'chat', at, context.report)
  reportFinish(finish, {}, at, context)
  const held = contentOf(parts)
  const message = encodeMessage(parts, isObject(ownMessage) ? ownMessage : {}, context)
  if (explanation !== undefined && message.refusal === null) {
    if (reason === 'refusal' || reason === 'content-filter') message.refusal = explanation
    else
      context.report.add(
        loss(
          `${at}/explanation`,
          `chat completions has no field for the explanation of the finish: ${explanation}`,
          'unsupported',
          'note',
        ),
      )
  }
  const out: JsonObject = { ...own, index, message, logprobs: logprobs ?? null }
  out.finish_reason = encodeFinish(finish, held, usesFunctions(context.request))
  put(out, 'stop_reason', sequence)
  return out
}

function encodeMessage(parts: readonly Part[], own: JsonObject, context: ExchangeContext): JsonObject {
  const out: JsonObject = { ...own, role: 'assistant', content: null, refusal: null }
  const content: (JsonObject | string)[] = []
  const reasoning: ReasoningPart[] = []
  const refusals: string[] = []
  const annotations: JsonObject[] = []
  const calls: JsonObject[] = []
  const images: JsonObject[] = []
  let offset = 0
  for (const part of parts) {
    reportHints(part, context)
    switch (part.type) {
      case 'text':
        for (const citation of part.citations ?? []) {
          const annotation = encodeCitation(citation, offset, part.text.length, part.at ?? '', context)
          if (annotation !== undefined) annotations.push(annotation)
        }
        content.push(part.text)
        offset += part.text.length
        break
      case 'reasoning':
        reasoning.push(part)
        break
      case 'refusal':
        refusals.push(part.text)
        break
      case 'tool-call':
        encodeAnswerCall(part, out, calls, context)
        break
      case 'media':
        if (part.kind === 'image') images.push(encodeImage(part, images.length, context))
        else if (part.kind === 'audio' && part.source.type === 'base64')
          out.audio = { ...audioFrame(part, context), data: part.source.data }
        else reportLeftOut(part, context)
        break
      case 'native':
        if (part.format === 'chat') content.push(part.value)
        else reportLeftOut(part, context)
        break
      case 'tool-result':
        reportLeftOut(part, context)
        break
      default:
        part satisfies never
    }
  }
  const silent = calls.length > 0 || refusals.length > 0 || out.audio !== undefined || out.function_call !== undefined
  if (content.length > 0 || !silent) out.content = joinContent(content)
  if (refusals.length > 0) out.refusal = refusals.join('\n')
  const text = joinReasoning(reasoning)
  if (text !== '') out.reasoning_content = text
  if (reasoning.some(needsDetails))
    out.reasoning_details = reasoning.map((part, index) => encodeDetail(part, index, context.report))
  if (annotations.length > 0) out.annotations = annotations
  if (images.length > 0) out.images = images
  if (calls.length > 0) out.tool_calls = calls
  return out
}

/** Encodes content as a string, unless a chat upstream sent native blocks in it. */
function joinContent(content: readonly (JsonObject | string)[]): string | JsonObject[] {
  if (content.every((item) => typeof item === 'string')) return content.join('')
  return content.map((item) => (typeof item === 'string' ? { type: 'text', text: item } : item))
}

/** Reports the fields of other formats on a response part. */
export function reportHints(part: Part, context: CodecContext): void {
  if (part.type !== 'media' && part.type !== 'tool-call') ownExtra(part.extra, 'chat', part.at ?? '', context.report)
  if (part.cache !== undefined)
    context.report.add(loss(part.at ?? '', 'a cache hint cannot be part of a response', 'unsupported', 'note'))
}

export function reportLeftOut(part: Part, context: CodecContext): void {
  context.report.add(loss(part.at ?? '', `${partName(part)} left out: it has no counterpart in chat completions`))
}

export function encodeCitation(
  citation: Citation,
  offset: number,
  length: number,
  at: string,
  context: CodecContext,
): JsonObject | undefined {
  const { url, title, text, start, end, extra, ...rest } = citation
  rest satisfies Nothing
  const own = extra?.chat
  if (own !== undefined && url === undefined) return own
  reportCitation(
    extra,
    'chat',
    at,
    'a citation in chat completions has only a URL, a title and offsets',
    context.report,
  )
  if (url === undefined) {
    context.report.add(loss(at, `a citation without a URL cannot be sent in chat completions: ${title ?? text ?? ''}`))
    return undefined
  }
  const inner: JsonObject = {
    ...(isObject(own?.url_citation) ? own.url_citation : undefined),
    url,
    title: title ?? url,
    start_index: (start ?? 0) + offset,
    end_index: (end ?? length) + offset,
  }
  put(inner, 'content', text)
  return { ...own, type: 'url_citation', url_citation: inner }
}

/** Encodes a call with its extra fields and its seal. */
export function encodeCallFrame(part: ToolCallPart, input: string, context: CodecContext): JsonObject {
  const { type: _, id, name, input: _input, custom, seal, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const own = ownExtra(extra, 'chat', at, context.report)
  const key = custom ? 'custom' : 'function'
  const inner = { ...(isObject(own?.[key]) ? own[key] : undefined), name }
  const out: JsonObject = {
    ...own,
    id: id || context.newId('call_'),
    type: key,
    [key]: custom ? { ...inner, input } : { ...inner, arguments: input },
  }
  if (seal !== undefined) out.extra_content = encodeCallSeal(seal)
  return out
}

function encodeAnswerCall(part: ToolCallPart, out: JsonObject, calls: JsonObject[], context: ExchangeContext): void {
  const call = encodeCallFrame(part, part.custom ? part.input : part.input || '{}', context)
  if (!usesFunctions(context.request)) calls.push(call)
  else if (out.function_call === undefined && isObject(call.function)) out.function_call = call.function
  else
    context.report.add(
      loss(
        part.at ?? '',
        `the call of '${part.name}' was left out: the field \`functions\` allows one call per response`,
      ),
    )
}

/** Encodes images in `images`, as OpenRouter does. Chat itself has no field for them. */
export function encodeImage(part: MediaPart, index: number, context: CodecContext): JsonObject {
  const { source, mediaType = 'image/png', extra, at = '' } = part
  const own = ownExtra(extra, 'chat', at, context.report)
  context.report.add(
    loss(at, "the image is sent in the message's `images`, a field of some vendors", 'approximated', 'note'),
  )
  const url =
    source.type === 'base64'
      ? `data:${mediaType};base64,${source.data}`
      : source.type === 'url'
        ? source.url
        : source.type === 'text'
          ? source.text
          : ''
  const inner = isObject(own?.image_url) ? own.image_url : undefined
  return { ...own, type: 'image_url', image_url: { ...inner, url }, index }
}

/** Encodes the audio fields other than the data: those of a chat upstream, or new ones. */
export function audioFrame(part: MediaPart, context: ExchangeContext): JsonObject {
  const own = ownExtra(part.extra, 'chat', part.at ?? '', context.report)
  if (typeof own?.id === 'string') return own
  const requested = context.request.output?.audio?.format
  if (typeof requested === 'string' && part.mediaType !== undefined && audioMediaType(requested) !== part.mediaType)
    context.report.add(loss(part.at ?? '', `the audio is ${part.mediaType}, not ${requested}`, 'approximated'))
  return { ...own, id: context.newId('audio_'), transcript: '', expires_at: context.now() + 3600 }
}
