import { type ErrorInfo, GatewayError } from '../../base/errors.ts'
import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { SseEvent } from '../../http/sse/event.ts'
import type { ExchangeContext, Machine } from '../codec.ts'
import type { Delta, Finish, ModelEvent, Part, ReasoningCheck, ToolCallPart } from '../ir.ts'
import {
  assignOwn,
  drop,
  fieldsExcept,
  leftover,
  setOwn,
  takeString,
  toText,
  type Unread,
  unread,
} from '../shared/json-fields.ts'
import { parseInnerJson, parseObjectExact } from '../shared/json-text.ts'
import { pointer } from '../shared/pointers.ts'
import { loss, reportUnknown, shapesOf } from '../shared/report.ts'
import { checksField } from '../shared/response-losses.ts'
import { TextDeltaTemplate } from '../shared/text-delta-template.ts'
import { customInput } from '../shared/tools.ts'
import { decodeBlock, nativeBlock, openSeal, substance, writeInput } from './blocks-decode.ts'
import { decodeCitation } from './citations.ts'
import { decodeError } from './error.ts'
import { decodeFinish, reportOwnBound } from './finish.ts'
import { takeChecks } from './input-transformations.ts'
import { endingFields, frameFields, restoreCall } from './response-decode.ts'
import { decodeTier, decodeUsage, mergeUsage } from './usage-decode.ts'

/** Events that belong to a message: none of them comes before its start. */
const ofMessage: ReadonlySet<string> = new Set([
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
])

/** A stream of nothing but unknown events must not fill the memory. */
const maxEarly = 64

/** Reads a stream of messages. Only `message_stop` ends it well. */
export function decodeStream(context: ExchangeContext): Machine<SseEvent, ModelEvent> {
  let out: ModelEvent[] = []
  let started = false
  let over = false
  const usage: JsonObject = {}
  let finish: Finish = { reason: 'other' }
  const ending: JsonObject = {}
  let checks: ReasoningCheck[] | undefined
  const open = new Map<Json, BlockDecoder>()
  /** Events of unknown types before the message: they say nothing about it. */
  const early: JsonObject[] = []
  const mould = new TextDeltaTemplate(nothing)
  /** The block that grew last. */
  let growing: BlockDecoder | undefined
  const writer = createPartWriter(() => out)

  function fail(error: ErrorInfo): void {
    over = true
    out.push({ type: 'error', error })
  }
  const failBadly = (message: string): void => fail(new GatewayError('upstream_bad_response', message).info)

  function tellUsage(later: Json | undefined): void {
    mergeUsage(usage, later)
    const decoded = decodeUsage(usage)
    if (isObject(later) && decoded !== undefined) out.push({ type: 'usage', usage: decoded })
  }

  function begin(message: JsonObject): void {
    const fields = unread(message)
    keepEnding(fields)
    const event: ModelEvent = {
      type: 'response-start',
      id: takeString(fields, 'id') ?? '',
      model: takeString(fields, 'model') ?? '',
      created: 0,
    }
    if (Array.isArray(message.content) && message.content.length > 0)
      context.report.add(loss('/content', 'content in message_start is left out: it comes in blocks of its own'))
    const tier = decodeTier(fields.usage)
    if (tier !== undefined) event.serviceTier = tier
    for (const key of frameFields) drop(fields, key)
    if (fields[checksField] !== undefined) put(event, 'reasoningChecks', takeChecks(fields, context))
    const extra = substance(fields)
    if (extra !== undefined) event.extra = { messages: extra }
    out.push(event)
    tellUsage(message.usage)
    started = true
    for (const value of early.splice(0)) out.push({ type: 'native', format: 'messages', value })
  }

  function keepEnding(fields: Unread): void {
    for (const key of endingFields) {
      const value = fields[key]
      if (value !== undefined && value !== null) ending[key] = value
      drop(fields, key)
    }
  }

  function closeAll(): void {
    for (const block of open.values()) block.stop()
    open.clear()
  }

  function read(event: JsonObject, name: string | undefined): void {
    const { type } = event
    // Clients go by the name.
    if (name === 'error' || type === 'error' || (type === undefined && event.error !== undefined)) {
      fail(decodeError(200, event))
      return
    }
    const at = event.index === undefined ? '' : blockAt(event.index)
    const shape = typeof type === 'string' ? eventShapes.get(type) : undefined
    if (shape !== undefined) reportUnknown(event, shape, at, context.report)
    if (type === 'ping') return
    if (type === 'message_start') {
      if (started) failBadly('The upstream began its answer anew in the middle of it.')
      else if (isObject(event.message)) begin(event.message)
      return
    }
    if (!started) {
      if (typeof type !== 'string' || ofMessage.has(type) || early.length === maxEarly)
        failBadly('The upstream began its stream with something that is no message_start.')
      else early.push(event)
      return
    }
    const index = event.index ?? null
    switch (type) {
      case 'content_block_start':
        if (!isObject(event.content_block)) break
        open.get(index)?.stop()
        open.set(index, openBlock(event.content_block, at, writer, context))
        break
      case 'content_block_delta': {
        const { delta } = event
        if (!isObject(delta)) break
        const deltaShape = typeof delta.type === 'string' ? deltaShapes.get(delta.type) : undefined
        if (deltaShape !== undefined) reportUnknown(delta, deltaShape, at, context.report)
        growing = blockOf(index, delta)
        growing.delta(delta)
        break
      }
      case 'content_block_stop':
        open.get(index)?.stop()
        open.delete(index)
        break
      case 'message_delta':
        readEnding(event)
        break
      case 'message_stop':
        closeAll()
        reportOwnBound(finish, context)
        out.push({
          type: 'choice-end',
          choice: 0,
          finish,
          ...(checks === undefined ? {} : { reasoningChecks: checks }),
          ...(Object.keys(ending).length === 0 ? {} : { extra: { messages: ending } }),
        })
        out.push({ type: 'response-end' })
        over = true
        break
      default:
        out.push({ type: 'native', format: 'messages', value: event })
    }
  }

  /** Some servers forget to start their blocks; the delta says what they meant. */
  function blockOf(index: Json, delta: JsonObject): BlockDecoder {
    const known = open.get(index)
    if (known !== undefined) return known
    const start =
      delta.type === 'thinking_delta' || delta.type === 'signature_delta'
        ? { type: 'thinking', thinking: '', signature: '' }
        : { type: 'text', text: '' }
    const made = openBlock(start, blockAt(index), writer, context)
    open.set(index, made)
    return made
  }

  function readEnding(event: JsonObject): void {
    const delta = isObject(event.delta) ? event.delta : {}
    if (delta.stop_reason !== undefined && delta.stop_reason !== null) finish = decodeFinish(delta)
    keepEnding({ ...event })
    keepEnding({ ...delta })
    const fields = unread(event)
    if (fields[checksField] !== undefined) checks = takeChecks(fields, context) ?? checks
    const beside = fieldsExcept(checks === undefined ? event : (leftover(fields) ?? {}), endingEventFields)
    if (beside !== undefined) assignOwn(ending, beside)
    const more = fieldsExcept(delta, endingDeltaFields)
    if (more !== undefined) ending.delta = more
    tellUsage(event.usage)
  }

  return {
    push(source) {
      if (over) return []
      const text = mould.read(source)
      if (text !== undefined) {
        growing?.more?.(text)
        return [mould.delta(text)]
      }
      // Some servers keep a stream alive with no more than a name.
      if (source.data === '' && source.event !== 'error') return []
      out = []
      const event = parseObjectExact(source.data)
      if (event === undefined) failBadly('The upstream sent a stream event that is not a JSON object.')
      else {
        read(event, source.event)
        mould.learn(source, textKey(event), out)
      }
      return out
    },
    end() {
      if (over) return []
      out = []
      fail(new GatewayError('upstream_truncated', 'The upstream broke off before the end of its answer.').info)
      return out
    },
  }
}

/** Where a block stands in the whole message. */
const blockAt = (index: Json): string => (typeof index === 'number' ? pointer('/content', index) : '/content')

const eventShapes = shapesOf({
  message_start: { type: true, message: true },
  content_block_start: { type: true, index: true, content_block: true },
  content_block_delta: { type: true, index: true, delta: true },
  content_block_stop: { type: true, index: true },
  message_stop: { type: true },
  ping: { type: true },
})

const deltaShapes = shapesOf({
  text_delta: { type: true, text: true },
  thinking_delta: { type: true, thinking: true },
  signature_delta: { type: true, signature: true },
  citations_delta: { type: true, citation: true },
  input_json_delta: { type: true, partial_json: true },
})

/** Fields of a message's last event, and of its delta, that are read here. */
const endingEventFields: ReadonlySet<string> = new Set(['type', 'delta', 'usage', ...endingFields])

const endingDeltaFields: ReadonlySet<string> = new Set([
  'stop_reason',
  'stop_sequence',
  'stop_details',
  ...endingFields,
])

/** The member that holds a delta's text. */
const textKey = ({ delta }: JsonObject): string | undefined =>
  isObject(delta) && typeof delta.type === 'string' ? textKeys.get(delta.type) : undefined

const textKeys: ReadonlyMap<string, string> = new Map([
  ['text_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['input_json_delta', 'partial_json'],
])

const nothing: ReadonlySet<string> = new Set()

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
  const type = toText(delta.type)
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
      if (input !== '') block.input = parseInnerJson(input) ?? input
      writer.end(writer.start(nativeBlock(block, at)))
    },
  }
}
