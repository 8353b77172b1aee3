import { isObject, type JsonObject } from '../../base/json/json.ts'
import type { ExchangeContext } from '../codec.ts'
import type { MediaPart, Nothing, Part, ReasoningPart, ToolCallPart } from '../ir.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { encodeOutputPart, messageFieldsOf, omitPart } from './content.ts'
import { encodeReasoning, isFromResponses } from './reasoning.ts'
import { callFields, toolSearchCall } from './request-encode-turns.ts'
import { nativeToolOf } from './tools.ts'

/** A text or a refusal: a content part of a message. */
export type MessagePart = Part & { type: 'text' | 'refusal' }

/** Returns a completed message item without content. The stream encoder sends the items of this file in pieces. */
export function messageItem(part: MessagePart | undefined, context: ExchangeContext): JsonObject {
  const { id, ...own } = (part === undefined ? undefined : messageFieldsOf(part)) ?? {}
  return {
    id: idOrNew(id, 'msg_', context),
    type: 'message',
    status: 'completed',
    role: 'assistant',
    content: [],
    ...own,
  }
}

const idOrNew = (id: unknown, prefix: string, context: ExchangeContext): string =>
  typeof id === 'string' && id !== '' ? id : context.newId(prefix)

/** Returns a content part with every key that clients read. */
export function contentPart(part: MessagePart, context: ExchangeContext): JsonObject {
  const out = encodeOutputPart(part, context)
  return out.type === 'output_text' ? { logprobs: [], ...out } : out
}

/** Returns the item of reasoning parts that belong together. */
export function reasoningItem(group: readonly ReasoningPart[], context: ExchangeContext): JsonObject {
  const { id, ...item } = encodeReasoning(group, context)
  // Some clients require a status. An item of an upstream of this format returns to it, and must stay unchanged.
  return { id: idOrNew(id, 'rs_', context), ...(isFromResponses(group) ? {} : { status: 'completed' }), ...item }
}

/** Returns the item of a call. `input` is separate, because the stream encoder knows it late. */
export function callItem(part: ToolCallPart, input: string, context: ExchangeContext): JsonObject {
  const { type: _, id: callId, name, input: _input, custom, seal: _seal, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { id, namespace, native, ...own } = ownExtra(extra, 'responses', at, context.report) ?? {}
  if (isObject(native)) return native
  const call = callId || context.newId('call_')
  const { tools } = context.request
  if (nativeToolOf(name, tools) !== undefined)
    return { id: idOrNew(id, 'tsc_', context), status: 'completed', ...own, ...toolSearchCall(call, input) }
  return {
    id: idOrNew(id, custom ? 'ctc_' : 'fc_', context),
    status: 'completed',
    ...own,
    ...callFields(name, input, custom, call, namespace, tools),
  }
}

/** Encodes an image as the result of an image generation call, the only place for images in a response. */
function imageItem(part: MediaPart, context: ExchangeContext): JsonObject | undefined {
  const { source, mediaType, extra, kind, at = '' } = part
  if (kind !== 'image' || source.type !== 'base64')
    return omitPart(part, 'a response holds images as data only', context)
  const { id, ...own } = ownExtra(extra, 'responses', at, context.report) ?? {}
  if (own.output_format === undefined)
    context.report.add(loss(at, 'the image is sent as the result of an image generation call', 'approximated', 'note'))
  const format = mediaType?.startsWith('image/') ? { output_format: mediaType.slice('image/'.length) } : {}
  return {
    id: idOrNew(id, 'ig_', context),
    type: 'image_generation_call',
    status: 'completed',
    ...format,
    ...own,
    result: source.data,
  }
}

/** Encodes images and native items. Other parts are reported, among them tool results and blocks of other formats. */
export function otherItem(part: Part, context: ExchangeContext): JsonObject | undefined {
  if (part.type === 'media') return imageItem(part, context)
  if (part.type === 'native' && part.format === 'responses') return part.value
  return omitPart(part, 'it has no counterpart in responses', context)
}
