import { concatBytes, fromBase64, toBase64 } from '../../base/bytes.ts'
import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { ExchangeContext } from '../codec.ts'
import { createPartWriter, type PartWriter } from '../messages/stream-block-decode.ts'
import { append } from '../shared/append.ts'
import { innerJson } from '../shared/json-text.ts'
import { assignOwn } from '../shared/own-members.ts'
import { pointer } from '../shared/pointer.ts'
import { loss } from '../shared/report.ts'
import { reportUnknown, shapeOf } from '../shared/shape.ts'
import { customInput } from '../shared/tool-input.ts'
import { decodeCitation, decodeMedia, isServerCall, nativeBlock, restoreCall } from './blocks-decode.ts'

export { createPartWriter }

/** One content block of a stream. */
export interface BlockDecoder {
  delta(delta: JsonObject): void
  /** Called once, at the block's stop (or at the end of a message that forgot it). */
  stop(): void
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/**
 * The block that a start, or the first delta of a block without one, belongs to.
 *
 * @param at where the block stands in the whole answer
 */
export function openBlock(first: JsonObject, at: string, writer: PartWriter, context: ExchangeContext): BlockDecoder {
  const { toolUse, toolResult, image, reasoningContent } = first
  if (toolUse !== undefined || toolResult !== undefined || image !== undefined)
    reportUnknown(first, shapes.start, at, context.report)
  if (isObject(toolUse))
    return isServerCall(toolUse) || typeof toolUse.toolUseId !== 'string'
      ? openServerCall(toolUse, at, writer, context)
      : openCall(first, toolUse, at, writer, context)
  if (toolResult !== undefined) return openServerResult(isObject(toolResult) ? toolResult : {}, at, writer, context)
  if (isObject(image)) return openImage(image, at, writer, context)
  if (isObject(reasoningContent))
    return reasoningContent.redactedContent === undefined
      ? openReasoning(at, writer, context)
      : openRedacted(at, writer, context)
  if (first.text !== undefined || first.citation !== undefined) return openText(at, writer, context)
  return openUnknown(first, at, writer)
}

/** A delta that does not belong into its block: newer than this codec, or nonsense. */
function reportDelta(delta: JsonObject, at: string, context: ExchangeContext): void {
  const kind = Object.keys(delta).join(', ')
  context.report.add(loss(at, `a stream delta with ${kind} is not known here`, 'unknown', 'note'))
}

function openText(at: string, writer: PartWriter, context: ExchangeContext): BlockDecoder {
  const number = writer.start({ type: 'text', text: '', at })
  return {
    delta(delta) {
      reportUnknown(delta, shapes.text, at, context.report)
      if (typeof delta.text === 'string') writer.delta(number, { type: 'text', text: delta.text })
      else if (isObject(delta.citation))
        writer.delta(number, { type: 'citation', citation: decodeCitation(delta.citation) })
      else reportDelta(delta, at, context)
    },
    stop: () => writer.end(number),
  }
}

function openReasoning(at: string, writer: PartWriter, context: ExchangeContext): BlockDecoder {
  const number = writer.start({ type: 'reasoning', text: '', at })
  return {
    delta(delta) {
      reportUnknown(delta, shapes.reasoning, at, context.report)
      const { text, signature } = isObject(delta.reasoningContent) ? delta.reasoningContent : {}
      if (typeof text === 'string') writer.delta(number, { type: 'reasoning', text })
      else if (typeof signature === 'string')
        writer.delta(number, { type: 'seal', seal: { issuer: 'converse', data: signature } })
      else reportDelta(delta, at, context)
    },
    stop: () => writer.end(number),
  }
}

/** Withheld reasoning is bytes: pieces of them are joined as such. */
function openRedacted(at: string, writer: PartWriter, context: ExchangeContext): BlockDecoder {
  const pieces: string[] = []
  return {
    delta(delta) {
      reportUnknown(delta, shapes.redacted, at, context.report)
      pieces.push(textOf(isObject(delta.reasoningContent) && delta.reasoningContent.redactedContent))
    },
    stop() {
      const seal = { issuer: 'converse', data: joinBase64(pieces) } as const
      writer.end(writer.start({ type: 'reasoning', text: '', redacted: true, seal, at }))
    },
  }
}

function openCall(
  first: JsonObject,
  start: JsonObject,
  at: string,
  writer: PartWriter,
  context: ExchangeContext,
): BlockDecoder {
  reportUnknown(first, shapes.callStart, at, context.report)
  const call = restoreCall(
    { type: 'tool-call', id: textOf(start.toolUseId), name: textOf(start.name), input: '', at },
    context.request,
  )
  const number = writer.start(call)
  let input = ''
  return {
    delta(delta) {
      if (!isObject(delta.toolUse)) {
        reportDelta(delta, at, context)
        return
      }
      reportUnknown(delta, shapes.call, at, context.report)
      const piece = textOf(delta.toolUse.input)
      input += piece
      if (call.custom !== true && piece !== '') writer.delta(number, { type: 'input', text: piece })
    },
    stop() {
      if (call.custom === true) writer.delta(number, { type: 'input', text: customInput(input || '{}') })
      // A call without arguments streams nothing at all; elsewhere that would be broken JSON.
      else if (input === '') writer.delta(number, { type: 'input', text: '{}' })
      writer.end(number)
    },
  }
}

/** A call that Bedrock makes itself is kept whole. */
function openServerCall(start: JsonObject, at: string, writer: PartWriter, context: ExchangeContext): BlockDecoder {
  let input = ''
  return {
    delta(delta) {
      reportUnknown(delta, shapes.call, at, context.report)
      input += textOf(isObject(delta.toolUse) && delta.toolUse.input)
    },
    stop: () =>
      writer.end(writer.start({ ...nativeBlock({ toolUse: { ...start, input: innerJson(input) ?? input } }), at })),
  }
}

function openServerResult(start: JsonObject, at: string, writer: PartWriter, context: ExchangeContext): BlockDecoder {
  const content: Json[] = []
  return {
    delta(delta) {
      reportUnknown(delta, shapes.result, at, context.report)
      if (Array.isArray(delta.toolResult)) append(content, delta.toolResult)
    },
    stop: () => writer.end(writer.start({ ...nativeBlock({ toolResult: { ...start, content } }), at })),
  }
}

function openImage(start: JsonObject, at: string, writer: PartWriter, context: ExchangeContext): BlockDecoder {
  const pieces: string[] = []
  const more: JsonObject = {}
  return {
    delta(delta) {
      const { source, ...rest } = isObject(delta.image) ? delta.image : {}
      reportUnknown(delta, shapes.image, at, context.report)
      if (isObject(source)) {
        reportUnknown(source, shapes.source, pointer(at, 'source'), context.report)
        pieces.push(textOf(source.bytes))
      }
      assignOwn(more, rest)
    },
    stop() {
      const image = { ...start, ...more, source: { bytes: joinBase64(pieces) } }
      writer.end(writer.start({ ...(decodeMedia('image', image) ?? nativeBlock({ image })), at }))
    },
  }
}

/** Blocks that are not known here are passed on whole, in the pieces in which they came. */
function openUnknown(first: JsonObject, at: string, writer: PartWriter): BlockDecoder {
  const pieces: JsonObject[] = []
  return {
    delta: (delta) => pieces.push(delta),
    stop: () =>
      writer.end(writer.start({ ...nativeBlock(pieces.length === 1 ? { ...pieces[0] } : { ...first, pieces }), at })),
  }
}

/** A block's start, and the deltas of each kind of block. */
const shapes = {
  start: shapeOf({ toolUse: true, toolResult: true, image: true }),
  callStart: shapeOf({ toolUse: { toolUseId: true, name: true, type: true, input: true } }),
  text: shapeOf({ text: true, citation: true }),
  reasoning: shapeOf({ reasoningContent: { text: true, signature: true } }),
  redacted: shapeOf({ reasoningContent: { redactedContent: true } }),
  call: shapeOf({ toolUse: { input: true } }),
  result: shapeOf({ toolResult: true }),
  image: shapeOf({ image: true }),
  source: shapeOf({ bytes: true }),
} as const

function joinBase64(pieces: readonly string[]): string {
  const [only] = pieces
  if (only !== undefined && pieces.length === 1) return only
  return toBase64(concatBytes(pieces.map((piece) => fromBase64(piece) ?? new Uint8Array())))
}
