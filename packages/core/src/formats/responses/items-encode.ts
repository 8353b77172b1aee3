import { isObject } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { ExchangeContext } from '../codec.ts'
import type { MediaPart, Nothing, Part, ReasoningPart, ToolCallPart } from '../ir.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { encodeOutput, leaveOut, messageOf } from './content.ts'
import { encodeReasoning, isOwn } from './reasoning.ts'
import { callFields, searchCall } from './request-encode-turns.ts'
import { nativeOf } from './tools.ts'

/** Items of an answer, each as it stands when it is done. The stream's encoder takes them apart again. */

export type Words = Part & { type: 'text' | 'refusal' }

export function messageItem(words: Words | undefined, context: ExchangeContext): JsonObject {
  const { id, ...own } = (words === undefined ? undefined : messageOf(words)) ?? {}
  return { id: idOf(id, 'msg_', context), type: 'message', status: 'completed', role: 'assistant', content: [], ...own }
}

const idOf = (id: unknown, prefix: string, context: ExchangeContext): string =>
  typeof id === 'string' && id !== '' ? id : context.newId(prefix)

/** A content part, with every key that clients read. */
export function contentPart(part: Words, context: ExchangeContext): JsonObject {
  const out = encodeOutput(part, context)
  return out.type === 'output_text' ? { logprobs: [], ...out } : out
}

export function reasoningItem(group: readonly ReasoningPart[], context: ExchangeContext): JsonObject {
  const { id, ...item } = encodeReasoning(group, context)
  // Some clients require a status. An item of the upstream's own goes back to it, and must stay as it is.
  return { id: idOf(id, 'rs_', context), ...(isOwn(group) ? {} : { status: 'completed' }), ...item }
}

/** A call; `input` apart, as the stream knows it late. */
export function callItem(part: ToolCallPart, input: string, context: ExchangeContext): JsonObject {
  const { type: _, id: callId, name, input: _input, custom, seal: _seal, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { id, namespace, native, ...own } = ownExtra(extra, 'responses', at, context.report) ?? {}
  if (isObject(native)) return native
  const call = callId || context.newId('call_')
  const { tools } = context.request
  if (nativeOf(name, tools) !== undefined)
    return { id: idOf(id, 'tsc_', context), status: 'completed', ...own, ...searchCall(call, input) }
  return {
    id: idOf(id, custom ? 'ctc_' : 'fc_', context),
    status: 'completed',
    ...own,
    ...callFields(name, input, custom, call, namespace, tools),
  }
}

/** Pictures are the results of a tool of the server's here; there is no other place for them. */
function imageItem(part: MediaPart, context: ExchangeContext): JsonObject | undefined {
  const { source, mediaType, extra, kind, at = '' } = part
  if (kind !== 'image' || source.type !== 'base64')
    return leaveOut(part, 'an answer of responses holds images as data only', context)
  const { id, ...own } = ownExtra(extra, 'responses', at, context.report) ?? {}
  if (own.output_format === undefined)
    context.report.add(loss(at, 'the image is told as the result of an image generation call', 'approximated', 'note'))
  const format = mediaType?.startsWith('image/') ? { output_format: mediaType.slice('image/'.length) } : {}
  return {
    id: idOf(id, 'ig_', context),
    type: 'image_generation_call',
    status: 'completed',
    ...format,
    ...own,
    result: source.data,
  }
}

/** What another format invented is reported; a tool's result has no place in an answer. */
export function otherItem(part: Part, context: ExchangeContext): JsonObject | undefined {
  if (part.type === 'media') return imageItem(part, context)
  if (part.type === 'native' && part.format === 'responses') return part.value
  return leaveOut(part, 'an answer of responses has no form for it', context)
}
