import { GatewayError } from '../../base/errors.ts'
import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Delta, Part } from '../ir.ts'
import { reportLostSeal } from '../shared/call-seals.ts'
import { PartQueue, type WaitingPart } from '../shared/stream-parts.ts'
import { isWords, reportCache } from './content.ts'
import { type Held, note, nothingHeld } from './finish.ts'
import { callItem, otherItem } from './items-encode.ts'
import { expectsReasoning, isLoneSeal } from './reasoning.ts'
import { emptyMessage } from './response-encode.ts'
import {
  createCallWriter,
  createReasoningWriter,
  createWordsWriter,
  type ItemWriter,
  type Sender,
} from './stream-encode-items.ts'

/** The output of a streamed response. */
export interface Output {
  readonly held: Held
  start(part: number, value: Part): void
  delta(part: number, delta: Delta): void
  end(part: number): void
  /** An event of a server of this format, about an item that has not been told yet. */
  progress(event: JsonObject): void
  /** Says why the answer was refused. */
  refuse(explanation: string): void
  /** Ends every item; the last has the response's own state. */
  finish(status: string): void
  /** An answer of nothing has an empty message. */
  fill(): void
  /** All items that are done. */
  items(): JsonObject[]
}

export function createOutput(context: ExchangeContext, sender: Sender): Output {
  const held = nothingHeld()
  const reasons = expectsReasoning(context.request)
  /** An image is drawn on only with the seal behind it. */
  let drawn = false
  const { maxEventChars = Number.POSITIVE_INFINITY } = context
  let retained = 0
  const done: JsonObject[] = []
  /** Parts in the order of their start; the first is being told. */
  const queue = new PartQueue()
  let current: number | undefined
  let item: ItemWriter | undefined
  /** An item that a server of this format has begun: until it is there, nothing else is told. */
  let announced: JsonObject | undefined
  let announcedAt: Json | undefined

  /** The last event repeats the whole output, so all of it is kept: as much as one event may hold. */
  function retain(chars: number): void {
    retained += chars
    if (retained > maxEventChars) throw tooLong(maxEventChars)
  }

  function closeItem(status = 'completed'): void {
    if (item === undefined) return
    const finished = item.close(status)
    done.push(finished)
    sender.send('response.output_item.done', { output_index: done.length - 1, item: finished })
    const after = item.after?.()
    item = undefined
    addWhole(after)
  }

  function addWhole(whole: JsonObject | undefined): void {
    if (whole === undefined) return
    const told = whole.id === undefined ? { ...whole, id: context.newId('item_') } : whole
    if (announced === undefined) addItem({ ...told, ...('status' in told ? { status: 'in_progress' } : {}) })
    announced = undefined
    done.push(told)
    sender.send('response.output_item.done', { output_index: done.length - 1, item: told })
  }

  /** The item a part stands for, if it is one that comes whole. */
  function wholeItem(value: Part): JsonObject | undefined {
    if (value.type === 'tool-call') return callItem(value, value.input, context)
    return isWords(value) || value.type === 'reasoning' ? undefined : otherItem(value, context)
  }

  const addItem = (begun: JsonObject): void =>
    sender.send('response.output_item.added', { output_index: done.length, item: begun })

  /** The writer that takes the part: the open item's, if the part belongs to it. */
  function writerFor(value: Part): ItemWriter | undefined {
    if (item?.takes(value)) return item
    closeItem()
    const place = { context, sender, index: done.length, add: addItem, addWhole }
    if (isWords(value)) item = createWordsWriter(value, place)
    else if (value.type === 'reasoning') item = createReasoningWriter(value, place)
    else if (value.type === 'tool-call') item = createCallWriter(value, { ...place, indexNow: () => done.length })
    return item
  }

  function open(waiting: WaitingPart): void {
    const { value } = waiting
    reportCache(value, context)
    if (isWords(value) || value.type === 'reasoning' || value.type === 'tool-call') writerFor(value)?.start(value)
    else if (value.type === 'media')
      return // whole at its end
    else {
      closeItem()
      addWhole(otherItem(value, context))
    }
  }

  function write({ value, deltas }: WaitingPart, delta: Delta): void {
    if (delta.type === 'text' && delta.text !== '') held.text = true
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
    addWhole(otherItem(whole, context))
  }

  /** Tells what can be told: the current part, and every one behind it that has already ended. */
  function advance(): void {
    if (announced !== undefined) return
    for (let waiting = queue.first; waiting !== undefined; waiting = queue.first) {
      if (current !== waiting.part) {
        current = waiting.part
        const { deltas } = waiting
        const heard = deltas.splice(0)
        open(waiting)
        for (const delta of heard) write(waiting, delta)
      }
      if (!waiting.ended) return
      close(waiting)
      queue.shift()
      current = undefined
    }
  }

  return {
    held,
    start(part, value) {
      drawn ||= value.type === 'media'
      if (!drawn && !reasons && isLoneSeal(value)) {
        reportLostSeal(value.at ?? '', context)
        return
      }
      retain(charsOfPart(value))
      if (value.type !== 'text' || value.text !== '') note(held, value)
      held.any = held.any || value.type !== 'reasoning'
      if (announced === undefined || itemIdOf(value) !== announced.id) queue.add(part, value)
      else addWhole(wholeItem(value) ?? announced)
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
    progress(event) {
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
      // Of an item that has to wait its turn, the whole is told when it comes.
    },
    refuse(explanation) {
      const value: Part = { type: 'refusal', text: explanation }
      held.refusal = true
      writerFor(value)?.start(value)
      item?.end()
    },
    finish(status) {
      if (announced !== undefined) addWhole({ ...announced, status: 'incomplete' })
      queue.endAll()
      advance()
      closeItem(status === 'incomplete' ? 'incomplete' : 'completed')
    },
    fill() {
      if (done.length > 0 || item !== undefined) return
      addWhole(emptyMessage(context))
    },
    items: () => [...done],
  }
}

/** The id of the item that a part of this format was. */
function itemIdOf(value: Part): Json | undefined {
  const own = value.extra?.responses
  if (value.type === 'native') return value.value.id
  return isObject(own?.native) ? own.native.id : own?.id
}

const tooLong = (limit: number): GatewayError =>
  new GatewayError(
    'upstream_bad_response',
    `The answer is longer than ${limit} characters: a stream of responses repeats all of it in its last event (limits.answerBytes).`,
  )

/** About how many characters of a part are kept. */
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

/** The same of a delta. */
function charsOfDelta(delta: Delta): number {
  if (delta.type === 'seal') return delta.seal.data.length
  if (delta.type === 'citation') return JSON.stringify(delta.citation).length
  if (delta.type === 'media') return delta.data.length
  return delta.logprobs === undefined ? delta.text.length : delta.text.length + JSON.stringify(delta.logprobs).length
}
