import { errorKinds } from '../../base/error-kinds.ts'
import type { ErrorInfo } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, put, stringifyExact } from '../../base/json/json.ts'
import { parseExact } from '../../base/json/parse.ts'
import type { ExchangeContext, TargetTraits } from '../codec.ts'
import type { ModelEvent, Usage } from '../ir.ts'
import { fieldsExcept, setOwn } from '../shared/json-fields.ts'
import { checkChoiceCount } from '../shared/stream-parts.ts'
import { type RunningUsage, TextDeltaTemplate } from '../shared/text-delta-template.ts'
import type { StreamDecoder } from '../stream-codec.ts'
import { decodeError } from './error.ts'
import { choicesIn, frameFields } from './response-decode.ts'
import { type ChoiceDecoder, createChoiceDecoder } from './stream-decode-choice.ts'
import { decodeUsage, usageOf } from './usage.ts'

export type DecodeContext = ExchangeContext & { readonly target: TargetTraits }

/** Fields of a chunk that are read here, or have no meaning. */
const readFields: ReadonlySet<string> = new Set([
  ...frameFields,
  'id',
  'model',
  'created',
  'choices',
  'usage',
  'service_tier',
  'error',
])

/**
 * Decodes chunks as IR events. `[DONE]` ends the stream. The end of input also ends it if every choice has a finish reason, and the body was
 * complete or the upstream omits `[DONE]`. Any other end is an error.
 */
export function decodeStream(context: DecodeContext): StreamDecoder {
  const choices = new Map<number, ChoiceDecoder>()
  const top: JsonObject = {}
  let out: ModelEvent[] = []
  let started = false
  let counted = false
  let over = false
  const template = new TextDeltaTemplate(ignoredMembers, running)
  let textKey: string | undefined

  const fail = (error: ErrorInfo): void => {
    over = true
    out.push({ type: 'error', error })
  }
  const failWith = (kind: ErrorInfo['kind'], message: string): void =>
    fail({ kind, status: errorKinds[kind].status, message })

  function finish(): void {
    if (choices.size === 0) {
      failWith('upstream_bad_response', 'The upstream closed the stream without a response.')
      return
    }
    // A stream with neither finish reason nor usage was cut. Some servers omit the finish reason.
    if (!counted && ![...choices.values()].some((choice) => choice.isFinished())) {
      failWith('upstream_truncated', 'The upstream closed the stream before the end of its response.')
      return
    }
    for (const choice of inOrder(choices)) choice.end(out)
    over = true
    out.push({ type: 'response-end' })
  }

  function start(chunk: JsonObject): void {
    started = true
    const event: ModelEvent = {
      type: 'response-start',
      id: textOf(chunk.id),
      model: textOf(chunk.model),
      created: typeof chunk.created === 'number' ? chunk.created : 0,
    }
    if (typeof chunk.service_tier === 'string' && chunk.service_tier !== '') event.serviceTier = chunk.service_tier
    put(event, 'extra', Object.keys(top).length === 0 ? undefined : { chat: { ...top } })
    out.push(event)
  }

  /** Emits new or changed values of providers' top-level fields (fingerprint, citations, filter results). */
  function noteTop(chunk: JsonObject): void {
    const beside = fieldsExcept(chunk, readFields)
    if (beside === undefined) return
    let fresh: JsonObject | undefined
    for (const [key, value] of Object.entries(beside)) {
      const known = Object.hasOwn(top, key) ? top[key] : undefined
      if (value === known || (typeof value === 'object' && stringifyExact(value) === stringifyExact(known))) continue
      fresh ??= {}
      setOwn(fresh, key, value)
      setOwn(top, key, value)
    }
    if (started && fresh !== undefined) out.push({ type: 'native', format: 'chat', value: fresh })
  }

  function readChunk(chunk: JsonObject): void {
    noteTop(chunk)
    const list = Array.isArray(chunk.choices) ? choicesIn(chunk.choices, context.report) : []
    const first = !started && list.length > 0
    if (first) {
      start(chunk)
      // Clients of messages get the input tokens before the first block.
      readUsage(chunk, list)
    }
    if (chunk.error) {
      if (!first) readUsage(chunk, list)
      fail(decodeError(200, chunk))
      return
    }
    for (const [position, choice] of list.entries()) {
      const index = typeof choice.index === 'number' ? choice.index : position
      let decoder = choices.get(index)
      if (decoder === undefined) {
        checkChoiceCount(choices.size + 1)
        decoder = createChoiceDecoder(index, context)
        choices.set(index, decoder)
      }
      const error = decoder.push(choice, out)
      if (list.length === 1) textKey = decoder.textKey()
      if (error !== undefined) {
        fail(error)
        return
      }
    }
    if (!first) readUsage(chunk, list)
  }

  function emitUsage(usage: Usage): void {
    counted = true
    out.push({ type: 'usage', usage })
  }

  /** Handles a chunk that matched the template. */
  function readMatched(text: string): void {
    choices.get(template.choice)?.more(template.type, text)
    out.push(template.delta(text))
    const usage = template.usage === undefined ? undefined : decodeUsage(template.usage)
    if (usage !== undefined) emitUsage(usage)
  }

  function readUsage(chunk: JsonObject, list: readonly Json[]): void {
    const usage = usageOf(chunk, list)
    if (usage !== undefined) emitUsage(usage)
  }

  const drain = (): ModelEvent[] => {
    const events = out
    out = []
    return events
  }

  function repeat(text: string): ModelEvent[] {
    readMatched(text)
    return drain()
  }

  return {
    textForm: () => template.form,
    repeat,
    push(event) {
      if (over) return []
      const text = template.read(event)
      if (text !== undefined) return repeat(text)
      const data = event.data.trim()
      if (data === '') return []
      if (data === '[DONE]') {
        finish()
        return drain()
      }
      let chunk: unknown
      try {
        chunk = parseExact(data)
      } catch {
        failWith('upstream_bad_response', 'The upstream sent a stream event that is not JSON.')
        return drain()
      }
      if (event.event === 'error') fail(decodeError(200, chunk as Json))
      else if (isObject(chunk)) {
        textKey = undefined
        readChunk(chunk)
        template.learn(event, textKey, out)
      } else failWith('upstream_bad_response', 'The upstream sent a stream event that is not a chunk of a response.')
      return drain()
    },
    end(complete) {
      if (over) return []
      const finished = choices.size > 0 && [...choices.values()].every((choice) => choice.isFinished())
      const wanted = context.request.sampling?.choices ?? 1
      const ended = context.target.quirks.doneOptional === true || (complete === true && choices.size >= wanted)
      if (ended && finished) finish()
      else failWith('upstream_truncated', 'The upstream closed the stream before the end of its response.')
      over = true
      return drain()
    },
  }
}

/** Members in which chunks differ in addition to their text. */
const ignoredMembers: ReadonlySet<string> = new Set(['obfuscation', 'p'])
const running: RunningUsage = { key: 'usage', counts: new Set(['completion_tokens', 'total_tokens']) }

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
const inOrder = (choices: ReadonlyMap<number, ChoiceDecoder>): ChoiceDecoder[] =>
  [...choices.entries()].sort(([a], [b]) => a - b).map(([, choice]) => choice)
