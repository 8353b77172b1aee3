import { concatBytes, fromBase64, toBase64 } from '../../base/bytes.ts'
import { type ErrorInfo, GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, pointer } from '../../base/json/json.ts'
import { parseInnerJson, parseObjectExact } from '../../base/json/parse.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Finish, ModelEvent } from '../ir.ts'
import { append, assignOwn } from '../shared/json-fields.ts'
import { loss, reportUnknown, shapeOf, shapesOf } from '../shared/report.ts'
import { readSeal, readSealBase64 } from '../shared/seals.ts'
import { createPartWriter, type PartWriter } from '../shared/stream-parts.ts'
import { customInput } from '../shared/tools.ts'
import type { Machine } from '../stream-codec.ts'
import { isServerCall, nativeBlock, restoreCall } from './blocks-decode.ts'
import { decodeCitation } from './citations.ts'
import { streamException } from './error.ts'
import { decodeTier, usageOf } from './fields.ts'
import { decodeFinish } from './finish.ts'
import { decodeMedia } from './media-decode.ts'
import { blockAt, endingExtra, tierShape } from './response-decode.ts'

/**
 * Decodes a stream of Converse. The name of each frame is the type of its event. A stream is complete only with `metadata`, its last
 * event, which holds the usage.
 */
export function decodeStream(context: ExchangeContext): Machine<SseEvent, ModelEvent> {
  let out: ModelEvent[] = []
  let hasStarted = false
  let hasEnded = false
  let finish: Finish | undefined
  const ending: JsonObject = {}
  const open = new Map<Json, BlockDecoder>()
  const writer = createPartWriter(() => out)

  function fail(error: ErrorInfo): void {
    hasEnded = true
    out.push({ type: 'error', error })
  }
  const failBadResponse = (message: string): void => fail(new GatewayError('upstream_bad_response', message).info)

  function blockOf(index: Json, first: JsonObject): BlockDecoder {
    const at = typeof index === 'number' ? blockAt(index) : '/output/message/content'
    let block = open.get(index)
    // Bedrock sends a start only for blocks that have something to say there.
    if (block === undefined) {
      block = openBlock(first, at, writer, context)
      open.set(index, block)
    }
    return block
  }
  function close(index: Json): void {
    open.get(index)?.stop()
    open.delete(index)
  }

  function decodeEvent(type: string, event: JsonObject): void {
    if (/exception$/i.test(type)) {
      const { message, originalMessage } = event
      const text = typeof message === 'string' ? message : typeof originalMessage === 'string' ? originalMessage : ''
      fail(streamException(type, text).info)
      return
    }
    const index = event.contentBlockIndex ?? null
    const shape = eventShapes.get(type)
    if (shape !== undefined)
      reportUnknown(event, shape, typeof index === 'number' ? blockAt(index) : '', context.report)
    if (type === 'messageStart') {
      if (hasStarted) failBadResponse('The upstream began its message twice.')
      else out.push({ type: 'response-start', id: '', model: '', created: 0 })
      hasStarted = true
      return
    }
    if (!hasStarted) {
      failBadResponse('The stream of the upstream does not begin with messageStart.')
      return
    }
    switch (type) {
      case 'contentBlockStart':
        close(index)
        if (isObject(event.start)) blockOf(index, event.start)
        break
      case 'contentBlockDelta':
        if (isObject(event.delta)) blockOf(index, event.delta).delta(event.delta)
        break
      case 'contentBlockStop':
        close(index)
        break
      case 'messageStop': {
        const { stopReason, ...rest } = event
        finish = decodeFinish(stopReason, rest.additionalModelResponseFields)
        assignOwn(ending, rest)
        break
      }
      case 'metadata':
        end(event)
        break
      default:
        out.push({ type: 'native', format: 'converse', value: { [type]: event } })
    }
  }

  function end(event: JsonObject): void {
    if (finish === undefined) {
      failBadResponse('The upstream ended its response without a stop reason.')
      return
    }
    for (const index of [...open.keys()]) close(index)
    const { usage: _usage, serviceTier, ...rest } = event
    const usage = usageOf(event)
    const tier = decodeTier(serviceTier)
    if (isObject(serviceTier)) reportUnknown(serviceTier, tierShape, '/serviceTier', context.report)
    if (usage !== undefined) out.push({ type: 'usage', usage, ...(tier === undefined ? {} : { serviceTier: tier }) })
    const extra = endingExtra({ ...ending, ...rest })
    out.push({
      type: 'choice-end',
      choice: 0,
      finish,
      ...(extra === undefined ? {} : { extra: { converse: extra } }),
    })
    out.push({ type: 'response-end' })
    hasEnded = true
  }

  return {
    push({ event: type, data }) {
      if (hasEnded) return []
      out = []
      const event = parseObjectExact(data)
      if (event === undefined || type === undefined)
        failBadResponse('The upstream sent a stream event that is not a JSON object with a name.')
      else decodeEvent(type, event)
      return out
    },
    end() {
      if (hasEnded) return []
      out = []
      fail(
        new GatewayError('upstream_truncated', 'The upstream closed the stream before the end of its response.').info,
      )
      return out
    },
  }
}

/** `p` is padding. Other fields of `messageStop` and `metadata` belong to the end of the response. */
const eventShapes = shapesOf({
  messageStart: { role: true, p: true },
  contentBlockStart: { contentBlockIndex: true, start: true, p: true },
  contentBlockDelta: { contentBlockIndex: true, delta: true, p: true },
  contentBlockStop: { contentBlockIndex: true, p: true },
})

/** Decodes one content block of a stream. */
export interface BlockDecoder {
  delta(delta: JsonObject): void
  /** Called once, at the block's stop or at the end of a message that left the stop out. */
  stop(): void
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/**
 * Starts decoding a block from its start, or from its first delta if it has no start.
 * @param at pointer of the block in the whole response
 */
function openBlock(first: JsonObject, at: string, writer: PartWriter, context: ExchangeContext): BlockDecoder {
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

/** Reports a delta that does not fit its block: it is newer than this codec, or malformed. */
function reportDelta(delta: JsonObject, at: string, context: ExchangeContext): void {
  const kind = Object.keys(delta).join(', ')
  context.report.add(loss(at, `unknown stream delta with ${kind}`, 'unknown', 'note'))
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
        writer.delta(number, { type: 'seal', seal: readSeal(signature, 'converse') })
      else reportDelta(delta, at, context)
    },
    stop: () => writer.end(number),
  }
}

/** Decodes withheld reasoning. Its pieces are base64 and are joined as bytes. */
function openRedacted(at: string, writer: PartWriter, context: ExchangeContext): BlockDecoder {
  const pieces: string[] = []
  return {
    delta(delta) {
      reportUnknown(delta, shapes.redacted, at, context.report)
      pieces.push(textOf(isObject(delta.reasoningContent) && delta.reasoningContent.redactedContent))
    },
    stop() {
      const seal = readSealBase64(joinBase64(pieces), 'converse')
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
      // A call without arguments streams no input. Other formats would take that for broken JSON.
      else if (input === '') writer.delta(number, { type: 'input', text: '{}' })
      writer.end(number)
    },
  }
}

/** Keeps a call that Bedrock itself makes as a native part. */
function openServerCall(start: JsonObject, at: string, writer: PartWriter, context: ExchangeContext): BlockDecoder {
  let input = ''
  return {
    delta(delta) {
      reportUnknown(delta, shapes.call, at, context.report)
      input += textOf(isObject(delta.toolUse) && delta.toolUse.input)
    },
    stop: () =>
      writer.end(
        writer.start({ ...nativeBlock({ toolUse: { ...start, input: parseInnerJson(input) ?? input } }), at }),
      ),
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
      writer.end(writer.start({ ...(decodeMedia('image', image, context) ?? nativeBlock({ image })), at }))
    },
  }
}

/** Collects the pieces of a block of an unknown kind and emits them as a native part. */
function openUnknown(first: JsonObject, at: string, writer: PartWriter): BlockDecoder {
  const pieces: JsonObject[] = []
  return {
    delta: (delta) => pieces.push(delta),
    stop: () =>
      writer.end(writer.start({ ...nativeBlock(pieces.length === 1 ? { ...pieces[0] } : { ...first, pieces }), at })),
  }
}

/** Known fields of a block's start, and of the deltas of each kind of block. */
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
