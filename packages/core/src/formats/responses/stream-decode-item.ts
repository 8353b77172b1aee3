import { isObject, type Json, type JsonObject, pointer, stringifyExact } from '../../base/json/json.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Delta, Part, ReasoningPart } from '../ir.ts'
import { loss } from '../shared/report.ts'
import { GrowingText } from '../shared/stream-parts.ts'
import { decodeAnnotation } from './content.ts'
import { type ItemScope, itemTypeOf } from './items-decode.ts'
import { decodeItem, scopeOf } from './response-decode.ts'
import { contentObjects, isProgressEvent, reportEvent, reportItem, reportPart } from './stream-decode-shapes.ts'

/** Numbers the parts of a response, and writes their events. */
export interface PartWriter {
  start(value: Part): number
  delta(part: number, delta: Delta): void
  end(part: number): void
  /** Forwards an event to a client of this format; others cannot use it. */
  forward(event: JsonObject): void
  /**
   * Forwards or reports an unknown event.
   *
   * @param at JSON Pointer of the event's item
   */
  unknown(type: string, event: JsonObject, at: string): void
}

/** Decodes one item of a stream. */
export interface ItemDecoder {
  read(type: string, event: JsonObject): void
  /** Records the text of an event that equals the last one except in its text. The caller has written its delta. */
  addText(text: string): void
  /** Takes the final item, and writes everything in it that has not been streamed. */
  done(item: JsonObject): void
  /** Ends all open entries. */
  close(): void
  /** Returns the item's id, if it has one. */
  id(): Json | undefined
}

/** An entry of an item that becomes a part: a text, a refusal, a piece of reasoning, the input of a call. */
interface Entry {
  part: number
  kind: 'text' | 'refusal' | 'reasoning' | 'input'
  readonly text: GrowingText
  citations: number
  logprobs: number
  open: boolean
}

/** Creates the decoder of the item at an index of the output. */
export function createItemDecoder(index: number, writer: PartWriter, context: ExchangeContext): ItemDecoder {
  const at = pointer('/output', index)
  const { report } = context
  const scope: ItemScope = scopeOf(context)
  /** Entries by key: `content 0`, `summary 1`, `input`. */
  const entries = new Map<string, Entry>()
  /** Open entries, separate because an item can have very many entries. */
  const open = new Set<Entry>()
  let frame: JsonObject = {}
  let type = ''
  /** Empty parts by kind of entry, for the current `frame`. */
  const blanks = new Map<string, Part | undefined>()
  let over = false
  /** The entry that received text last. */
  let lastWritten: Entry | undefined

  /** Returns the part with which an entry starts: the item as far as it is known, with this entry alone. */
  function emptyPart(key: string, kind: Entry['kind']): Part | undefined {
    const list = key.startsWith('summary') ? 'summary' : 'content'
    const known = `${kind} ${list}`
    // The item's fields are decoded once, not for each entry.
    if (!blanks.has(known)) blanks.set(known, createEmptyPart(list, kind))
    const part = blanks.get(known)
    if (part === undefined || part.type !== 'reasoning' || entries.size === 0) return part
    const id = part.extra?.responses?.id
    const { extra: _, ...rest } = part
    return id === undefined ? rest : { ...rest, extra: { responses: { id } } }
  }

  function createEmptyPart(list: 'summary' | 'content', kind: Entry['kind']): Part | undefined {
    const shell: JsonObject = { ...frame, type: type || (kind === 'reasoning' ? 'reasoning' : 'message') }
    // The final item has the whole seal; the first event may hold a part of it.
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
    const value = emptyPart(key, kind)
    if (value === undefined) return undefined
    // A new piece of reasoning ends the one before. The last one stays open for the seal.
    if (kind === 'reasoning') close()
    const start = value.type === 'tool-call' ? { ...value, input: '' } : value
    const entry: Entry = {
      part: writer.start({ ...start, at: placeOf(key) }),
      kind,
      text: new GrowingText(),
      citations: 0,
      logprobs: 0,
      open: true,
    }
    entries.set(key, entry)
    open.add(entry)
    return entry
  }

  function writeText(key: string, kind: Entry['kind'], text: Json | undefined, logprobs?: Json): void {
    const entry = begin(key, kind)
    if (entry === undefined || typeof text !== 'string' || !entry.open) return
    const probable = Array.isArray(logprobs) && logprobs.length > 0
    if (text === '' && !probable) return
    entry.text.add(text)
    if (probable) entry.logprobs += logprobs.length
    lastWritten = entry
    const delta: Delta = { type: kind, text }
    writer.delta(entry.part, probable ? { ...delta, logprobs: { content: logprobs, refusal: null } } : delta)
  }

  /** Writes what a whole text adds to the text that was streamed. */
  function writeWholeText(key: string, kind: Entry['kind'], text: Json | undefined, logprobs?: Json): void {
    if (typeof text !== 'string') return
    const before = entries.get(key)?.text
    // A shorter text cannot repeat the streamed one. Returning early avoids joining the streamed pieces for each event.
    if (before !== undefined && text.length < before.length) return
    const streamed = before?.toString() ?? ''
    const known = entries.get(key)?.logprobs ?? 0
    if (text.startsWith(streamed)) writeText(key, kind, text.slice(streamed.length), listOf(logprobs).slice(known))
  }

  function writeCitation(key: string, annotation: Json | undefined): void {
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

  function writeWholeContent(part: JsonObject, key: string): void {
    if (part.type === 'refusal') writeWholeText(key, 'refusal', part.refusal)
    else if (part.type === 'reasoning_text') writeWholeText(key, 'reasoning', part.text)
    else {
      begin(key, 'text')
      writeWholeText(key, 'text', part.text, part.logprobs)
      const { citations = 0 } = entries.get(key) ?? {}
      for (const annotation of listOf(part.annotations).slice(citations)) writeCitation(key, annotation)
      reportLate(part, key)
    }
  }

  /**
   * Returns a function from positions in a whole item to keys of entries. Events of Bedrock Mantle number entries beyond the end of
   * the item's list (`content_index` 1 for `content[0]`); then the order identifies the entries.
   */
  function keysOf(list: 'summary' | 'content', count: number): (position: number) => string {
    const streamed: number[] = []
    for (const key of entries.keys()) if (key.startsWith(list)) streamed.push(Number(key.slice(list.length + 1)))
    streamed.sort((a, b) => a - b)
    const last = streamed.at(-1) ?? -1
    if (last < count) return (position) => `${list} ${position}`
    // An entry that was not streamed gets a new number.
    return (position) => `${list} ${streamed[position] ?? last + 1 + position}`
  }

  function contentOf(item: JsonObject): [JsonObject, string][] {
    const keys = keysOf('content', listOf(item.content).length)
    return contentObjects(item.content, at, report).map((part, position) => [part, keys(position)])
  }
  const isKnownPart = (part: JsonObject, key: string): boolean => reportPart(part, placeOf(key), report)

  /** Reports annotations and log probabilities that arrived after the end of their text. */
  function reportLate(part: JsonObject, key: string): void {
    const entry = entries.get(key)
    if (entry === undefined || entry.open) return
    for (const [list, streamed] of [
      ['annotations', entry.citations],
      ['logprobs', entry.logprobs],
    ] as const)
      if (listOf(part[list]).length > streamed)
        report.add(loss(pointer(placeOf(key), list), `${list} that arrived after the end of their text were left out`))
  }

  /** Reports unknown content of an item's first event. Known content arrives again in later events. */
  function reportFirstContent(item: JsonObject): void {
    if (type === 'message') for (const [part, key] of contentOf(item)) isKnownPart(part, key)
    else if (type === 'reasoning')
      reportItem(type, { summary: item.summary ?? null, content: item.content ?? null }, {}, at, report)
  }

  function done(item: JsonObject): void {
    const begun = entries.size > 0
    if (begun) reportItem(itemTypeOf(item), item, frame, at, report)
    if (over) {
      if (type === 'message')
        for (const [part, key] of contentOf(item)) if (isKnownPart(part, key)) reportLate(part, key)
      return
    }
    over = true
    setFrame({ ...frame, ...item }, itemTypeOf(item))
    if (type === 'message') {
      for (const [part, key] of contentOf(item)) if (isKnownPart(part, key)) writeWholeContent(part, key)
    } else if (type === 'reasoning') doneReasoning(item)
    else if (type === 'function_call' || type === 'custom_tool_call') {
      const text = type === 'function_call' ? item.arguments : item.input
      begin('input', 'input')
      writeWholeText('input', 'input', typeof text === 'string' || text == null ? (text ?? '') : stringifyExact(text))
    } else for (const part of partsOf(item)) writer.end(writer.start(part))
    close()
  }

  function doneReasoning(item: JsonObject): void {
    for (const list of ['summary', 'content'] as const) {
      const keys = keysOf(list, listOf(item[list]).length)
      for (const [position, entry] of listOf(item[list]).entries())
        if (isObject(entry)) writeWholeText(keys(position), 'reasoning', entry.text)
    }
    const last = partsOf(item).findLast((part): part is ReasoningPart => part.type === 'reasoning')
    const [first] = open
    if (first === undefined && entries.size === 0) {
      // The item has only a seal or an id.
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
          setFrame(event.item, itemTypeOf(event.item))
          reportFirstContent(event.item)
          if (type === 'function_call' || type === 'custom_tool_call') begin('input', 'input')
          // The call id of a search changes until the item is done, and no event in between has content.
          else if (!['message', 'reasoning', 'tool_search_call'].includes(type)) writer.forward(event)
          return
        case 'response.output_item.done':
          if (isObject(event.item)) done(event.item)
          return
        case 'response.content_part.added':
          if (isObject(event.part) && isKnownPart(event.part, contentKey(event)))
            beginContent(event.part, contentKey(event))
          return
        case 'response.content_part.done':
          if (!isObject(event.part) || !isKnownPart(event.part, contentKey(event))) return
          writeWholeContent(event.part, contentKey(event))
          if (event.part.type !== 'reasoning_text') end(entries.get(contentKey(event)))
          return
        case 'response.output_text.delta':
          writeText(contentKey(event), 'text', event.delta, event.logprobs)
          return
        case 'response.output_text.done':
          writeWholeText(contentKey(event), 'text', event.text, event.logprobs)
          return
        case 'response.output_text.annotation.added':
          writeCitation(contentKey(event), event.annotation)
          return
        case 'response.refusal.delta':
          writeText(contentKey(event), 'refusal', event.delta)
          return
        case 'response.refusal.done':
          writeWholeText(contentKey(event), 'refusal', event.refusal)
          return
        case 'response.reasoning_text.delta':
        case 'response.reasoning.delta':
          writeText(contentKey(event), 'reasoning', event.delta)
          return
        case 'response.reasoning_text.done':
        case 'response.reasoning.done':
          writeWholeText(contentKey(event), 'reasoning', event.text)
          return
        case 'response.reasoning_summary_part.added':
          begin(summaryKey(event), 'reasoning')
          return
        case 'response.reasoning_summary_part.done':
          if (isObject(event.part)) writeWholeText(summaryKey(event), 'reasoning', event.part.text)
          return
        case 'response.reasoning_summary_text.delta':
        case 'response.reasoning_summary.delta':
          writeText(summaryKey(event), 'reasoning', event.delta)
          return
        case 'response.reasoning_summary_text.done':
        case 'response.reasoning_summary.done':
          writeWholeText(summaryKey(event), 'reasoning', event.text)
          return
        case 'response.function_call_arguments.delta':
        case 'response.custom_tool_call_input.delta':
          writeText('input', 'input', event.delta)
          return
        case 'response.function_call_arguments.done':
          writeWholeText('input', 'input', event.arguments)
          return
        case 'response.custom_tool_call_input.done':
          writeWholeText('input', 'input', event.input)
          return
        default:
          // Progress of server-side tools, code and partial images: the final item repeats all of it.
          if (isProgressEvent(name, type)) writer.forward(event)
          else writer.unknown(name, event, at)
      }
    },
    addText(text) {
      if (lastWritten !== undefined) lastWritten.text.add(text)
    },
    done,
    close,
    id: () => frame.id,
  }

  function beginContent(part: JsonObject, key: string): void {
    begin(key, part.type === 'refusal' ? 'refusal' : part.type === 'reasoning_text' ? 'reasoning' : 'text')
    writeWholeContent(part, key)
  }
}

/** Decodes an item as in a whole response, and returns an empty part for reasoning whose text is still to come. */
const decodeStreamed = (item: JsonObject, at: string, scope: ItemScope): Part[] => {
  const parts = decodeItem(item, at, scope)
  if (parts.length > 0 || item.type !== 'reasoning') return parts
  const list = listOf(item.summary).length > 0 ? true : listOf(item.content).length > 0 ? false : undefined
  return list === undefined ? [] : [{ type: 'reasoning', text: '', summary: list }]
}

const listOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : [])
const numberOf = (value: Json | undefined): number => (typeof value === 'number' ? value : 0)

/** Keys of entries. The first few are created once, not for each event. */
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
