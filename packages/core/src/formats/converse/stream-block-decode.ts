import { fromBase64, toBase64 } from '../../base64.ts'
import { concatBytes } from '../../bytes.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Json, JsonObject } from '../ir.ts'
import { createPartWriter, type PartWriter } from '../messages/stream-block-decode.ts'
import { append } from '../shared/append.ts'
import { innerJson } from '../shared/json-text.ts'
import { assignOwn } from '../shared/own-members.ts'
import { isObject } from '../shared/reader.ts'
import { loss } from '../shared/report.ts'
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

/** The block that a start, or the first delta of a block without one, belongs to. */
export function openBlock(first: JsonObject, writer: PartWriter, context: ExchangeContext): BlockDecoder {
  const { toolUse, toolResult, image, reasoningContent } = first
  if (isObject(toolUse))
    return isServerCall(toolUse) || typeof toolUse.toolUseId !== 'string'
      ? openServerCall(toolUse, writer)
      : openCall(toolUse, writer, context)
  if (toolResult !== undefined) return openServerResult(isObject(toolResult) ? toolResult : {}, writer)
  if (isObject(image)) return openImage(image, writer)
  if (isObject(reasoningContent))
    return reasoningContent.redactedContent === undefined ? openReasoning(writer, context) : openRedacted(writer)
  if (first.text !== undefined || first.citation !== undefined) return openText(writer, context)
  return openUnknown(first, writer)
}

/** A delta that does not belong into its block: newer than this codec, or nonsense. */
function reportDelta(delta: JsonObject, context: ExchangeContext): void {
  const kind = Object.keys(delta).join(', ')
  context.report.add(
    loss('/output/message/content', `a stream delta with ${kind} is not known here`, 'unknown', 'note'),
  )
}

function openText(writer: PartWriter, context: ExchangeContext): BlockDecoder {
  const number = writer.start({ type: 'text', text: '' })
  return {
    delta(delta) {
      if (typeof delta.text === 'string') writer.delta(number, { type: 'text', text: delta.text })
      else if (isObject(delta.citation))
        writer.delta(number, { type: 'citation', citation: decodeCitation(delta.citation) })
      else reportDelta(delta, context)
    },
    stop: () => writer.end(number),
  }
}

function openReasoning(writer: PartWriter, context: ExchangeContext): BlockDecoder {
  const number = writer.start({ type: 'reasoning', text: '' })
  return {
    delta(delta) {
      const { text, signature } = isObject(delta.reasoningContent) ? delta.reasoningContent : {}
      if (typeof text === 'string') writer.delta(number, { type: 'reasoning', text })
      else if (typeof signature === 'string')
        writer.delta(number, { type: 'seal', seal: { issuer: 'converse', data: signature } })
      else reportDelta(delta, context)
    },
    stop: () => writer.end(number),
  }
}

/** Withheld reasoning is bytes: pieces of them are joined as such. */
function openRedacted(writer: PartWriter): BlockDecoder {
  const pieces: string[] = []
  return {
    delta: (delta) => pieces.push(textOf(isObject(delta.reasoningContent) && delta.reasoningContent.redactedContent)),
    stop() {
      const seal = { issuer: 'converse', data: joinBase64(pieces) } as const
      writer.end(writer.start({ type: 'reasoning', text: '', redacted: true, seal }))
    },
  }
}

function openCall(start: JsonObject, writer: PartWriter, context: ExchangeContext): BlockDecoder {
  const call = restoreCall(
    { type: 'tool-call', id: textOf(start.toolUseId), name: textOf(start.name), input: '' },
    context.request,
  )
  const number = writer.start(call)
  let input = ''
  return {
    delta(delta) {
      if (!isObject(delta.toolUse)) {
        reportDelta(delta, context)
        return
      }
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
function openServerCall(start: JsonObject, writer: PartWriter): BlockDecoder {
  let input = ''
  return {
    delta(delta) {
      input += textOf(isObject(delta.toolUse) && delta.toolUse.input)
    },
    stop: () => writer.end(writer.start(nativeBlock({ toolUse: { ...start, input: innerJson(input) ?? input } }))),
  }
}

function openServerResult(start: JsonObject, writer: PartWriter): BlockDecoder {
  const content: Json[] = []
  return {
    delta(delta) {
      if (Array.isArray(delta.toolResult)) append(content, delta.toolResult)
    },
    stop: () => writer.end(writer.start(nativeBlock({ toolResult: { ...start, content } }))),
  }
}

function openImage(start: JsonObject, writer: PartWriter): BlockDecoder {
  const pieces: string[] = []
  const more: JsonObject = {}
  return {
    delta(delta) {
      const { source, ...rest } = isObject(delta.image) ? delta.image : {}
      if (isObject(source)) pieces.push(textOf(source.bytes))
      assignOwn(more, rest)
    },
    stop() {
      const image = { ...start, ...more, source: { bytes: joinBase64(pieces) } }
      writer.end(writer.start(decodeMedia('image', image) ?? nativeBlock({ image })))
    },
  }
}

/** Blocks that are not known here are passed on whole, in the pieces in which they came. */
function openUnknown(first: JsonObject, writer: PartWriter): BlockDecoder {
  const pieces: JsonObject[] = []
  return {
    delta: (delta) => pieces.push(delta),
    stop: () => writer.end(writer.start(nativeBlock(pieces.length === 1 ? { ...pieces[0] } : { ...first, pieces }))),
  }
}

function joinBase64(pieces: readonly string[]): string {
  const [only] = pieces
  if (only !== undefined && pieces.length === 1) return only
  return toBase64(concatBytes(pieces.map((piece) => fromBase64(piece) ?? new Uint8Array())))
}
