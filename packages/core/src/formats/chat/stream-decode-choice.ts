import { errorKinds } from '../../base/error-kinds.ts'
import type { ErrorInfo } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, pointer } from '../../base/json/json.ts'
import type { ExchangeContext } from '../codec.ts'
import type { ModelEvent, TextDelta } from '../ir.ts'
import { assignOwn, fieldsExcept } from '../shared/json-fields.ts'
import { objectsIn } from '../shared/report.ts'
import { decodeError } from './error.ts'
import { type ChoiceContent, decodeFinish } from './finish.ts'
import { decodeAnnotations, decodeAnswerContent, decodeImages, hasLogprobs, soundPart } from './response-decode.ts'
import {
  createCallReader,
  createReasoningReader,
  legacyIndex,
  type PartWriter,
  reportOwn,
} from './stream-decode-parts.ts'

/** Decodes one choice of a stream, chunk by chunk. */
export interface ChoiceDecoder {
  /** Reads the choice of one chunk. Returns the error that ended the choice, if any. */
  push(choice: JsonObject, out: ModelEvent[]): ErrorInfo | undefined
  /** Adds text of a chunk that matched the template. The caller emits its event. */
  more(type: TextDelta['type'], text: string): void
  /** Returns the member that held the text of the last chunk, if it was a single one. */
  textKey(): string | undefined
  /** Ends open parts and emits the finish reason. Called once, at the end of the stream. */
  end(out: ModelEvent[]): void
  isFinished(): boolean
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
  const at = `/choices/${index}/message`
  const reasoning = createReasoningReader(writer, pointer(at, 'reasoning_content'), context.report)
  const calls = createCallReader(writer, context, at)
  const held: ChoiceContent = { calls: false, refusal: false, text: false }
  let flow: { type: Flow; part: number } | undefined
  let audio: number | undefined
  let finishWord: Json | undefined
  let stopReason: Json | undefined
  let leftLogprobs: Json | undefined
  let seen = false
  let textKey: string | undefined
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
      flow = { type, part: writer.start({ type, text: '', at: pointer(at, type === 'text' ? 'content' : type) }) }
    }
    held[type] = true
    writer.delta(flow.part, logprobs === undefined ? { type, text } : { type, text, logprobs })
  }

  function readContent(content: Json | undefined, logprobs: Json | undefined): void {
    for (const part of decodeAnswerContent(content, pointer(at, 'content'))) {
      if (part.type === 'text' || part.type === 'reasoning') {
        reportOwn(part, context.report)
        if (part.type === 'text') write('text', part.text, logprobs)
        else think(part.text)
      } else {
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
    const { reasoning_details: details, content } = delta
    const plain = textOf(delta.reasoning_content) || textOf(delta.reasoning)
    if (Array.isArray(details) && details.length > 0) {
      closeFlow()
      reasoning.details(details, plain)
    } else if (plain !== '') {
      textKey = plain === delta.reasoning_content ? 'reasoning_content' : 'reasoning'
      think(plain)
    }
    if (typeof content === 'string') {
      if (content !== '') {
        textKey = 'content'
        write('text', content, logprobs)
      }
    } else if (Array.isArray(content)) readContent(content, logprobs)
    const refusal = textOf(delta.refusal)
    if (refusal !== '') {
      textKey = 'refusal'
      write('refusal', refusal, logprobs)
    }
    if (isObject(delta.audio)) readSound(delta.audio)
    if (Array.isArray(delta.images)) {
      closeFlow()
      for (const image of decodeImages(delta.images, pointer(at, 'images'), context.report))
        writer.end(writer.start(image))
    }
    readCalls(delta)
    if (Array.isArray(delta.annotations)) cite(delta.annotations)
    const rest = fieldsExcept(delta, deltaFields)
    if (rest !== undefined) assignOwn(messageExtra, rest)
  }

  function readCalls(delta: JsonObject): void {
    if (Array.isArray(delta.tool_calls) && delta.tool_calls.length > 0) {
      closeFlow()
      reasoning.close()
      // A call next to other parts may delay its text.
      textKey = textKey === undefined && delta.tool_calls.length === 1 ? 'arguments' : undefined
      for (const call of objectsIn(delta.tool_calls, pointer(at, 'tool_calls'), context.report)) calls.push(call)
    }
    const legacy = delta.function_call
    if (isObject(legacy) && (legacy.name || legacy.arguments)) {
      textKey = undefined
      calls.push({ index: legacyIndex, function: legacy })
    }
    held.calls ||= calls.hasCalls()
  }

  /** Citations refer to the last text, which may have ended: chat sends them at the end. */
  function cite(annotations: readonly Json[]): void {
    for (const citation of decodeAnnotations(annotations)) {
      if (flow?.type !== 'text') {
        closeFlow()
        flow = { type: 'text', part: writer.start({ type: 'text', text: '', at: pointer(at, 'content') }) }
      }
      writer.delta(flow.part, { type: 'citation', citation })
    }
  }

  function readSound(sound: JsonObject): void {
    const data = textOf(sound.data)
    const rest = fieldsExcept(sound, soundFields)
    if (data === '' && rest === undefined) return
    if (audio === undefined) {
      closeFlow()
      audio = writer.start({
        ...soundPart(rest, context),
        source: { type: 'base64', data: '' },
        at: pointer(at, 'audio'),
      })
      if (data !== '') writer.delta(audio, { type: 'media', data })
    } else writer.delta(audio, { type: 'media', data, ...(rest === undefined ? {} : { extra: { chat: rest } }) })
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
      textKey = undefined
      const logprobs = hasLogprobs(choice.logprobs) ? choice.logprobs : undefined
      // Perplexity repeats the whole message with each delta; others send one message and no delta.
      const delta = isObject(choice.delta) ? choice.delta : isObject(choice.message) ? choice.message : undefined
      if (delta !== undefined) readDelta(delta, logprobs)
      if (logprobs !== undefined && !saysSomething(delta)) leftLogprobs = logprobs
      stopReason = choice.stop_reason ?? stopReason
      const word = choice.finish_reason
      if (word !== undefined && word !== null && word !== '') {
        finishWord = word
        closeAll()
      }
      if (word === 'error') {
        return isObject(choice.error)
          ? decodeError(200, { error: choice.error })
          : {
              kind: 'upstream_error',
              status: errorKinds.upstream_error.status,
              message: 'The upstream ended its response with an error.',
            }
      }
      const rest = fieldsExcept(choice, choiceFields)
      if (rest !== undefined) assignOwn(extra, rest)
      return undefined
    },
    more(type, text) {
      if (type === 'reasoning') reasoning.more(text)
      else if (type === 'input') calls.more(text)
    },
    textKey: () => textKey,
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
    isFinished: () => finishWord !== undefined,
  }
}

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

/** Fields of a delta and of a choice that are read here, or have no meaning. */
const deltaFields: ReadonlySet<string> = new Set([
  'role',
  'content',
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'refusal',
  'audio',
  'images',
  'tool_calls',
  'function_call',
  'annotations',
])
const soundFields: ReadonlySet<string> = new Set(['data'])
const choiceFields: ReadonlySet<string> = new Set([
  'index',
  'delta',
  'message',
  'logprobs',
  'finish_reason',
  'stop_reason',
  'usage',
  'text',
  'token_id',
])

const saysSomething = (delta: JsonObject | undefined): boolean => Boolean(delta?.content) || Boolean(delta?.refusal)
