import type { ErrorInfo } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, stringifyExact } from '../../base/json/json.ts'
import { checkJsonEnds, invalidEventError, type SseEvent } from '../../http/sse/sse.ts'
import type { ClientQuirks, ResponseTap, StreamTap, TapOptions, TargetTraits, WireEdit } from '../codec.ts'
import type { Usage } from '../ir.ts'
import { toText } from '../shared/json-fields.ts'
import { decodeError, errorEvent } from './error.ts'
import { copyInCamelCase } from './spelling.ts'
import { usageOf } from './usage-decode.ts'
/** Returns no edit: every stream has usage, and the model stands in the URL. */
export const wireEdit = (_body: JsonObject, _target: TargetTraits): WireEdit | undefined => undefined

/** Reads usage, billable units and the finish reason of a whole response. */
export function tapResponse(body: JsonObject): ResponseTap {
  const out: ResponseTap = {}
  const fields = copyInCamelCase(body)
  const usage = usageOf(fields)
  if (usage !== undefined) out.usage = usage
  const finish = finishOf(fields)
  if (finish !== undefined) out.finish = finish
  return out
}

/** Returns the finish reason of the first candidate, or the reason of a blocked prompt. */
function finishOf(fields: JsonObject): string | undefined {
  const [first] = Array.isArray(fields.candidates) ? fields.candidates : []
  if (isObject(first)) return finishReasonName(copyInCamelCase(first).finishReason)
  const block = isObject(fields.promptFeedback) ? copyInCamelCase(fields.promptFeedback).blockReason : undefined
  return block === undefined || block === null ? undefined : toText(block)
}

/**
 * Inspects chunks as text, and parses few of them. Usage is cumulative, so only the last chunk with usage is parsed, when the
 * usage is read. There is no terminal event: the stream has ended when its input is over (`end`) after a finish reason.
 */
class GeminiTap implements StreamTap {
  readonly varyingMembers: ReadonlySet<string> = varying
  canSkipSimilar = false
  started = false
  ended = false
  error: ErrorInfo | undefined
  finish: string | undefined
  readonly #client: ClientQuirks | undefined
  #frame: Frame | undefined
  #isErrorRecognized = false
  readonly #open = new Set<number>()
  readonly #finished = new Set<number>()
  #usage: Usage | undefined
  /** The data of the last event with usage that was not parsed. */
  #last: string | undefined
  /** Returns the data of the last event if it was not pushed. */
  #unseen: (() => string) | undefined
  /** True if plain chunks hold token counts. Only chunks that agree in this are plain. */
  #plainCounts: boolean | undefined

  constructor(client: ClientQuirks | undefined) {
    this.#client = client
  }

  push(event: SseEvent): boolean {
    this.canSkipSimilar = false
    this.#readUnseen()
    if (event.event === ':') return true
    // Clients parse the data of every event, so an event without data is withheld.
    if (event.data === '') return false
    checkJsonEnds(event.data)
    this.#inspect(event)
    // An error that clients would not recognize is withheld, and sent again in Google's form.
    return this.error === undefined || this.#isErrorRecognized
  }

  onSkipped(read: () => string): void {
    this.#unseen = read
  }

  end(): void {
    this.ended = this.error === undefined && this.finish !== undefined && this.#open.size === 0
  }

  get usage(): Usage | undefined {
    this.#readUnseen()
    if (this.#last !== undefined) {
      const fields = copyInCamelCase(parse(this.#last) ?? {})
      this.#usage = usageOf(fields) ?? this.#usage
      this.#last = undefined
    }
    return this.#usage
  }

  heartbeat(): SseEvent[] {
    return [heartbeatEvent(this.#frame, this.#client)]
  }

  fail(info: ErrorInfo): SseEvent[] {
    return [errorEvent(info)]
  }

  #readUnseen(): void {
    if (this.#unseen !== undefined && this.#plainCounts) this.#last = this.#unseen()
    this.#unseen = undefined
  }

  #inspect({ event, data }: SseEvent): void {
    const begun = this.started
    if (data.includes('"error"') || event === 'error') {
      const chunk = parse(data)
      if (chunk === undefined) throw invalidEventError()
      if (chunk.error || event === 'error') {
        this.error = decodeError(200, chunk)
        this.#isErrorRecognized = event === undefined && isRecognizedError(chunk.error)
        return
      }
    }
    if (!begun && (data.includes('"candidates"') || data.includes('lockReason"') || data.includes('lock_reason"'))) {
      const chunk = copyInCamelCase(parse(data) ?? {})
      this.started = hasContent(chunk)
      if (this.started) this.#frame = { id: textOf(chunk.responseId), model: textOf(chunk.modelVersion) }
    }
    const isCounted = data.includes('TokenCount"') || data.includes('_token_count"')
    if (hasFinishMember(data) || secondCandidate.test(data)) this.#readCandidates(copyInCamelCase(parse(data) ?? {}))
    else if (begun) {
      this.#plainCounts ??= isCounted
      this.canSkipSimilar = isCounted === this.#plainCounts
    }
    if (isCounted) this.#last = data
  }

  /** Notes which candidates exist, and which have a finish reason. */
  #readCandidates(chunk: JsonObject): void {
    this.finish = finishOf(chunk) ?? this.finish
    for (const [position, candidate] of (Array.isArray(chunk.candidates) ? chunk.candidates : []).entries()) {
      if (!isObject(candidate)) continue
      const index = typeof candidate.index === 'number' ? candidate.index : position
      if (finishReasonName(copyInCamelCase(candidate).finishReason) !== undefined) this.#finished.add(index)
      else if (!this.#finished.has(index)) this.#open.add(index)
    }
    for (const index of this.#finished) this.#open.delete(index)
  }
}

export const tapStream = ({ client }: TapOptions): StreamTap => new GeminiTap(client)

const varying: ReadonlySet<string> = new Set([
  'text',
  'thoughtSignature',
  'tokenCount',
  'promptTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
  'totalTokenCount',
])

/** Returns whether a chunk has content. Servers send empty texts as padding. */
function hasContent(chunk: JsonObject): boolean {
  if (finishOf(chunk) !== undefined) return true
  const [first] = Array.isArray(chunk.candidates) ? chunk.candidates : []
  const content = isObject(first) ? first.content : undefined
  const parts = isObject(content) && Array.isArray(content.parts) ? content.parts : []
  return parts.some((part) => isObject(part) && (part.text !== '' || Object.keys(part).length > 1))
}

/** Returns whether clients recognize an error: it needs a status code. Events with a name are ignored. */
const isRecognizedError = (error: unknown): boolean =>
  isObject(error) && typeof error.code === 'number' && error.code >= 400

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Matches a second candidate. They are rare, and arguments of a call that match cost only one parse. */
const secondCandidate = /"index"\s*:\s*[1-9]/

/** Quotes within JSON strings are escaped, so a match is a real key or a short string value. */
const hasFinishMember = (data: string): boolean =>
  data.includes('"finishReason"') ||
  data.includes('"blockReason"') ||
  data.includes('"finish_reason"') ||
  data.includes('"block_reason"')

function parse(data: string): JsonObject | undefined {
  try {
    const chunk: unknown = JSON.parse(data)
    const [only] = Array.isArray(chunk) ? (chunk as unknown[]) : [chunk]
    return isObject(only) ? only : undefined
  } catch {
    return undefined
  }
}

const spoiledByEmptyText: ClientQuirks = { spoiledByEmptyText: true }

/**
 * Recognizes `@google/generative-ai` (`genai-js/0.24.1`), which drops a turn from a chat's history if any part has an empty text. Its
 * successor `@google/genai` drops it if any chunk has no part. No last chunk suits both: the text has been sent by then, and a part
 * with other content would be shown or called.
 */
export const clientQuirks = (header: (name: string) => string | undefined): ClientQuirks | undefined =>
  header('x-goog-api-client')?.includes('genai-js/') === true ? spoiledByEmptyText : undefined

/** Finish reasons by number, as some servers write them. */
const reasonsByNumber: readonly string[] = [
  'FINISH_REASON_UNSPECIFIED',
  'STOP',
  'MAX_TOKENS',
  'SAFETY',
  'RECITATION',
  'OTHER',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'MALFORMED_FUNCTION_CALL',
]

/** Returns a finish reason as text, or undefined if the response continues. */
export function finishReasonName(value: Json | undefined): string | undefined {
  if (typeof value === 'number') return reasonsByNumber[value] ?? String(value)
  return typeof value === 'string' && value !== '' && value !== 'FINISH_REASON_UNSPECIFIED' ? value : undefined
}

/** The fields that all chunks of a stream share. */
export interface Frame {
  id: string
  model: string
}

/**
 * Returns a chunk with an empty text, which keeps a stream alive. Gemini CLI fails on comments. Google's SDK drops the whole
 * response from a chat's history if a chunk has no part; its older SDK drops it for an empty text.
 */
export const heartbeatEvent = (frame: Frame | undefined, client?: ClientQuirks): SseEvent => {
  const chunk: JsonObject =
    client?.spoiledByEmptyText === true
      ? {}
      : { candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, index: 0 }] }
  if (frame !== undefined) Object.assign(chunk, { modelVersion: frame.model, responseId: frame.id })
  return { data: stringifyExact(chunk) }
}
