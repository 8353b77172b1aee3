import { isObject } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Delta, ModelEvent, Part, ToolCallPart } from '../ir.ts'
import { innerJson } from '../shared/json-text.ts'
import { setOwn } from '../shared/own-members.ts'
import { pointer } from '../shared/pointer.ts'
import { inWords } from '../shared/reader.ts'
import { loss } from '../shared/report.ts'
import { customInput } from '../shared/tool-input.ts'
import { restoreCall } from './answer-blocks.ts'
import { decodeBlock, nativeBlock, writeInput } from './blocks-decode.ts'
import { decodeCitation } from './citations.ts'
import { openSeal } from './seal-carrier.ts'

/** One content block of a stream. */
export interface BlockDecoder {
  delta(delta: JsonObject): void
  /** The last delta again, with other text: what it comes to is told by who knows that. */
  more?(text: string): void
  /** Called once, at the block's stop (or at the end of a message that forgot it). */
  stop(): void
}

/** Writes the events of a message's parts, numbered as they start. */
export interface PartWriter {
  start(value: Part): number
  delta(part: number, delta: Delta): void
  end(part: number): void
}

export function createPartWriter(out: () => ModelEvent[]): PartWriter {
  let next = 0
  return {
    start(value) {
      out().push({ type: 'part-start', choice: 0, part: next, value })
      return next++
    },
    delta: (part, delta) => out().push({ type: 'part-delta', choice: 0, part, delta }),
    end: (part) => out().push({ type: 'part-end', choice: 0, part }),
  }
}

/** @param at where the block stands in the whole message */
export function openBlock(start: JsonObject, at: string, writer: PartWriter, context: ExchangeContext): BlockDecoder {
  const part = decodeBlock(start, at)
  switch (part.type) {
    case 'text':
      return openText(part, writer, context)
    case 'reasoning':
      return openReasoning(part, start, writer, context)
    case 'tool-call':
      return openCall(part, start, writer, context)
    default:
      return openWhole(start, at, writer)
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** A delta that does not belong into its block: newer than this codec, or nonsense. */
function reportDelta(delta: JsonObject, { at = '/content' }: Part, context: ExchangeContext): void {
  const type = inWords(delta.type)
  context.report.add(loss(at, `a stream delta of the type '${type}' is not known here`, 'unknown', 'note'))
}

function openText(part: Part & { type: 'text' }, writer: PartWriter, context: ExchangeContext): BlockDecoder {
  const number = writer.start(part)
  return {
    delta(delta) {
      if (delta.type === 'text_delta') writer.delta(number, { type: 'text', text: textOf(delta.text) })
      else if (delta.type === 'citations_delta' && isObject(delta.citation))
        writer.delta(number, { type: 'citation', citation: decodeCitation(delta.citation) })
      else reportDelta(delta, part, context)
    },
    stop: () => writer.end(number),
  }
}

function openReasoning(
  part: Part & { type: 'reasoning' },
  start: JsonObject,
  writer: PartWriter,
  context: ExchangeContext,
): BlockDecoder {
  // The signature comes last; what the start says of it is only a place for it.
  const early = start.signature === ''
  if (early) delete part.seal
  const number = writer.start(part)
  let sealed = part.seal !== undefined
  const seal = (signature: string): void => {
    const opened = openSeal(signature)
    sealed = true
    if (opened !== undefined) writer.delta(number, { type: 'seal', seal: opened })
  }
  return {
    delta(delta) {
      if (delta.type === 'thinking_delta') writer.delta(number, { type: 'reasoning', text: textOf(delta.thinking) })
      else if (delta.type === 'signature_delta') seal(textOf(delta.signature))
      else reportDelta(delta, part, context)
    },
    stop() {
      if (early && !sealed) seal('')
      writer.end(number)
    },
  }
}

function openCall(
  written: ToolCallPart,
  start: JsonObject,
  writer: PartWriter,
  context: ExchangeContext,
): BlockDecoder {
  // `input: {}` stands for "it follows"; a server that streams nothing says all of it here.
  const whole = isObject(start.input) && Object.keys(start.input).length > 0 ? writeInput(start.input) : ''
  const part = restoreCall({ ...written, input: '' }, context.request)
  const custom = part.custom === true
  const number = writer.start(part)
  let input = ''
  return {
    delta(delta) {
      if (delta.type !== 'input_json_delta') {
        reportDelta(delta, part, context)
        return
      }
      const piece = textOf(delta.partial_json)
      input += piece
      if (!custom && piece !== '') writer.delta(number, { type: 'input', text: piece })
    },
    more(text) {
      input += text
    },
    stop() {
      if (input !== '' && whole !== '')
        context.report.add(
          loss(pointer(part.at ?? '', 'input'), "the input in the block's start gave way to its deltas"),
        )
      const all = input || whole || '{}'
      if (custom) writer.delta(number, { type: 'input', text: customInput(all) })
      // A call without arguments streams nothing at all; elsewhere that would be broken JSON.
      else if (input === '') writer.delta(number, { type: 'input', text: all })
      writer.end(number)
    },
  }
}

/** Blocks that only this format knows are collected and passed on whole. */
function openWhole(start: JsonObject, at: string, writer: PartWriter): BlockDecoder {
  const block: JsonObject = { ...start }
  let input = ''
  return {
    delta(delta) {
      if (delta.type === 'input_json_delta') {
        input += textOf(delta.partial_json)
        return
      }
      for (const [key, value] of Object.entries(delta)) {
        if (key === 'type') continue
        const before = Object.hasOwn(block, key) ? block[key] : undefined
        setOwn(block, key, typeof before === 'string' && typeof value === 'string' ? before + value : value)
      }
    },
    stop() {
      if (input !== '') block.input = innerJson(input) ?? input
      writer.end(writer.start(nativeBlock(block, at)))
    },
  }
}
