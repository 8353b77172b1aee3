import { isObject, type JsonObject, quoteText, stringifyExact } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Delta, Part, Sealed } from '../ir.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { writeSeal } from '../shared/seals.ts'
import { GrowingText, joinText } from '../shared/stream-parts.ts'
import { encodeCitation } from './citations.ts'
import { callSealBlock, encodeResponsePart } from './response-encode.ts'

/** Writes the events of blocks, numbered without gaps. A block without an event takes no number. */
export interface BlockWriter {
  start(start: JsonObject): void
  delta(delta: JsonObject): void
  /** Writes a text delta, the most frequent event of a stream. Its prefix is built once for each block. */
  textDelta(kind: TextKind, text: string): void
  stop(): void
  /** Writes a whole block, split into events as Bedrock does it. */
  whole(block: JsonObject): void
  /** Returns an event that adds nothing to the open block; undefined if no block is open. */
  emptyDelta(): SseEvent | undefined
}

/** The start and the end of the delta around the text, by the kind of block. */
const textDeltas = {
  text: ['{"text":', '}'],
  reasoning: ['{"reasoningContent":{"text":', '}}'],
  input: ['{"toolUse":{"input":', '}}'],
} as const

type TextKind = keyof typeof textDeltas

/** Returns an event with the name of its type. */
export const event = (type: string, data: JsonObject): SseEvent => ({ event: type, data: stringifyExact(data) })

/** Creates a writer that passes its events to `emit`. */
export function createBlockWriter(emit: (event: SseEvent) => void): BlockWriter {
  let contentBlockIndex = 0
  let isOpen = false
  let kind: TextKind | undefined
  let prefix = ''
  const textEvent = (text: string): SseEvent => ({
    event: 'contentBlockDelta',
    data: `${prefix}${quoteText(text)}${textDeltas[kind ?? 'text'][1]}}`,
  })
  const writer: BlockWriter = {
    start(start) {
      isOpen = true
      emit(event('contentBlockStart', { contentBlockIndex, start }))
    },
    delta(delta) {
      isOpen = true
      emit(event('contentBlockDelta', { contentBlockIndex, delta }))
    },
    textDelta(newKind, text) {
      isOpen = true
      if (newKind !== kind) {
        kind = newKind
        prefix = joinText(`{"contentBlockIndex":${contentBlockIndex},"delta":`, textDeltas[newKind][0])
      }
      emit(textEvent(text))
    },
    stop() {
      if (isOpen) emit(event('contentBlockStop', { contentBlockIndex: contentBlockIndex++ }))
      isOpen = false
      kind = undefined
    },
    whole(block) {
      const { start, deltas } = splitBlock(block)
      if (start !== undefined) writer.start(start)
      for (const delta of deltas) writer.delta(delta)
      writer.stop()
    },
    emptyDelta: () => (kind === undefined ? undefined : textEvent('')),
  }
  return writer
}

interface SplitBlock {
  /** Absent for blocks that begin with their first delta. */
  readonly start?: JsonObject
  readonly deltas: readonly JsonObject[]
}

/** Splits a block into its start and its deltas. A block of another kind is one delta. */
function splitBlock(block: JsonObject): SplitBlock {
  const [kind = ''] = Object.keys(block)
  const value = block[kind]
  if (!isObject(value)) return { deltas: [block] }
  switch (kind) {
    case 'toolUse': {
      const { input, ...start } = value
      return { start: { toolUse: start }, deltas: [{ toolUse: { input: inputText(input) } }] }
    }
    case 'toolResult': {
      const { content, ...start } = value
      return { start: { toolResult: start }, deltas: [{ toolResult: content ?? [] }] }
    }
    case 'image': {
      const { source, ...start } = value
      return { start: { image: start }, deltas: [{ image: { source: source ?? {} } }] }
    }
    case 'reasoningContent':
      return { deltas: reasoningDeltas(value) }
    case 'citationsContent': {
      const { content, citations } = value
      return {
        deltas: [
          ...(Array.isArray(content) ? content.filter(isObject) : []),
          ...(Array.isArray(citations) ? citations.map((citation) => ({ citation })) : []),
        ],
      }
    }
    default:
      return { deltas: [block] }
  }
}

const inputText = (input: JsonObject[string] | undefined): string =>
  typeof input === 'string' ? input : input === undefined ? '{}' : stringifyExact(input)

function reasoningDeltas(value: JsonObject): JsonObject[] {
  const { reasoningText, ...others } = value
  const { text, signature } = isObject(reasoningText) ? reasoningText : {}
  const deltas: JsonObject[] = []
  if (typeof text === 'string' && text !== '') deltas.push({ reasoningContent: { text } })
  if (signature !== undefined) deltas.push({ reasoningContent: { signature } })
  if (Object.keys(others).length > 0) deltas.push({ reasoningContent: others })
  return deltas
}

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
    case 'media':
      return openMedia(part, writer, context)
    default:
      return writeWhole(part, writer, context)
  }
}

function reportDelta(delta: Delta, part: Part, context: ExchangeContext): void {
  context.report.add(loss(part.at ?? '', `${delta.type} in a ${part.type} part has no counterpart in Converse`))
}

/** Returns the text of a delta and reports its log probabilities, which Converse does not have. */
function textOf(delta: Delta & { text: string; logprobs?: unknown }, context: ExchangeContext): string {
  if (delta.logprobs !== undefined) context.report.add(loss('/choices/0/logprobs', 'Converse has no log probabilities'))
  return delta.text
}

function openText(
  part: Part & { type: 'text' | 'refusal' },
  writer: BlockWriter,
  context: ExchangeContext,
): PartEncoder {
  for (const block of encodeResponsePart(part, context))
    for (const delta of splitBlock(block).deltas) if (delta.text !== '') writer.delta(delta)
  return {
    delta(delta) {
      if (delta.type === 'text' || delta.type === 'refusal') {
        const text = textOf(delta, context)
        if (text !== '') writer.textDelta('text', text)
      } else if (delta.type === 'citation') {
        const citation = encodeCitation(delta.citation, part.at ?? '', context)
        if (citation !== undefined) writer.delta({ citation })
      } else reportDelta(delta, part, context)
    },
    end: () => writer.stop(),
  }
}

function openReasoning(part: Part & { type: 'reasoning' }, writer: BlockWriter, context: ExchangeContext): PartEncoder {
  let { seal } = part
  ownExtra(part.extra, 'converse', part.at ?? '', context.report)
  if (part.text !== '') writer.textDelta('reasoning', part.text)
  return {
    delta(delta) {
      if (delta.type === 'reasoning') {
        const text = textOf(delta, context)
        if (text !== '') writer.textDelta('reasoning', text)
      } else if (delta.type === 'seal') seal = delta.seal
      else reportDelta(delta, part, context)
    },
    end() {
      if (seal !== undefined) writer.delta({ reasoningContent: { signature: writeSeal(seal, 'converse') } })
      writer.stop()
    },
  }
}

/** Withheld reasoning waits for its seal. */
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
  const [block] = encodeResponsePart({ ...bare, input: '' }, context)
  const { input: _, ...start } = isObject(block?.toolUse) ? block.toolUse : {}
  const id = String(start.toolUseId)
  if (startSeal !== undefined) writer.whole(callSealBlock(id, startSeal))
  writer.start({ toolUse: start })
  if (part.input !== '') writer.textDelta('input', part.input)
  let laterSeal: Sealed | undefined
  return {
    delta(delta) {
      if (delta.type === 'input') {
        if (delta.text !== '') writer.textDelta('input', delta.text)
      } else if (delta.type === 'seal') laterSeal = delta.seal
      else reportDelta(delta, part, context)
    },
    end() {
      writer.stop()
      if (laterSeal !== undefined && startSeal === undefined) writer.whole(callSealBlock(id, laterSeal))
    },
  }
}

/** Free text is wrapped into JSON, which requires all of it. */
function openCustom(part: Part & { type: 'tool-call' }, writer: BlockWriter, context: ExchangeContext): PartEncoder {
  const collected = { ...part }
  const input = new GrowingText(part.input)
  return {
    delta(delta) {
      if (delta.type === 'input') input.add(delta.text)
      else if (delta.type === 'seal') collected.seal = delta.seal
      else reportDelta(delta, part, context)
    },
    end() {
      for (const block of encodeResponsePart({ ...collected, input: input.toString() }, context)) writer.whole(block)
    },
  }
}

function openMedia(part: Part & { type: 'media' }, writer: BlockWriter, context: ExchangeContext): PartEncoder {
  const { source } = part
  const data = new GrowingText(source.type === 'base64' ? source.data : '')
  return {
    delta(delta) {
      if (delta.type !== 'media') {
        reportDelta(delta, part, context)
        return
      }
      data.add(delta.data)
      ownExtra(delta.extra, 'converse', part.at ?? '', context.report)
    },
    end() {
      const whole = source.type === 'base64' ? { ...part, source: { ...source, data: data.toString() } } : part
      for (const block of encodeResponsePart(whole, context)) writer.whole(block)
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
