import { type ErrorInfo, GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, pointer, put } from '../../base/json/json.ts'
import { parseInnerJson, parseObjectExact } from '../../base/json/parse.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Finish, ModelEvent, Part, ReasoningCheck, ToolCallPart } from '../ir.ts'
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
import { loss, reportUnknown, shapesOf } from '../shared/report.ts'
import { checksField } from '../shared/response-losses.ts'
import { createPartWriter, type PartWriter } from '../shared/stream-parts.ts'
import { TextDeltaTemplate } from '../shared/text-delta-template.ts'
import { customInput } from '../shared/tools.ts'
import type { StreamDecoder } from '../stream-codec.ts'
import { decodeBlock, decodeSeal, meaningfulFields, nativeBlock, writeInput } from './blocks-decode.ts'
import { decodeCitation } from './citations.ts'
import { decodeError } from './error.ts'
import { decodeFinish, reportDefaultMaxTokens } from './finish.ts'
import { decodeChecks } from './input-transformations.ts'
import { endingFields, frameFields, restoreCall } from './response-decode.ts'
import { decodeTier, decodeUsage, mergeUsage } from './usage-decode.ts'

/** Events that are part of a message. None of them may come before `message_start`. */
const eventsOfMessage: ReadonlySet<string> = new Set([
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
])

/** Limit of events before `message_start`: a stream of unknown events must not fill the memory. */
const maxEventsBeforeStart = 64

/** Decodes a stream of messages. Only `message_stop` completes it. */
export function decodeStream(context: ExchangeContext): StreamDecoder {
  let out: ModelEvent[] = []
  let hasStarted = false
  let hasEnded = false
  const usage: JsonObject = {}
  let finish: Finish = { reason: 'other' }
  const ending: JsonObject = {}
  let checks: ReasoningCheck[] | undefined
  const open = new Map<Json, BlockDecoder>()
  /** Events of unknown types before `message_start`. They pass through after it. */
  const eventsBeforeStart: JsonObject[] = []
  const deltaTemplate = new TextDeltaTemplate(noFields)
  /** The block that received the last delta. */
  let growingBlock: BlockDecoder | undefined
  const writer = createPartWriter(() => out)

  function fail(error: ErrorInfo): void {
    hasEnded = true
    out.push({ type: 'error', error })
  }
  const failBadResponse = (message: string): void => fail(new GatewayError('upstream_bad_response', message).info)

  function emitUsage(later: Json | undefined): void {
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
      context.report.add(loss('/content', 'content in message_start is left out: it is sent in separate blocks'))
    const tier = decodeTier(fields.usage)
    if (tier !== undefined) event.serviceTier = tier
    for (const key of frameFields) drop(fields, key)
    if (fields[checksField] !== undefined) put(event, 'reasoningChecks', decodeChecks(fields, context))
    const extra = meaningfulFields(fields)
    if (extra !== undefined) event.extra = { messages: extra }
    out.push(event)
    emitUsage(message.usage)
    hasStarted = true
    for (const value of eventsBeforeStart.splice(0)) out.push({ type: 'native', format: 'messages', value })
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

  function decodeEvent(event: JsonObject, name: string | undefined): void {
    const { type } = event
    // Clients dispatch on the event name, so it decides.
    if (name === 'error' || type === 'error' || (type === undefined && event.error !== undefined)) {
      fail(decodeError(200, event))
      return
    }
    const at = event.index === undefined ? '' : blockAt(event.index)
    const shape = typeof type === 'string' ? eventShapes.get(type) : undefined
    if (shape !== undefined) reportUnknown(event, shape, at, context.report)
    if (type === 'ping') return
    if (type === 'message_start') {
      if (hasStarted) failBadResponse('The upstream began its message twice.')
      else if (isObject(event.message)) begin(event.message)
      return
    }
    if (!hasStarted) {
      if (typeof type !== 'string' || eventsOfMessage.has(type) || eventsBeforeStart.length === maxEventsBeforeStart)
        failBadResponse('The stream of the upstream does not begin with message_start.')
      else eventsBeforeStart.push(event)
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
        growingBlock = blockOf(index, delta)
        growingBlock.delta(delta)
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
        reportDefaultMaxTokens(finish, context)
        out.push({
          type: 'choice-end',
          choice: 0,
          finish,
          ...(checks === undefined ? {} : { reasoningChecks: checks }),
          ...(Object.keys(ending).length === 0 ? {} : { extra: { messages: ending } }),
        })
        out.push({ type: 'response-end' })
        hasEnded = true
        break
      default:
        out.push({ type: 'native', format: 'messages', value: event })
    }
  }

  /** Returns the open block. Some servers leave out the start of a block; the delta's type then decides its kind. */
  function blockOf(index: Json, delta: JsonObject): BlockDecoder {
    const known = open.get(index)
    if (known !== undefined) return known
    const start =
      delta.type === 'thinking_delta' || delta.type === 'signature_delta'
        ? { type: 'thinking', thinking: '', signature: '' }
        : { type: 'text', text: '' }
    const opened = openBlock(start, blockAt(index), writer, context)
    open.set(index, opened)
    return opened
  }

  function readEnding(event: JsonObject): void {
    const delta = isObject(event.delta) ? event.delta : {}
    if (delta.stop_reason !== undefined && delta.stop_reason !== null) finish = decodeFinish(delta)
    keepEnding({ ...event })
    keepEnding({ ...delta })
    const fields = unread(event)
    if (fields[checksField] !== undefined) checks = decodeChecks(fields, context) ?? checks
    const otherFields = fieldsExcept(checks === undefined ? event : (leftover(fields) ?? {}), endingEventFields)
    if (otherFields !== undefined) assignOwn(ending, otherFields)
    const deltaFields = fieldsExcept(delta, endingDeltaFields)
    if (deltaFields !== undefined) ending.delta = deltaFields
    emitUsage(event.usage)
  }

  function repeat(text: string): ModelEvent[] {
    growingBlock?.repeatDelta?.(text)
    return [deltaTemplate.delta(text)]
  }

  return {
    textForm: () => deltaTemplate.form,
    repeat,
    push(source) {
      if (hasEnded) return []
      const text = deltaTemplate.read(source)
      if (text !== undefined) return repeat(text)
      // Some servers send events without data to keep a stream alive.
      if (source.data === '' && source.event !== 'error') return []
      out = []
      const event = parseObjectExact(source.data)
      if (event === undefined) failBadResponse('The upstream sent a stream event that is not a JSON object.')
      else {
        decodeEvent(event, source.event)
        deltaTemplate.learn(source, textKey(event), out)
      }
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

/** Returns the pointer of a block in the whole message. */
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

/** Decoded fields of the last event of a message, and of its delta. */
const endingEventFields: ReadonlySet<string> = new Set(['type', 'delta', 'usage', ...endingFields])

const endingDeltaFields: ReadonlySet<string> = new Set([
  'stop_reason',
  'stop_sequence',
  'stop_details',
  ...endingFields,
])

/** Returns the name of the delta's member that holds its text. */
const textKey = ({ delta }: JsonObject): string | undefined =>
  isObject(delta) && typeof delta.type === 'string' ? textKeys.get(delta.type) : undefined

const textKeys: ReadonlyMap<string, string> = new Map([
  ['text_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['input_json_delta', 'partial_json'],
])

const noFields: ReadonlySet<string> = new Set()

/** Decodes one content block of a stream. */
export interface BlockDecoder {
  delta(delta: JsonObject): void
  /** Handles the previous delta again with another text. The caller emits the event. */
  repeatDelta?(text: string): void
  /** Called once, at the block's stop or at the end of a message that left the stop out. */
  stop(): void
}

/**
 * Starts decoding a block.
 * @param at pointer of the block in the whole message
 */
function openBlock(start: JsonObject, at: string, writer: PartWriter, context: ExchangeContext): BlockDecoder {
  const part = decodeBlock(start, at)
  switch (part.type) {
    case 'text':
      return openText(part, writer, context)
    case 'reasoning':
      return openReasoning(part, start, writer, context)
    case 'tool-call':
      return openCall(part, start, writer, context)
    default:
      return collectBlock(start, at, writer)
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Reports a delta that does not fit its block: it is newer than this codec, or malformed. */
function reportDelta(delta: JsonObject, { at = '/content' }: Part, context: ExchangeContext): void {
  const type = toText(delta.type)
  context.report.add(loss(at, `unknown stream delta of the type '${type}'`, 'unknown', 'note'))
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
  // The signature comes in the last delta. An empty one at the start is a placeholder.
  const awaitsSignature = start.signature === ''
  if (awaitsSignature) delete part.seal
  const number = writer.start(part)
  let sealed = part.seal !== undefined
  const seal = (signature: string): void => {
    const opened = decodeSeal(signature)
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
      if (awaitsSignature && !sealed) seal('')
      writer.end(number)
    },
  }
}

function openCall(
  decoded: ToolCallPart,
  start: JsonObject,
  writer: PartWriter,
  context: ExchangeContext,
): BlockDecoder {
  // `input: {}` announces deltas. A server that streams no deltas sends the whole input at the start.
  const inputAtStart = isObject(start.input) && Object.keys(start.input).length > 0 ? writeInput(start.input) : ''
  const part = restoreCall({ ...decoded, input: '' }, context.request)
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
    repeatDelta(text) {
      input += text
    },
    stop() {
      if (input !== '' && inputAtStart !== '')
        context.report.add(loss(pointer(part.at ?? '', 'input'), "the deltas replaced the input in the block's start"))
      const fullInput = input || inputAtStart || '{}'
      if (custom) writer.delta(number, { type: 'input', text: customInput(fullInput) })
      // A call without arguments streams no input. Other formats would take that for broken JSON.
      else if (input === '') writer.delta(number, { type: 'input', text: fullInput })
      writer.end(number)
    },
  }
}

/** Collects a block that only this format knows and emits it as a whole. */
function collectBlock(start: JsonObject, at: string, writer: PartWriter): BlockDecoder {
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
