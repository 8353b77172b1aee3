import { isObject, type Json, type JsonObject, quoteText, stringifyExact } from '../../base/json/json.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Citation, Delta, Part, ReasoningPart, Sealed, ToolCallPart } from '../ir.ts'
import { callSealFields } from '../shared/call-seals.ts'
import { append } from '../shared/json-fields.ts'
import { reportLogprobs } from '../shared/response-losses.ts'
import { GrowingText, joinText } from '../shared/stream-parts.ts'
import { encodeCitation, isSameMessage, logprobsShape } from './content.ts'
import { callItem, contentPart, type MessagePart, messageItem, reasoningItem } from './items-encode.ts'
import { carrierItem, expectsReasoning, isFromResponses, isSameItem } from './reasoning.ts'

/** Sends events. `sendText` takes the fields as JSON text without the first brace. */
export interface Sender {
  send(type: string, fields: JsonObject): void
  sendText(type: string, fields: string): void
}

/** Writes one item, part by part. */
export interface ItemWriter {
  /** Returns whether the part belongs to this item. */
  accepts(value: Part): boolean
  start(value: Part): void
  delta(delta: Delta): void
  end(): void
  /** Ends the item and returns it. */
  close(status: string): JsonObject
  /** Returns an item that must follow. */
  followingItem?(): JsonObject | undefined
}

interface Place {
  readonly context: ExchangeContext
  readonly sender: Sender
  /** The item's index in the output. */
  readonly index: number
  add(item: JsonObject): void
  /** Writes another item that is complete. */
  addCompleteItem(item: JsonObject): void
}

/** The first members of a part's event, as JSON text up to the member with its text. */
const partHead = (id: string, index: number, more: string): string =>
  joinText('"item_id":', JSON.stringify(id), ',"output_index":', String(index), ',', more)
/** The first members of a delta event, as JSON text up to the delta. */
const deltaHead = (id: string, index: number, more: string): string => joinText(partHead(id, index, more), '"delta":')

const none: readonly Json[] = []
const noLogprobs = ',"logprobs":[]}'

/** Returns the text that a part has at its start. */
const textAtStart = (value: Part): string => ('text' in value ? value.text : '')

/** Creates the writer of a message, whose content parts are texts and refusals. */
export function createMessageWriter(first: MessagePart, { context, sender, index, add }: Place): ItemWriter {
  const item = messageItem(first, context)
  const id = String(item.id)
  const content: JsonObject[] = []
  let value: MessagePart = first
  let last: MessagePart = first
  let text = new GrowingText()
  let head = ''
  let citations: Citation[] = []
  let annotations: JsonObject[] = []
  let logprobs: Json[] = []
  let open = false
  add({ ...item, status: 'in_progress', content: [] })

  const place = (): JsonObject => ({ item_id: id, output_index: index, content_index: content.length })

  const placed = (): string => partHead(id, index, `"content_index":${content.length},`)

  function cite(citation: Citation): void {
    const annotation = encodeCitation(citation, text.length, value.at ?? '', context)
    if (annotation === undefined) return
    sender.send('response.output_text.annotation.added', {
      ...place(),
      annotation_index: annotations.length,
      annotation,
    })
    annotations.push(annotation)
  }

  function write(more: string, probable: Json | undefined): void {
    text.add(more)
    const tokens = probable === undefined ? none : tokensOf(probable)
    if (more === '' && tokens.length === 0) return
    if (value.type === 'refusal') sender.sendText('response.refusal.delta', `${head}${quoteText(more)}}`)
    else {
      const tail = tokens === none ? noLogprobs : `,"logprobs":${stringifyExact(tokens)}}`
      sender.sendText('response.output_text.delta', head + quoteText(more) + tail)
    }
  }

  function tokensOf(probable: Json): readonly Json[] {
    const tokens = isObject(probable) && Array.isArray(probable.content) ? probable.content : none
    reportLogprobs(probable, logprobsShape, 0, context.report)
    append(logprobs, tokens)
    return tokens
  }

  return {
    accepts: (next) => (next.type === 'text' || next.type === 'refusal') && isSameMessage(last, next),
    start(part) {
      if (part.type !== 'text' && part.type !== 'refusal') return
      value = part
      last = part
      text = new GrowingText()
      citations = []
      annotations = []
      logprobs = []
      open = true
      head = deltaHead(id, index, `"content_index":${content.length},`)
      const blank =
        part.type === 'refusal'
          ? { type: 'refusal', refusal: '' }
          : { type: 'output_text', text: '', annotations: [], logprobs: [] }
      sender.send('response.content_part.added', { ...place(), part: blank })
      write(textAtStart(part), undefined)
      for (const citation of (part.type === 'text' ? part.citations : undefined) ?? []) citations.push(citation)
    },
    delta(delta) {
      if (delta.type === 'text' || delta.type === 'refusal') write(delta.text, delta.logprobs)
      // A citation without offsets supports the whole text, whose length is known at its end.
      else if (delta.type === 'citation') {
        if (delta.citation.end === undefined) citations.push(delta.citation)
        else cite(delta.citation)
      }
    },
    end() {
      if (!open) return
      open = false
      for (const citation of citations) cite(citation)
      const whole = text.toString()
      const { citations: _, ...bare } = value as MessagePart & { citations?: Citation[] }
      const part = contentPart({ ...bare, text: whole } as MessagePart, context)
      if (value.type === 'text') {
        Object.assign(part, { annotations, logprobs })
        const tail = `,"logprobs":${stringifyExact(logprobs)}}`
        sender.sendText('response.output_text.done', `${placed()}"text":${quoteText(whole)}${tail}`)
      } else sender.sendText('response.refusal.done', `${placed()}"refusal":${quoteText(whole)}}`)
      sender.send('response.content_part.done', { ...place(), part })
      content.push(part)
    },
    close(status) {
      this.end()
      return { ...item, status, content }
    },
  }
}

/** Creates the writer of a reasoning item, whose entries are pieces of a summary or of the reasoning itself. */
export function createReasoningWriter(first: ReasoningPart, { context, sender, index, add }: Place): ItemWriter {
  const item = reasoningItem([{ ...first, text: '' }], context)
  const id = String(item.id)
  const parts: ReasoningPart[] = []
  let value: ReasoningPart = first
  let text = new GrowingText()
  let head = ''
  /** True if the entry has started. Reasoning without text has no entry, only a seal. */
  let hasStarted = false
  let open = false
  const count = { summary: 0, content: 0 }
  const { encrypted_content: _, content: _content, ...blank } = item
  add({ ...blank, ...('status' in blank ? { status: 'in_progress' } : {}), summary: [] })

  const raw = (): boolean => value.summary === false
  const place = (): JsonObject =>
    raw()
      ? { item_id: id, output_index: index, content_index: count.content }
      : { item_id: id, output_index: index, summary_index: count.summary }
  const entry = (of: string): JsonObject => ({ type: raw() ? 'reasoning_text' : 'summary_text', text: of })

  function write(more: string): void {
    if (more === '') return
    if (!hasStarted) {
      hasStarted = true
      head = deltaHead(id, index, raw() ? `"content_index":${count.content},` : `"summary_index":${count.summary},`)
      sender.send(raw() ? 'response.content_part.added' : 'response.reasoning_summary_part.added', {
        ...place(),
        part: entry(''),
      })
    }
    text.add(more)
    const type = raw() ? 'response.reasoning_text.delta' : 'response.reasoning_summary_text.delta'
    sender.sendText(type, `${head}${quoteText(more)}}`)
  }

  return {
    accepts(next) {
      const previous = parts.at(-1)
      return next.type === 'reasoning' && previous !== undefined && isSameItem(previous, next)
    },
    start(part) {
      if (part.type !== 'reasoning') return
      value = part
      text = new GrowingText()
      hasStarted = false
      open = true
      write(part.text)
    },
    delta(delta) {
      if (delta.type === 'reasoning') write(delta.text)
      else if (delta.type === 'seal') value = { ...value, seal: delta.seal }
    },
    end() {
      if (!open) return
      open = false
      const whole = text.toString()
      parts.push({ ...value, text: whole })
      if (!hasStarted) return
      const name = raw() ? 'response.reasoning_text.done' : 'response.reasoning_summary_text.done'
      sender.send(name, { ...place(), text: whole })
      sender.send(raw() ? 'response.content_part.done' : 'response.reasoning_summary_part.done', {
        ...place(),
        part: entry(whole),
      })
      count[raw() ? 'content' : 'summary']++
    },
    close(status) {
      this.end()
      const whole = reasoningItem(parts, context)
      return { ...whole, id, ...('status' in whole && !isFromResponses(parts) ? { status } : {}) }
    },
  }
}

/** Creates the writer of a call. A seal travels in a separate item: before the call if it is known in time, else after it. */
export function createCallWriter(call: ToolCallPart, place: Place & { indexNow(): number }): ItemWriter {
  const { context, sender } = place
  const frame = callItem({ ...call, input: '' }, '', context)
  const carrier = (seal: Sealed): JsonObject => carrierItem({ id: String(frame.call_id) }, seal, context.newId('rs_'))
  const reasons = expectsReasoning(context.request)
  const sealed = (seal: Sealed | undefined): JsonObject =>
    seal === undefined || reasons ? {} : callSealFields(seal, 'responses')
  if (call.seal !== undefined && reasons) place.addCompleteItem(carrier(call.seal))
  let lateSeal: Sealed | undefined
  const index = place.indexNow()
  const id = String(frame.id)
  const custom = frame.type === 'custom_tool_call'
  /** Calls of tools that only this format has are sent whole. */
  const streamed = custom || frame.type === 'function_call'
  const head = deltaHead(id, index, '')
  const input = new GrowingText()
  let open = false
  const key = custom ? 'input' : 'arguments'
  const name = custom ? 'response.custom_tool_call_input' : 'response.function_call_arguments'
  const deltaName = `${name}.delta`
  place.add({ ...frame, ...sealed(call.seal), status: 'in_progress', ...(streamed ? { [key]: '' } : {}) })

  function write(more: string): void {
    if (more === '') return
    input.add(more)
    if (streamed) sender.sendText(deltaName, `${head}${quoteText(more)}}`)
  }

  return {
    accepts: () => false,
    start(value) {
      open = true
      if (value.type === 'tool-call') write(value.input)
    },
    delta(delta) {
      if (delta.type === 'input') write(delta.text)
      else if (delta.type === 'seal') lateSeal = delta.seal
    },
    end() {
      if (!open) return
      open = false
      // Clients parse the arguments, and '' is not JSON.
      if (!custom && input.length === 0) write('{}')
      if (!streamed) return
      const bare = frame.name ?? ''
      sender.send(`${name}.done`, {
        item_id: id,
        output_index: index,
        ...(custom ? {} : { name: bare }),
        [key]: input.toString(),
      })
    },
    close(status) {
      this.end()
      const whole = callItem({ ...call, id: String(frame.call_id) }, input.toString(), context)
      return { ...whole, ...sealed(call.seal ?? lateSeal), id, status }
    },
    followingItem: () => (lateSeal === undefined || !reasons ? undefined : carrier(lateSeal)),
  }
}
