import { isObject, type Json, type JsonObject, stringifyExact } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import { decodeError } from '../chat/error.ts'
import type { Report } from '../ir.ts'
import type { EventEditor } from './adaptation.ts'
import { chunkOf, objectsIn } from './chat-stream.ts'
import { finishOf, reportUnshown, textIn, usageOf } from './cohere-response.ts'

type ContentKind = 'text' | 'thinking'

/** Turns the chunks of a chat stream into the events of Cohere's chat. */
export const openEvents = (report: Report): EventEditor => new CohereEvents(report)

class CohereEvents implements EventEditor {
  readonly #report: Report
  readonly #reported = new Set<string>()
  #ready: SseEvent[] = []
  #id = ''
  #hasStarted = false
  #content: ContentKind | undefined
  #contentIndex = -1
  /** The last call that started. Calls follow one another. */
  #call: number | undefined
  #finish: Json | undefined
  #usage: JsonObject | undefined
  #hasEnded = false

  constructor(report: Report) {
    this.#report = report
  }

  push(event: SseEvent): readonly SseEvent[] {
    const chunk = chunkOf(event)
    if (chunk === undefined) {
      if (event.event === ':') return [event]
      this.#end()
      return [...this.#take(), event]
    }
    this.#start(chunk)
    if (chunk.error !== undefined && chunk.error !== null) this.#fail(chunk.error)
    else this.#add(chunk)
    return this.#take()
  }

  end(): readonly SseEvent[] {
    this.#end()
    return this.#take()
  }

  #add(chunk: JsonObject): void {
    if (isObject(chunk.usage)) this.#usage = chunk.usage
    // Cohere has no second choice, and its clients cannot request one.
    const [choice] = objectsIn(chunk.choices)
    if (choice === undefined) return
    const delta = isObject(choice.delta) ? choice.delta : {}
    this.#reportOnce(delta)
    this.#addContent('thinking', textIn(delta, 'reasoning_content', 'reasoning'))
    this.#addContent('text', textIn(delta, 'content'))
    this.#addContent('text', textIn(delta, 'refusal'))
    for (const piece of objectsIn(delta.tool_calls)) this.#addCall(piece)
    if (typeof choice.finish_reason === 'string') this.#finish = choice.finish_reason
  }

  #start({ id }: JsonObject): void {
    if (this.#hasStarted) return
    this.#hasStarted = true
    if (typeof id === 'string') this.#id = id
    this.#write('message-start', { id: this.#id, delta: { message: { role: 'assistant' } } })
  }

  #addContent(kind: ContentKind, text: string): void {
    if (text === '') return
    if (this.#content !== kind) {
      this.#endContent()
      this.#content = kind
      this.#contentIndex++
      this.#write('content-start', {
        index: this.#contentIndex,
        delta: { message: { content: { type: kind, [kind]: '' } } },
      })
    }
    this.#write('content-delta', { index: this.#contentIndex, delta: { message: { content: { [kind]: text } } } })
  }

  #addCall({ index, id, function: called }: JsonObject): void {
    const at = typeof index === 'number' ? index : 0
    const { name, arguments: written } = isObject(called) ? called : {}
    if (this.#call !== at) {
      this.#endContent()
      this.#endCall()
      this.#call = at
      const start = { id: id ?? '', type: 'function', function: { name: name ?? '', arguments: '' } }
      this.#write('tool-call-start', { index: at, delta: { message: { tool_calls: start } } })
    }
    if (typeof written === 'string' && written !== '')
      this.#write('tool-call-delta', {
        index: at,
        delta: { message: { tool_calls: { function: { arguments: written } } } },
      })
  }

  #endContent(): void {
    if (this.#content !== undefined) this.#write('content-end', { index: this.#contentIndex })
    this.#content = undefined
  }

  #endCall(): void {
    if (this.#call !== undefined) this.#write('tool-call-end', { index: this.#call })
    this.#call = undefined
  }

  /** Ends the message, unless the response is not whole. */
  #end(): void {
    if (this.#hasEnded || this.#finish === undefined) return
    this.#hasEnded = true
    this.#endContent()
    this.#endCall()
    const usage = this.#usage === undefined ? {} : { usage: usageOf(this.#usage) }
    this.#write('message-end', { id: this.#id, delta: { finish_reason: finishOf(this.#finish), ...usage } })
  }

  #fail(error: Json): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    const { message } = decodeError(200, { error })
    this.#write('message-end', { id: this.#id, delta: { finish_reason: 'ERROR', error: message } })
  }

  #reportOnce(delta: JsonObject): void {
    const fresh: JsonObject = {}
    for (const [name, value] of Object.entries(delta)) {
      if (this.#reported.has(name) || value === null) continue
      this.#reported.add(name)
      fresh[name] = value
    }
    reportUnshown(fresh, '/choices/0/delta', this.#report)
  }

  #write(type: string, members: JsonObject): void {
    this.#ready.push({ event: type, data: stringifyExact({ type, ...members }) })
  }

  #take(): readonly SseEvent[] {
    const ready = this.#ready
    this.#ready = []
    return ready
  }
}
