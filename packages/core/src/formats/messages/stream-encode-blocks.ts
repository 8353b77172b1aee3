import { stringifyExact } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { SseEvent } from '../../http/sse/event.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Delta, Part, Sealed } from '../ir.ts'
import { callSealFields, reportLostSeal } from '../shared/call-seals.ts'
import { quoteText } from '../shared/json-text.ts'
import { loss } from '../shared/report.ts'
import { writeSeal } from '../shared/seals.ts'
import { joinText } from '../shared/stream-parts.ts'
import { inputObject } from '../shared/tools.ts'
import { encodeCitation } from './citations.ts'
import {
  carrierOf,
  encodeAnswerPart,
  expectsThinking,
  mayBeEmpty,
  thinkingBlocks,
  unsigned,
} from './response-encode.ts'

/** Writes the events of whole blocks and of blocks in growth, numbered without gaps. */
export interface BlockWriter {
  start(block: JsonObject): void
  delta(delta: JsonObject): void
  /** The deltas that most of a stream is made of. */
  piece(type: keyof typeof pieces, text: string): void
  stop(): void
  /** A whole block, taken apart as the real server does. */
  whole(block: JsonObject): void
}

/** Where each kind of delta holds its text. */
const pieces = { text_delta: 'text', thinking_delta: 'thinking', input_json_delta: 'partial_json' } as const

export const sse = (data: JsonObject & { type: string }): SseEvent => ({ event: data.type, data: stringifyExact(data) })

export function createBlockWriter(emit: (event: SseEvent) => void): BlockWriter {
  let index = 0
  /** What a piece of the open block begins with, and of which kind. */
  let head = ''
  let headOf: keyof typeof pieces | undefined
  const writer: BlockWriter = {
    start: (block) => emit(sse({ type: 'content_block_start', index, content_block: block })),
    delta: (delta) => emit(sse({ type: 'content_block_delta', index, delta })),
    piece(type, text) {
      if (type !== headOf) {
        headOf = type
        const place = `{"type":"content_block_delta","index":${index},"delta":`
        head = joinText(place, `{"type":"${type}","${pieces[type]}":`)
      }
      emit({ event: 'content_block_delta', data: `${head}${quoteText(text)}}}` })
    },
    stop() {
      emit(sse({ type: 'content_block_stop', index: index++ }))
      headOf = undefined
    },
    whole(block) {
      const { start, deltas } = takeApart(block)
      writer.start(start)
      for (const delta of deltas) writer.delta(delta)
      writer.stop()
    },
  }
  return writer
}

/** Which fields of a block follow in deltas; every other block comes whole in its start. */
function takeApart(block: JsonObject): { start: JsonObject; deltas: JsonObject[] } {
  const { type } = block
  if (type === 'thinking') {
    const { thinking = '', signature = '' } = block
    const deltas: JsonObject[] = thinking === '' ? [] : [{ type: 'thinking_delta', thinking }]
    return {
      start: { ...block, thinking: '', signature: '' },
      deltas: [...deltas, { type: 'signature_delta', signature }],
    }
  }
  if (type === 'text') {
    const { citations, text = '', ...rest } = block
    const deltas: JsonObject[] = Array.isArray(citations)
      ? citations.map((citation) => ({ type: 'citations_delta', citation }))
      : []
    return { start: { ...rest, text: '' }, deltas: text === '' ? deltas : [{ type: 'text_delta', text }, ...deltas] }
  }
  if (type === 'compaction' && typeof block.content === 'string')
    return { start: { ...block, content: null }, deltas: [{ type: 'compaction_delta', content: block.content }] }
  if (typeof type === 'string' && type.endsWith('tool_use')) {
    const { input } = block
    // Input that broke off in the middle is text still.
    const partial_json = typeof input === 'string' ? input : isEmpty(input) ? '' : stringifyExact(input)
    return { start: { ...block, input: {} }, deltas: [{ type: 'input_json_delta', partial_json }] }
  }
  return { start: block, deltas: [] }
}

const isEmpty = (input: JsonObject[string] | undefined): boolean => !isObject(input) || Object.keys(input).length === 0

/** One part of the answer while it grows. */
export interface PartEncoder {
  delta(delta: Delta): void
  end(): void
}

export function openPart(part: Part, writer: BlockWriter, context: ExchangeContext): PartEncoder {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return openText(part, writer, context)
    case 'reasoning':
      return part.redacted ? openRedacted(part, writer, context) : openReasoning(part, writer, context)
    case 'tool-call':
      return part.custom ? openCustom(part, writer, context) : openCall(part, writer, context)
    default:
      return openWhole(part, writer, context)
  }
}

function reportDelta(delta: Delta, part: Part, context: ExchangeContext): void {
  context.report.add(loss(part.at ?? '', `${delta.type} in a ${part.type} part has no form in messages`))
}

/** Log probabilities ride on text; messages has none. */
function textOf(delta: Delta & { text: string; logprobs?: unknown }, context: ExchangeContext): string {
  if (delta.logprobs !== undefined) context.report.add(loss('/choices/0/logprobs', 'messages has no log probabilities'))
  return delta.text
}

function openText(
  part: Part & { type: 'text' | 'refusal' },
  writer: BlockWriter,
  context: ExchangeContext,
): PartEncoder {
  for (const block of encodeAnswerPart(part, context)) {
    const { start, deltas } = takeApart(block)
    writer.start(start)
    for (const delta of deltas) writer.delta(delta)
  }
  return {
    delta(delta) {
      if (delta.type === 'text' || delta.type === 'refusal') {
        const text = textOf(delta, context)
        if (text !== '') writer.piece('text_delta', text)
      } else if (delta.type === 'citation') {
        const citation = encodeCitation(delta.citation, part.at ?? '', context)
        if (citation !== undefined) writer.delta({ type: 'citations_delta', citation })
      } else reportDelta(delta, part, context)
    },
    end: () => writer.stop(),
  }
}

function openReasoning(part: Part & { type: 'reasoning' }, writer: BlockWriter, context: ExchangeContext): PartEncoder {
  let seal: Sealed | undefined = part.seal
  let isOpen = false
  const write = (thinking: string): void => {
    if (!isOpen)
      for (const block of thinkingBlocks({ ...part, text: '' }, context)) writer.start({ ...block, signature: '' })
    isOpen = true
    if (thinking !== '') writer.piece('thinking_delta', thinking)
  }
  if (part.text !== '' || mayBeEmpty(seal, context.request)) write(part.text)
  return {
    delta(delta) {
      if (delta.type === 'reasoning') {
        const thinking = textOf(delta, context)
        if (thinking !== '') write(thinking)
      } else if (delta.type === 'seal') seal = delta.seal
      else reportDelta(delta, part, context)
    },
    end() {
      if (!isOpen && mayBeEmpty(seal, context.request)) write('')
      if (!isOpen) {
        if (seal !== undefined) reportLostSeal(part.at ?? '', context)
        return
      }
      // The signature is the last word of a thinking block.
      writer.delta({ type: 'signature_delta', signature: seal === undefined ? unsigned : writeSeal(seal, 'messages') })
      writer.stop()
    },
  }
}

/** Redacted thinking comes in one piece, so it waits for its seal. */
function openRedacted(part: Part & { type: 'reasoning' }, writer: BlockWriter, context: ExchangeContext): PartEncoder {
  const collected = { ...part }
  return {
    delta(delta) {
      if (delta.type === 'seal') collected.seal = delta.seal
      else if (delta.type !== 'reasoning') reportDelta(delta, part, context)
    },
    end() {
      for (const block of encodeAnswerPart(collected, context)) writer.whole(block)
    },
  }
}

function openCall(part: Part & { type: 'tool-call' }, writer: BlockWriter, context: ExchangeContext): PartEncoder {
  const { seal: early, ...bare } = part
  const [block = {}] = encodeAnswerPart({ ...bare, input: '' }, context)
  const thinks = expectsThinking(context.request)
  if (early !== undefined && thinks) writer.whole(carrierOf({ id: String(block.id) }, early))
  let late: Sealed | undefined
  writer.start(early === undefined || thinks ? block : { ...block, ...callSealFields(early, 'messages') })
  // As the real server does: the first fragment is empty.
  writer.piece('input_json_delta', '')
  if (part.input !== '') writer.piece('input_json_delta', part.input)
  return {
    delta(delta) {
      if (delta.type === 'input') {
        if (delta.text !== '') writer.piece('input_json_delta', delta.text)
      } else if (delta.type === 'seal') late = delta.seal
      else reportDelta(delta, part, context)
    },
    end() {
      writer.stop()
      if (late === undefined || early !== undefined) return
      if (thinks) writer.whole(carrierOf({ id: String(block.id) }, late))
      else reportLostSeal(part.at ?? '', context)
    },
  }
}

/** Free text has to be wrapped into JSON, which needs all of it. */
function openCustom(part: Part & { type: 'tool-call' }, writer: BlockWriter, context: ExchangeContext): PartEncoder {
  const collected = { ...part }
  return {
    delta(delta) {
      if (delta.type === 'input') collected.input += delta.text
      else if (delta.type === 'seal') collected.seal = delta.seal
      else reportDelta(delta, part, context)
    },
    end() {
      for (const block of encodeAnswerPart(collected, context))
        writer.whole({ ...block, input: block.input ?? inputObject(collected, context.report) })
    },
  }
}

/** Parts without deltas of their own. */
function openWhole(part: Part, writer: BlockWriter, context: ExchangeContext): PartEncoder {
  for (const block of encodeAnswerPart(part, context)) writer.whole(block)
  return {
    delta: (delta) => {
      // What cannot be carried was reported whole; its pieces need no report of their own.
      if (part.type === 'native') reportDelta(delta, part, context)
    },
    end: () => {},
  }
}
