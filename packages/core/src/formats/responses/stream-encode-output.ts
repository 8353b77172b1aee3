import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Delta, Part } from '../ir.ts'
import { reportLostSeal } from '../shared/call-seals.ts'
import { PartQueue, type WaitingPart } from '../shared/stream-parts.ts'
import { isMessagePart, reportCache } from './content.ts'
import { type ContentFlags, noContent, noteContent } from './finish.ts'
import { callItem, otherItem } from './items-encode.ts'
import { expectsReasoning, isSealOnly } from './reasoning.ts'
import { emptyMessage } from './response-encode.ts'
import {
  createCallWriter,
  createMessageWriter,
  createReasoningWriter,
  type ItemWriter,
  type Sender,
} from './stream-encode-items.ts'

/** Writes the output items of a streamed response. */
export interface Output {
  readonly contentFlags: ContentFlags
  start(part: number, value: Part): void
  delta(part: number, delta: Delta): void
  end(part: number): void
  /** Forwards an event of an upstream of this format about an item that has not been written. */
  forwardEvent(event: JsonObject): void
  /** Adds a refusal with the explanation. */
  addRefusal(explanation: string): void
  /** Ends all items. The last one gets the status of the response. */
  finish(status: string): void
  /** Adds an empty message to an output without items. */
  ensureMessage(): void
  /** Returns all finished items. */
  items(): JsonObject[]
}

/** Creates the writer of the output. Throws `upstream_bad_response` if the output exceeds `maxEventChars`. */
export function createOutput(context: ExchangeContext, sender: Sender): Output {
  const flags = noContent()
  const reasoningExpected = expectsReasoning(context.request)
  /** True if the output holds media: a model can edit an image only if its seal returns. */
  let hasMedia = false
  const { maxEventChars = Number.POSITIVE_INFINITY } = context
  let retained = 0
  const done: JsonObject[] = []
  /** Parts in the order of their start. The first one is being written. */
  const queue = new PartQueue()
  let current: number | undefined
  let item: ItemWriter | undefined
  /** An item that an upstream of this format has started. Nothing else is written until it is complete. */
  let announced: JsonObject | undefined
  let announcedAt: Json | undefined

  /** Counts retained characters. The last event repeats the whole output, so all of it is retained, up to the limit of one event. */
  function retain(chars: number): void {
    retained += chars
    if (retained > maxEventChars) throw lengthError(maxEventChars)
  }

  function closeItem(status = 'completed'): void {
    if (item === undefined) return
    const finished = item.close(status)
    done.push(finished)
    sender.send('response.output_item.done', { output_index: done.length - 1, item: finished })
    const after = item.followingItem?.()
    item = undefined
    addCompleteItem(after)
  }

  function addCompleteItem(whole: JsonObject | undefined): void {
    if (whole === undefined) return
    const complete = whole.id === undefined ? { ...whole, id: context.newId('item_') } : whole
    if (announced === undefined) addItem({ ...complete, ...('status' in complete ? { status: 'in_progress' } : {}) })
    announced = undefined
    done.push(complete)
    sender.send('response.output_item.done', { output_index: done.length - 1, item: complete })
  }

  /** Returns the item of a part that is written whole. */
  function wholeItem(value: Part): JsonObject | undefined {
    if (value.type === 'tool-call') return callItem(value, value.input, context)
    return isMessagePart(value) || value.type === 'reasoning' ? undefined : otherItem(value, context)
  }

  const addItem = (begun: JsonObject): void =>
    sender.send('response.output_item.added', { output_index: done.length, item: begun })

  /** Returns the writer of the open item if the part belongs to it, else a new one. */
  function writerFor(value: Part): ItemWriter | undefined {
    if (item?.accepts(value)) return item
    closeItem()
    const place = { context, sender, index: done.length, add: addItem, addCompleteItem }
    if (isMessagePart(value)) item = createMessageWriter(value, place)
    else if (value.type === 'reasoning') item = createReasoningWriter(value, place)
    else if (value.type === 'tool-call') item = createCallWriter(value, { ...place, indexNow: () => done.length })
    return item
  }

  function open(waiting: WaitingPart): void {
    const { value } = waiting
    reportCache(value, context)
    if (isMessagePart(value) || value.type === 'reasoning' || value.type === 'tool-call') writerFor(value)?.start(value)
    else if (value.type === 'media')
      return // written whole at its end
    else {
      closeItem()
      addCompleteItem(otherItem(value, context))
    }
  }

  function write({ value, deltas }: WaitingPart, delta: Delta): void {
    if (delta.type === 'text' && delta.text !== '') flags.hasText = true
    if (value.type === 'media') deltas.push(delta)
    else item?.delta(delta)
  }

  function close(waiting: WaitingPart): void {
    const { value, deltas } = waiting
    if (value.type !== 'media') {
      item?.end()
      return
    }
    closeItem()
    const more = deltas.map((delta) => (delta.type === 'media' ? delta.data : '')).join('')
    const { source } = value
    const whole = source.type === 'base64' ? { ...value, source: { ...source, data: source.data + more } } : value
    addCompleteItem(otherItem(whole, context))
  }

  /** Writes the current part, and every later part that has already ended. */
  function advance(): void {
    if (announced !== undefined) return
    for (let waiting = queue.first; waiting !== undefined; waiting = queue.first) {
      if (current !== waiting.part) {
        current = waiting.part
        const { deltas } = waiting
        const queuedDeltas = deltas.splice(0)
        open(waiting)
        for (const delta of queuedDeltas) write(waiting, delta)
      }
      if (!waiting.ended) return
      close(waiting)
      queue.shift()
      current = undefined
    }
  }

  return {
    contentFlags: flags,
    start(part, value) {
      hasMedia ||= value.type === 'media'
      if (!hasMedia && !reasoningExpected && isSealOnly(value)) {
        reportLostSeal(value.at ?? '', context)
        return
      }
      retain(charsOfPart(value))
      if (value.type !== 'text' || value.text !== '') noteContent(flags, value)
      flags.hasContent = flags.hasContent || value.type !== 'reasoning'
      if (announced === undefined || itemIdOf(value) !== announced.id) queue.add(part, value)
      else addCompleteItem(wholeItem(value) ?? announced)
      advance()
    },
    delta(part, delta) {
      const waiting = queue.find(part)
      if (waiting === undefined) return
      retain(charsOfDelta(delta))
      if (current === part) write(waiting, delta)
      else waiting.deltas.push(delta)
    },
    end(part) {
      const waiting = queue.find(part)
      if (waiting === undefined) return
      waiting.ended = true
      advance()
    },
    forwardEvent(event) {
      const { item: begun, output_index: place, type, sequence_number: _number, ...fields } = event
      if (typeof type !== 'string') return
      const begins = type === 'response.output_item.added' && isObject(begun) && begun.id !== undefined
      if (begins && announced === undefined && queue.isEmpty) {
        closeItem()
        announced = begun
        announcedAt = place
        addItem(begun)
      } else if (announced !== undefined && !begins && place === announcedAt)
        sender.send(type, { ...fields, output_index: done.length })
      // An item that has to wait is written whole later.
    },
    addRefusal(explanation) {
      const value: Part = { type: 'refusal', text: explanation }
      flags.hasRefusal = true
      writerFor(value)?.start(value)
      item?.end()
    },
    finish(status) {
      if (announced !== undefined) addCompleteItem({ ...announced, status: 'incomplete' })
      queue.endAll()
      advance()
      closeItem(status === 'incomplete' ? 'incomplete' : 'completed')
    },
    ensureMessage() {
      if (done.length > 0 || item !== undefined) return
      addCompleteItem(emptyMessage(context))
    },
    items: () => [...done],
  }
}

/** Returns the id of the item from which a part of this format was decoded. */
function itemIdOf(value: Part): Json | undefined {
  const own = value.extra?.responses
  if (value.type === 'native') return value.value.id
  return isObject(own?.native) ? own.native.id : own?.id
}

const lengthError = (limit: number): GatewayError =>
  new GatewayError(
    'upstream_bad_response',
    `The response is longer than ${limit} characters. A stream of the responses format repeats all of it in its last event (limits.answerBytes).`,
  )

/** Returns the approximate number of characters that a part retains. */
function charsOfPart(value: Part): number {
  switch (value.type) {
    case 'tool-call':
      return value.input.length
    case 'native':
      return JSON.stringify(value.value).length
    case 'media':
      return value.source.type === 'base64' ? value.source.data.length : 0
    default:
      return 'text' in value ? value.text.length : 0
  }
}

/** Returns the approximate number of characters that a delta retains. */
function charsOfDelta(delta: Delta): number {
  if (delta.type === 'seal') return delta.seal.data.length
  if (delta.type === 'citation') return JSON.stringify(delta.citation).length
  if (delta.type === 'media') return delta.data.length
  return delta.logprobs === undefined ? delta.text.length : delta.text.length + JSON.stringify(delta.logprobs).length
}
