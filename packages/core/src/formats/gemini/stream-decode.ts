import { errorKinds } from '../../base/error-kinds.ts'
import type { ErrorInfo } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, put, stringifyExact } from '../../base/json/json.ts'
import { parseExact } from '../../base/json/parse.ts'
import type { ExchangeContext, TargetTraits } from '../codec.ts'
import type { ModelEvent } from '../ir.ts'
import { fieldsExcept, setOwn } from '../shared/json-fields.ts'
import { checkChoiceCount } from '../shared/stream-parts.ts'
import { type RunningUsage, TextDeltaTemplate } from '../shared/text-delta-template.ts'
import type { StreamDecoder } from '../stream-codec.ts'
import { decodeError, isResponse, truncated } from './error.ts'
import { candidatesIn, decodeBlockedPrompt } from './response-decode.ts'
import { inCamelCase } from './spelling.ts'
import { type CandidateDecoder, createCandidateDecoder } from './stream-decode-candidate.ts'
import { serviceTierIn, usageNames } from './usage.ts'
import { decodeUsage, searchesIn, withBilled } from './usage-decode.ts'

export type DecodeContext = ExchangeContext & { readonly target: TargetTraits }

/** Fields of a chunk that this function decodes. */
const readFields: ReadonlySet<string> = new Set(['candidates', 'usageMetadata', 'modelVersion', 'responseId', 'error'])

/**
 * Decodes a stream. Each chunk is a whole response. The format has no terminal event: the stream ends with its input, and is
 * complete if every candidate has a finish reason, or if the prompt was blocked.
 */
export function decodeStream(context: DecodeContext): StreamDecoder {
  const candidates = new Map<number, CandidateDecoder>()
  const top: JsonObject = {}
  let out: ModelEvent[] = []
  let started = false
  let blocked = false
  let over = false
  /** Unknown fields of the usage in all chunks, since the last chunk may omit them. */
  let otherUsage: JsonObject | undefined
  /** Searches in the newest metadata. */
  let searches = 0
  const template = new TextDeltaTemplate(noVaryingMembers, runningUsage)
  /** The last candidate, if it was the only one of its chunk and held nothing but one text. */
  let plain: CandidateDecoder | undefined

  const fail = (error: ErrorInfo): void => {
    over = true
    out.push({ type: 'error', error })
  }
  const failWith = (kind: ErrorInfo['kind'], message: string): void =>
    fail({ kind, status: errorKinds[kind].status, message })

  function start(chunk: JsonObject): void {
    started = true
    const event: ModelEvent = {
      type: 'response-start',
      id: textOf(chunk.responseId),
      model: textOf(chunk.modelVersion),
      created: 0,
    }
    put(event, 'serviceTier', serviceTierIn(chunk.usageMetadata))
    put(event, 'extra', Object.keys(top).length === 0 ? undefined : { gemini: { ...top } })
    out.push(event)
  }

  /** Writes new or changed fields in addition to the candidates (`promptFeedback`, `createTime`). */
  function noteOtherFields(chunk: JsonObject): void {
    const rest = fieldsExcept(chunk, readFields)
    if (rest === undefined) return
    const fresh: JsonObject = {}
    for (const key of Object.keys(rest)) {
      const value = rest[key] as Json
      if (Object.hasOwn(top, key) && stringifyExact(value) === stringifyExact(top[key])) continue
      setOwn(fresh, key, value)
      setOwn(top, key, value)
    }
    if (started && Object.keys(fresh).length > 0) out.push({ type: 'native', format: 'gemini', value: fresh })
  }

  function readChunk(source: JsonObject): void {
    const chunk = inCamelCase(source)
    const list = Array.isArray(chunk.candidates) ? candidatesIn(chunk.candidates, context.report) : []
    const block = list.length === 0 && candidates.size === 0 && !blocked ? decodeBlockedPrompt(chunk) : undefined
    noteOtherFields(chunk)
    searches = searchesIn(chunk) || searches
    const first = !started && (list.length > 0 || block !== undefined)
    if (first) {
      start(chunk)
      // Clients of messages get the input tokens before the first block.
      writeUsage(chunk.usageMetadata)
    }
    for (let position = 0; position < list.length; position++) {
      const candidate = list[position] as JsonObject
      const index = typeof candidate.index === 'number' ? candidate.index : position
      let decoder = candidates.get(index)
      if (decoder === undefined) {
        checkChoiceCount(candidates.size + 1)
        decoder = createCandidateDecoder(index, context)
        candidates.set(index, decoder)
      }
      decoder.push(candidate, out)
      if (list.length === 1 && decoder.isPlainText()) plain = decoder
    }
    if (block !== undefined) {
      blocked = true
      out.push({ type: 'choice-end', choice: 0, finish: block.finish })
    }
    const { usageMetadata: metadata } = chunk
    const unknownUsage = isObject(metadata) ? fieldsExcept(metadata, usageNames) : undefined
    if (unknownUsage !== undefined) otherUsage = { ...otherUsage, ...unknownUsage }
    if (!first) writeUsage(metadata)
  }

  function writeUsage(metadata: Json | undefined): void {
    const all = otherUsage !== undefined && isObject(metadata) ? { ...otherUsage, ...metadata } : metadata
    const usage = withBilled(decodeUsage(all), all, searches)
    if (usage !== undefined) out.push({ type: 'usage', usage })
  }

  const drain = (): ModelEvent[] => {
    const events = out
    out = []
    return events
  }

  function repeat(text: string): ModelEvent[] {
    plain?.addText(text)
    out.push(template.delta(text))
    writeUsage(template.usage)
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
      // An event without data changes nothing.
      if (data === '') return []
      plain = undefined
      let parsed: unknown
      try {
        parsed = parseExact(data)
      } catch {
        failWith('upstream_bad_response', 'The upstream sent a stream event that is not JSON.')
        return drain()
      }
      const chunk: unknown = Array.isArray(parsed) ? parsed[0] : parsed
      if (isObject(chunk) && (chunk.error || event.event === 'error')) fail(decodeError(200, chunk))
      else if (isObject(chunk) && (started || isResponse(chunk))) readChunk(chunk)
      else failWith('upstream_bad_response', 'The upstream sent a stream event that is not a chunk of a response.')
      template.learn(event, plain === undefined ? undefined : 'text', out)
      return drain()
    },
    end() {
      if (over) return []
      const whole =
        blocked || (candidates.size > 0 && [...candidates.values()].every((candidate) => candidate.isFinished()))
      if (whole) {
        for (const [, candidate] of [...candidates].sort(([a], [b]) => a - b)) candidate.end(out)
        out.push({ type: 'response-end' })
      } else fail(truncated)
      over = true
      return drain()
    },
  }
}

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

/** Members in addition to the text in which most chunks differ: none, and the running counts below. */
const noVaryingMembers: ReadonlySet<string> = new Set()
const runningUsage: RunningUsage = {
  key: 'usageMetadata',
  counts: new Set(['candidatesTokenCount', 'thoughtsTokenCount', 'totalTokenCount']),
}
