import { isObject, type JsonObject, quoteText, stringifyExact } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Delta, Part, Sealed } from '../ir.ts'
import { callSealFields, reportLostSeal } from '../shared/call-seals.ts'
import { loss } from '../shared/report.ts'
import { writeSeal } from '../shared/seals.ts'
import { joinText } from '../shared/stream-parts.ts'
import { inputObject } from '../shared/tools.ts'
import { encodeCitation } from './citations.ts'
import {
  acceptsEmptyThinking,
  callSealBlock,
  encodeResponsePart,
  expectsThinking,
  thinkingBlocks,
  unsignedSignature,
} from './response-encode.ts'

/** Writes the events of blocks, numbered without gaps. */
export interface BlockWriter {
  start(block: JsonObject): void
  delta(delta: JsonObject): void
  /** Writes a text delta, the most frequent event of a stream. Its prefix is built once per block. */
  textDelta(type: keyof typeof textFields, text: string): void
  stop(): void
  /** Writes a whole block, split into events as Anthropic does it. */
  whole(block: JsonObject): void
}

/** The member that holds the text, by the delta's type. */
const textFields = { text_delta: 'text', thinking_delta: 'thinking', input_json_delta: 'partial_json' } as const

/** Returns an SSE event named by the type of its data. */
export const sse = (data: JsonObject & { type: string }): SseEvent => ({ event: data.type, data: stringifyExact(data) })

/** Creates a writer that passes its events to `emit`. */
export function createBlockWriter(emit: (event: SseEvent) => void): BlockWriter {
  let index = 0
  /** The start of the data of a text delta in the open block, and the type it was built for. */
  let prefix = ''
  let prefixType: keyof typeof textFields | undefined
  const writer: BlockWriter = {
    start: (block) => emit(sse({ type: 'content_block_start', index, content_block: block })),
    delta: (delta) => emit(sse({ type: 'content_block_delta', index, delta })),
    textDelta(type, text) {
      if (type !== prefixType) {
        prefixType = type
        const place = `{"type":"content_block_delta","index":${index},"delta":`
        prefix = joinText(place, `{"type":"${type}","${textFields[type]}":`)
      }
      emit({ event: 'content_block_delta', data: `${prefix}${quoteText(text)}}}` })
    },
    stop() {
      emit(sse({ type: 'content_block_stop', index: index++ }))
      prefixType = undefined
    },
    whole(block) {
      const { start, deltas } = splitBlock(block)
      writer.start(start)
      for (const delta of deltas) writer.delta(delta)
      writer.stop()
    },
  }
  return writer
}

/** Splits a block into its start and its deltas. Blocks of other types come whole in their start. */
function splitBlock(block: JsonObject): { start: JsonObject; deltas: JsonObject[] } {
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
    // Input that was cut off is still text.
    const partial_json = typeof input === 'string' ? input : isEmpty(input) ? '' : stringifyExact(input)
    return { start: { ...block, input: {} }, deltas: [{ type: 'input_json_delta', partial_json }] }
  }
  return { start: block, deltas: [] }
}

const isEmpty = (input: JsonObject[string] | undefined): boolean => !isObject(input) || Object.keys(input).length === 0

/** Encodes one part of a response while it grows. */
export interface PartEncoder {
  delta(delta: Delta): void
  end(): void
}

/** Starts encoding a part of a stream. */
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
      return writeWhole(part, writer, context)
  }
}

function reportDelta(delta: Delta, part: Part, context: ExchangeContext): void {
  context.report.add(loss(part.at ?? '', `${delta.type} in a ${part.type} part has no counterpart in messages`))
}

/** Returns the text of a delta and reports its log probabilities, which messages does not have. */
function textOf(delta: Delta & { text: string; logprobs?: unknown }, context: ExchangeContext): string {
  if (delta.logprobs !== undefined) context.report.add(loss('/choices/0/logprobs', 'messages has no log probabilities'))
  return delta.text
}

function openText(
  part: Part & { type: 'text' | 'refusal' },
  writer: BlockWriter,
  context: ExchangeContext,
): PartEncoder {
  for (const block of encodeResponsePart(part, context)) {
    const { start, deltas } = splitBlock(block)
    writer.start(start)
    for (const delta of deltas) writer.delta(delta)
  }
  return {
    delta(delta) {
      if (delta.type === 'text' || delta.type === 'refusal') {
        const text = textOf(delta, context)
        if (text !== '') writer.textDelta('text_delta', text)
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
    if (thinking !== '') writer.textDelta('thinking_delta', thinking)
  }
  if (part.text !== '' || acceptsEmptyThinking(seal, context.request)) write(part.text)
  return {
    delta(delta) {
      if (delta.type === 'reasoning') {
        const thinking = textOf(delta, context)
        if (thinking !== '') write(thinking)
      } else if (delta.type === 'seal') seal = delta.seal
      else reportDelta(delta, part, context)
    },
    end() {
      if (!isOpen && acceptsEmptyThinking(seal, context.request)) write('')
      if (!isOpen) {
        if (seal !== undefined) reportLostSeal(part.at ?? '', context)
        return
      }
      // The signature is the last delta of a thinking block.
      writer.delta({
        type: 'signature_delta',
        signature: seal === undefined ? unsignedSignature : writeSeal(seal, 'messages'),
      })
      writer.stop()
    },
  }
}

/** Redacted thinking is one block without deltas, so it waits for its seal. */
function openRedacted(part: Part & { type: 'reasoning' }, writer: BlockWriter, context: ExchangeContext): PartEncoder {
  const collected = { ...part }
  return {
    delta(delta) {
      if (delta.type === 'seal') collected.seal = delta.seal
      else if (delta.type !== 'reasoning') reportDelta(delta, part, context)
    },
    end() {
      for (const block of encodeResponsePart(collected, context)) writer.whole(block)
    },
  }
}

function openCall(part: Part & { type: 'tool-call' }, writer: BlockWriter, context: ExchangeContext): PartEncoder {
  const { seal: startSeal, ...bare } = part
  const [block = {}] = encodeResponsePart({ ...bare, input: '' }, context)
  const expectsCarrier = expectsThinking(context.request)
  if (startSeal !== undefined && expectsCarrier) writer.whole(callSealBlock({ id: String(block.id) }, startSeal))
  let laterSeal: Sealed | undefined
  writer.start(
    startSeal === undefined || expectsCarrier ? block : { ...block, ...callSealFields(startSeal, 'messages') },
  )
  // Anthropic begins with an empty fragment, too.
  writer.textDelta('input_json_delta', '')
  if (part.input !== '') writer.textDelta('input_json_delta', part.input)
  return {
    delta(delta) {
      if (delta.type === 'input') {
        if (delta.text !== '') writer.textDelta('input_json_delta', delta.text)
      } else if (delta.type === 'seal') laterSeal = delta.seal
      else reportDelta(delta, part, context)
    },
    end() {
      writer.stop()
      if (laterSeal === undefined || startSeal !== undefined) return
      if (expectsCarrier) writer.whole(callSealBlock({ id: String(block.id) }, laterSeal))
      else reportLostSeal(part.at ?? '', context)
    },
  }
}

/** Free text is wrapped into JSON, which requires all of it. */
function openCustom(part: Part & { type: 'tool-call' }, writer: BlockWriter, context: ExchangeContext): PartEncoder {
  const collected = { ...part }
  return {
    delta(delta) {
      if (delta.type === 'input') collected.input += delta.text
      else if (delta.type === 'seal') collected.seal = delta.seal
      else reportDelta(delta, part, context)
    },
    end() {
      for (const block of encodeResponsePart(collected, context))
        writer.whole({ ...block, input: block.input ?? inputObject(collected, context.report) })
    },
  }
}

/** Encodes a part that has no deltas. */
function writeWhole(part: Part, writer: BlockWriter, context: ExchangeContext): PartEncoder {
  for (const block of encodeResponsePart(part, context)) writer.whole(block)
  return {
    delta: (delta) => {
      // A part that cannot be carried was reported as a whole. Its deltas need no report.
      if (part.type === 'native') reportDelta(delta, part, context)
    },
    end: () => {},
  }
}
