import { stringifyExact } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Delta, Part, ReasoningPart } from '../ir.ts'
import { pointer } from '../shared/pointers.ts'
import { loss } from '../shared/report.ts'
import { GrowingText } from '../shared/stream-parts.ts'
import { decodeAnnotation } from './content.ts'
import { type ItemScope, typeOf } from './items-decode.ts'
import { decodeItem, scopeOf } from './response-decode.ts'
import { contentIn, isProgress, reportEvent, reportItem, reportPart } from './stream-decode-shapes.ts'

/** Hands out the numbers of an answer's parts, and writes their events. */
export interface PartWriter {
  start(value: Part): number
  delta(part: number, delta: Delta): void
  end(part: number): void
  /** Passes an event on that only a client of this format understands. */
  progress(event: JsonObject): void
  /** Passes on, or reports, an event that is not known. `at`: the item it is about. */
  unknown(type: string, event: JsonObject, at: string): void
}

/** One item of a stream. */
export interface ItemDecoder {
  read(type: string, event: JsonObject): void
  /** The event read last again, with other text: its delta is told by who knows that. */
  more(text: string): void
  /** The item as it is in the end; what of it has not been told yet is told now. */
  done(item: JsonObject): void
  /** Ends what is open. */
  close(): void
  /** Its id, where it has said one. */
  readonly id: Json | undefined
}

/** One entry of an item that becomes a part: a text, a refusal, a piece of reasoning, the input of a call. */
interface Entry {
  part: number
  kind: 'text' | 'refusal' | 'reasoning' | 'input'
  readonly told: GrowingText
  citations: number
  logprobs: number
  open: boolean
}

export function createItemDecoder(index: number, writer: PartWriter, context: ExchangeContext): ItemDecoder {
  const at = pointer('/output', index)
  const { report } = context
  const scope: ItemScope = scopeOf(context)
  /** By `content 0`, `summary 1`, `input`. */
  const entries = new Map<string, Entry>()
  /** Those that are open: an item can have very many. */
  const open = new Set<Entry>()
  let frame: JsonObject = {}
  let type = ''
  /** Parts that entries of a kind begin with, for the frame at hand. */
  const blanks = new Map<string, Part | undefined>()
  let over = false
  /** What said something last. */
  let speaking: Entry | undefined

  /** The part that an entry begins with: the item as far as known, with this entry alone. */
  function blank(key: string, kind: Entry['kind']): Part | undefined {
    const list = key.startsWith('summary') ? 'summary' : 'content'
    const known = `${kind} ${list}`
    // The item's own fields are read once, not for each entry.
    if (!blanks.has(known)) blanks.set(known, makeBlank(list, kind))
    const part = blanks.get(known)
    if (part === undefined || part.type !== 'reasoning' || entries.size === 0) return part
    const id = part.extra?.responses?.id
    const { extra: _, ...rest } = part
    return id === undefined ? rest : { ...rest, extra: { responses: { id } } }
  }

  function makeBlank(list: 'summary' | 'content', kind: Entry['kind']): Part | undefined {
    const shell: JsonObject = { ...frame, type: type || (kind === 'reasoning' ? 'reasoning' : 'message') }
    // The seal comes with the item's end; what stands there at its beginning is not the whole of it.
    delete shell.encrypted_content
    if (kind === 'reasoning') Object.assign(shell, { summary: [], content: [], [list]: [{ type: list, text: '' }] })
    else if (kind === 'refusal') shell.content = [{ type: 'refusal', refusal: '' }]
    else if (kind === 'text') shell.content = [{ type: 'output_text', text: '' }]
    else if (type === '') return undefined
    return partsOf(shell)[0]
  }

  const partsOf = (item: JsonObject): Part[] => decodeStreamed(item, at, scope)

  const placeOf = (key: string): string => (key === 'input' ? at : `${at}/${key.replace(' ', '/')}`)

  function begin(key: string, kind: Entry['kind']): Entry | undefined {
    const known = entries.get(key)
    if (known !== undefined) return known
    const value = blank(key, kind)
    if (value === undefined) return undefined
    // Pieces of reasoning follow each other; the last stays open for the seal.
    if (kind === 'reasoning') close()
    const start = value.type === 'tool-call' ? { ...value, input: '' } : value
    const entry: Entry = {
      part: writer.start({ ...start, at: placeOf(key) }),
      kind,
      told: new GrowingText(),
      citations: 0,
      logprobs: 0,
      open: true,
    }
    entries.set(key, entry)
    open.add(entry)
    return entry
  }

  function say(key: string, kind: Entry['kind'], text: Json | undefined, logprobs?: Json): void {
    const entry = begin(key, kind)
    if (entry === undefined || typeof text !== 'string' || !entry.open) return
    const probable = Array.isArray(logprobs) && logprobs.length > 0
    if (text === '' && !probable) return
    entry.told.add(text)
    if (probable) entry.logprobs += logprobs.length
    speaking = entry
    const delta: Delta = { type: kind, text }
    writer.delta(entry.part, probable ? { ...delta, logprobs: { content: logprobs, refusal: null } } : delta)
  }

  /** The whole text, which repeats what was streamed, or is all there is. */
  function whole(key: string, kind: Entry['kind'], text: Json | undefined, logprobs?: Json): void {
    if (typeof text !== 'string') return
    const before = entries.get(key)?.told
    // A shorter text does not repeat it; putting together what was told would take its time for each event.
    if (before !== undefined && text.length < before.length) return
    const told = before?.toString() ?? ''
    const known = entries.get(key)?.logprobs ?? 0
    if (text.startsWith(told)) say(key, kind, text.slice(told.length), listOf(logprobs).slice(known))
  }

  function cite(key: string, annotation: Json | undefined): void {
    const entry = begin(key, 'text')
    if (entry === undefined || !entry.open || !isObject(annotation)) return
    entry.citations++
    writer.delta(entry.part, { type: 'citation', citation: decodeAnnotation(annotation) })
  }

  function end(entry: Entry | undefined): void {
    if (entry === undefined || !open.delete(entry)) return
    entry.open = false
    writer.end(entry.part)
  }

  function close(): void {
    for (const entry of open) end(entry)
  }

  function setFrame(item: JsonObject, typed: string): void {
    frame = item
    type = typed
    blanks.clear()
  }

  function wholeContent(part: JsonObject, key: string): void {
    if (part.type === 'refusal') whole(key, 'refusal', part.refusal)
    else if (part.type === 'reasoning_text') whole(key, 'reasoning', part.text)
    else {
      begin(key, 'text')
      whole(key, 'text', part.text, part.logprobs)
      const { citations = 0 } = entries.get(key) ?? {}
      for (const annotation of listOf(part.annotations).slice(citations)) cite(key, annotation)
      reportLate(part, key)
    }
  }

  /**
   * The keys of a whole item's entries, by their position. Bedrock Mantle's events number entries beyond the end of the item's list
   * (`content_index` 1 for `content[0]`): then their order says which entry is which.
   */
  function keysOf(list: 'summary' | 'content', count: number): (position: number) => string {
    const streamed: number[] = []
    for (const key of entries.keys()) if (key.startsWith(list)) streamed.push(Number(key.slice(list.length + 1)))
    streamed.sort((a, b) => a - b)
    const last = streamed.at(-1) ?? -1
    if (last < count) return (position) => `${list} ${position}`
    // An entry that was not streamed gets a number of its own.
    return (position) => `${list} ${streamed[position] ?? last + 1 + position}`
  }

  function contentOf(item: JsonObject): [JsonObject, string][] {
    const keys = keysOf('content', listOf(item.content).length)
    return contentIn(item.content, at, report).map((part, position) => [part, keys(position)])
  }
  const isKnownAt = (part: JsonObject, key: string): boolean => reportPart(part, placeOf(key), report)

  /** Reports annotations and log probabilities of a text that had ended before they came. */
  function reportLate(part: JsonObject, key: string): void {
    const entry = entries.get(key)
    if (entry === undefined || entry.open) return
    for (const [list, told] of [
      ['annotations', entry.citations],
      ['logprobs', entry.logprobs],
    ] as const)
      if (listOf(part[list]).length > told)
        report.add(loss(pointer(placeOf(key), list), `${list} that came after the end of their text were left out`))
  }

  /** What stands in an item's lists when it begins comes again in events of its own, as far as it is known. */
  function reportBegun(item: JsonObject): void {
    if (type === 'message') for (const [part, key] of contentOf(item)) isKnownAt(part, key)
    else if (type === 'reasoning')
      reportItem(type, { summary: item.summary ?? null, content: item.content ?? null }, {}, at, report)
  }

  function done(item: JsonObject): void {
    const begun = entries.size > 0
    if (begun) reportItem(typeOf(item), item, frame, at, report)
    if (over) {
      if (type === 'message') for (const [part, key] of contentOf(item)) if (isKnownAt(part, key)) reportLate(part, key)
      return
    }
    over = true
    setFrame({ ...frame, ...item }, typeOf(item))
    if (type === 'message') {
      for (const [part, key] of contentOf(item)) if (isKnownAt(part, key)) wholeContent(part, key)
    } else if (type === 'reasoning') doneReasoning(item)
    else if (type === 'function_call' || type === 'custom_tool_call') {
      const text = type === 'function_call' ? item.arguments : item.input
      begin('input', 'input')
      whole('input', 'input', typeof text === 'string' || text == null ? (text ?? '') : stringifyExact(text))
    } else for (const part of partsOf(item)) writer.end(writer.start(part))
    close()
  }

  function doneReasoning(item: JsonObject): void {
    for (const list of ['summary', 'content'] as const) {
      const keys = keysOf(list, listOf(item[list]).length)
      for (const [position, entry] of listOf(item[list]).entries())
        if (isObject(entry)) whole(keys(position), 'reasoning', entry.text)
    }
    const last = partsOf(item).findLast((part): part is ReasoningPart => part.type === 'reasoning')
    const [first] = open
    if (first === undefined && entries.size === 0) {
      // Nothing but a seal, or nothing but an id.
      if (last !== undefined) writer.end(writer.start(last))
    } else if (first !== undefined && last?.seal !== undefined)
      writer.delta(first.part, { type: 'seal', seal: last.seal })
  }

  return {
    read(name, event) {
      reportEvent(name, event, at, report)
      if (over) return
      switch (name) {
        case 'response.output_item.added':
          if (!isObject(event.item)) return
          setFrame(event.item, typeOf(event.item))
          reportBegun(event.item)
          if (type === 'function_call' || type === 'custom_tool_call') begin('input', 'input')
          // A search's call id changes until it is done, and nothing happens in between.
          else if (!['message', 'reasoning', 'tool_search_call'].includes(type)) writer.progress(event)
          return
        case 'response.output_item.done':
          if (isObject(event.item)) done(event.item)
          return
        case 'response.content_part.added':
          if (isObject(event.part) && isKnownAt(event.part, contentKey(event)))
            beginContent(event.part, contentKey(event))
          return
        case 'response.content_part.done':
          if (!isObject(event.part) || !isKnownAt(event.part, contentKey(event))) return
          wholeContent(event.part, contentKey(event))
          if (event.part.type !== 'reasoning_text') end(entries.get(contentKey(event)))
          return
        case 'response.output_text.delta':
          say(contentKey(event), 'text', event.delta, event.logprobs)
          return
        case 'response.output_text.done':
          whole(contentKey(event), 'text', event.text, event.logprobs)
          return
        case 'response.output_text.annotation.added':
          cite(contentKey(event), event.annotation)
          return
        case 'response.refusal.delta':
          say(contentKey(event), 'refusal', event.delta)
          return
        case 'response.refusal.done':
          whole(contentKey(event), 'refusal', event.refusal)
          return
        case 'response.reasoning_text.delta':
        case 'response.reasoning.delta':
          say(contentKey(event), 'reasoning', event.delta)
          return
        case 'response.reasoning_text.done':
        case 'response.reasoning.done':
          whole(contentKey(event), 'reasoning', event.text)
          return
        case 'response.reasoning_summary_part.added':
          begin(summaryKey(event), 'reasoning')
          return
        case 'response.reasoning_summary_part.done':
          if (isObject(event.part)) whole(summaryKey(event), 'reasoning', event.part.text)
          return
        case 'response.reasoning_summary_text.delta':
        case 'response.reasoning_summary.delta':
          say(summaryKey(event), 'reasoning', event.delta)
          return
        case 'response.reasoning_summary_text.done':
        case 'response.reasoning_summary.done':
          whole(summaryKey(event), 'reasoning', event.text)
          return
        case 'response.function_call_arguments.delta':
        case 'response.custom_tool_call_input.delta':
          say('input', 'input', event.delta)
          return
        case 'response.function_call_arguments.done':
          whole('input', 'input', event.arguments)
          return
        case 'response.custom_tool_call_input.done':
          whole('input', 'input', event.input)
          return
        default:
          // The steps of a server's own tools, its code, its pictures as they become clear: told whole at the item's end.
          if (isProgress(name, type)) writer.progress(event)
          else writer.unknown(name, event, at)
      }
    },
    more(text) {
      if (speaking !== undefined) speaking.told.add(text)
    },
    done,
    close,
    get id() {
      return frame.id
    },
  }

  function beginContent(part: JsonObject, key: string): void {
    begin(key, part.type === 'refusal' ? 'refusal' : part.type === 'reasoning_text' ? 'reasoning' : 'text')
    wholeContent(part, key)
  }
}

/** As in a whole answer, except that a message without content still makes the part its content will stand in. */
const decodeStreamed = (item: JsonObject, at: string, scope: ItemScope): Part[] => {
  const parts = decodeItem(item, at, scope)
  if (parts.length > 0 || item.type !== 'reasoning') return parts
  const list = listOf(item.summary).length > 0 ? true : listOf(item.content).length > 0 ? false : undefined
  return list === undefined ? [] : [{ type: 'reasoning', text: '', summary: list }]
}

const listOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : [])
const numberOf = (value: Json | undefined): number => (typeof value === 'number' ? value : 0)

/** What an event speaks of, among an item's entries. The first few are written once, not for each event. */
const contentKeys: readonly string[] = Array.from({ length: 8 }, (_, number) => `content ${number}`)
const summaryKeys: readonly string[] = Array.from({ length: 8 }, (_, number) => `summary ${number}`)
function contentKey(event: JsonObject): string {
  const number = numberOf(event.content_index)
  return contentKeys[number] ?? `content ${number}`
}
function summaryKey(event: JsonObject): string {
  const number = numberOf(event.summary_index)
  return summaryKeys[number] ?? `summary ${number}`
}
