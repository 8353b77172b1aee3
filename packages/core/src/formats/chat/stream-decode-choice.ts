import { statusOf } from '../../errors.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Delta, ErrorInfo, Json, JsonObject, ModelEvent, Part } from '../ir.ts'
import { isObject, takeAny, takeArray, takeObject, takeString, unread } from '../shared/reader.ts'
import { decodeError } from './error.ts'
import { decodeFinish, type Held } from './finish.ts'
import {
  decodeAnnotations,
  decodeAnswerContent,
  decodeAudio,
  decodeImages,
  hasLogprobs,
  substance,
} from './response-decode.ts'
import { createCallReader } from './stream-decode-calls.ts'
import { createReasoningReader } from './stream-decode-reasoning.ts'

/** One choice of a stream, chunk by chunk. */
export interface ChoiceDecoder {
  /** Reads the choice of one chunk. Returns the error the choice ended with, if it did. */
  push(choice: JsonObject, out: ModelEvent[]): ErrorInfo | undefined
  /** Closes what is open and tells how the choice finished. Called once, at the end of the stream. */
  end(out: ModelEvent[]): void
  readonly finished: boolean
}

/** Hands out the numbers of a choice's parts, and writes their events. */
export interface PartWriter {
  start(value: Part): number
  delta(part: number, delta: Delta): void
  end(part: number): void
}

type Flow = 'text' | 'refusal'

export function createChoiceDecoder(index: number, context: ExchangeContext): ChoiceDecoder {
  let out: ModelEvent[] = []
  let next = 0
  const writer: PartWriter = {
    start(value) {
      out.push({ type: 'part-start', choice: index, part: next, value })
      return next++
    },
    delta: (part, delta) => out.push({ type: 'part-delta', choice: index, part, delta }),
    end: (part) => out.push({ type: 'part-end', choice: index, part }),
  }
  const reasoning = createReasoningReader(writer)
  const calls = createCallReader(writer, context)
  const held: Held = { calls: false, refusal: false, text: false }
  let flow: { type: Flow; part: number } | undefined
  let audio: number | undefined
  let finishWord: Json | undefined
  let stopReason: Json | undefined
  let leftLogprobs: Json | undefined
  let seen = false
  const extra: JsonObject = {}
  const messageExtra: JsonObject = {}

  function closeFlow(): void {
    if (flow !== undefined) writer.end(flow.part)
    flow = undefined
  }

  function write(type: Flow, text: string, logprobs: Json | undefined): void {
    reasoning.close()
    if (flow?.type !== type) {
      closeFlow()
      flow = { type, part: writer.start({ type, text: '' }) }
    }
    held[type] = true
    writer.delta(flow.part, logprobs === undefined ? { type, text } : { type, text, logprobs })
  }

  function readContent(content: Json | undefined, logprobs: Json | undefined): void {
    for (const part of decodeAnswerContent(content, '')) {
      if (part.type === 'text') write('text', part.text, logprobs)
      else if (part.type === 'reasoning') think(part.text)
      else {
        closeFlow()
        reasoning.close()
        writer.end(writer.start(part))
      }
    }
  }

  function think(text: string): void {
    if (text === '') return
    closeFlow()
    reasoning.text(text)
  }

  function readDelta(delta: JsonObject, logprobs: Json | undefined): void {
    const fields = unread(delta)
    delete fields.role
    const details = takeArray(fields, 'reasoning_details')
    const content = takeString(fields, 'reasoning_content')
    const plain = content || takeString(fields, 'reasoning')
    delete fields.reasoning
    if (details !== undefined && details.length > 0) {
      closeFlow()
      reasoning.details(details, plain ?? '')
    } else if (plain) think(plain)
    readContent(takeAny(fields, 'content'), logprobs)
    const refusal = takeString(fields, 'refusal')
    if (refusal) write('refusal', refusal, logprobs)
    readSound(takeObject(fields, 'audio'))
    for (const image of decodeImages(takeArray(fields, 'images'), '')) {
      closeFlow()
      writer.end(writer.start(image))
    }
    const list = takeArray(fields, 'tool_calls') ?? []
    if (list.length > 0) {
      closeFlow()
      reasoning.close()
      for (const call of list) if (isObject(call)) calls.push(call)
    }
    const legacy = takeObject(fields, 'function_call')
    if (legacy !== undefined) calls.push({ index: -1, function: legacy })
    held.calls ||= calls.any
    for (const citation of decodeAnnotations(takeArray(fields, 'annotations'))) {
      // They support the text said last, which may be closed already: chat says them at the end.
      if (flow?.type !== 'text') {
        closeFlow()
        flow = { type: 'text', part: writer.start({ type: 'text', text: '' }) }
      }
      writer.delta(flow.part, { type: 'citation', citation })
    }
    Object.assign(messageExtra, substance(fields))
  }

  function readSound(sound: JsonObject | undefined): void {
    if (sound === undefined) return
    const { data, ...rest } = sound
    if (audio === undefined) {
      const part = decodeAudio({ ...sound, data: '' }, context) ?? decodeAudio({ ...sound, id: ' ' }, context)
      if (part === undefined) return
      closeFlow()
      audio = writer.start({ ...part, source: { type: 'base64', data: '' } })
      if (typeof data === 'string' && data !== '') writer.delta(audio, { type: 'media', data })
      return
    }
    const more = substance(rest)
    writer.delta(audio, {
      type: 'media',
      data: typeof data === 'string' ? data : '',
      ...(more === undefined ? {} : { extra: { chat: more } }),
    })
  }

  function closeAll(): void {
    closeFlow()
    reasoning.close()
    if (audio !== undefined) writer.end(audio)
    audio = undefined
    calls.close()
  }

  return {
    push(choice, into) {
      out = into
      seen = true
      const fields = unread(choice)
      for (const key of ['index', 'usage', 'message', 'text', 'token_id']) delete fields[key]
      const logprobs = takeAny(fields, 'logprobs')
      const wanted = hasLogprobs(logprobs) ? logprobs : undefined
      // Perplexity repeats the whole message beside each delta; others send one message and no delta.
      const delta = isObject(choice.delta) ? choice.delta : isObject(choice.message) ? choice.message : undefined
      delete fields.delta
      if (delta !== undefined) readDelta(delta, wanted)
      if (wanted !== undefined && !saysSomething(delta)) leftLogprobs = wanted
      stopReason = takeAny(fields, 'stop_reason') ?? stopReason
      const word = takeAny(fields, 'finish_reason')
      if (word !== undefined && word !== null && word !== '') {
        finishWord = word
        closeAll()
      }
      if (word === 'error') {
        const body = fields.error ?? choice.error
        return isObject(body)
          ? decodeError(200, { error: body })
          : {
              kind: 'upstream_error',
              status: statusOf.upstream_error,
              message: 'The upstream ended its answer with an error.',
            }
      }
      Object.assign(extra, substance(fields))
      return undefined
    },
    end(into) {
      out = into
      if (!seen) return
      closeAll()
      const own = Object.keys(messageExtra).length === 0 ? extra : { ...extra, message: messageExtra }
      out.push({
        type: 'choice-end',
        choice: index,
        finish: decodeFinish(finishWord, stopReason, held),
        ...(leftLogprobs === undefined ? {} : { logprobs: leftLogprobs }),
        ...(Object.keys(own).length === 0 ? {} : { extra: { chat: own } }),
      })
    },
    get finished() {
      return finishWord !== undefined
    },
  }
}

const saysSomething = (delta: JsonObject | undefined): boolean => Boolean(delta?.content) || Boolean(delta?.refusal)
