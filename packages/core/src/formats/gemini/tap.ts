import type { ErrorInfo } from '../../base/errors.ts'
import { stringifyExact } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { SseEvent } from '../../http/sse/event.ts'
import type { ClientQuirks, ResponseTap, StreamTap, TapOptions, TargetTraits, WireEdit } from '../codec.ts'
import type { BillableUnits, Usage } from '../ir.ts'
import { toText } from '../shared/json-fields.ts'
import { checkJsonEnds, invalidEventError } from '../shared/json-text.ts'
import { decodeError, errorEvent } from './error.ts'
import { respell } from './spelling.ts'
import { decodeUsage } from './usage-decode.ts'
/** Usage comes with every stream, and the model stands in the URL: nothing in the body needs an edit. */
export const wireEdit = (_body: JsonObject, _target: TargetTraits): WireEdit | undefined => undefined

export function tapResponse(body: JsonObject): ResponseTap {
  const out: ResponseTap = {}
  const fields = respell(body)
  const usage = decodeUsage(fields.usageMetadata)
  if (usage !== undefined) out.usage = usage
  const units = searchesIn(fields)
  if (units !== undefined) out.units = units
  const finish = finishOf(fields)
  if (finish !== undefined) out.finish = finish
  return out
}

/** Searches that the provider made for the model: it tells their words. */
function searchesIn({ candidates }: JsonObject): BillableUnits | undefined {
  let searches = 0
  for (const candidate of Array.isArray(candidates) ? candidates : []) {
    const { groundingMetadata: grounding } = isObject(candidate) ? respell(candidate) : {}
    const { webSearchQueries: queries } = isObject(grounding) ? respell(grounding) : {}
    if (Array.isArray(queries)) searches += queries.length
  }
  return searches === 0 ? undefined : { searches }
}

/** The first candidate's word, or why the prompt was blocked. */
function finishOf(fields: JsonObject): string | undefined {
  const [first] = Array.isArray(fields.candidates) ? fields.candidates : []
  if (isObject(first)) return finishWord(respell(first).finishReason)
  const block = isObject(fields.promptFeedback) ? respell(fields.promptFeedback).blockReason : undefined
  return block === undefined || block === null ? undefined : toText(block)
}

/**
 * Chunks are looked at as text. Usage is cumulative, so only the last that holds any is parsed, and only when someone asks.
 * There is no terminal event: the stream has ended when its input is over (`end`) and a chunk said why.
 */
export function tapStream({ client }: TapOptions): StreamTap {
  let frame: Frame | undefined
  let started = false
  let ended = false
  let error: ErrorInfo | undefined
  let told = false
  let finish: string | undefined
  const open = new Set<number>()
  const finished = new Set<number>()
  let last: string | undefined
  /** Reads the last event, where it has not been pushed. */
  let unseen: (() => string) | undefined
  let plain = false
  /** Whether the plain ones hold counts: all do, or none does. */
  let plainCounts: boolean | undefined
  let usage: Usage | undefined
  let units: BillableUnits | undefined

  function recall(): void {
    if (unseen !== undefined && plainCounts) last = unseen()
    unseen = undefined
  }

  function counted(): Usage | undefined {
    recall()
    if (last !== undefined) {
      const fields = respell(parse(last) ?? {})
      usage = decodeUsage(fields.usageMetadata) ?? usage
      units = searchesIn(fields) ?? units
      last = undefined
    }
    return usage
  }

  /** Which candidates are there, and which have said why they finished. */
  function readCandidates(chunk: JsonObject): void {
    finish = finishOf(chunk) ?? finish
    for (const [position, candidate] of (Array.isArray(chunk.candidates) ? chunk.candidates : []).entries()) {
      if (!isObject(candidate)) continue
      const index = typeof candidate.index === 'number' ? candidate.index : position
      if (finishWord(respell(candidate).finishReason) !== undefined) finished.add(index)
      else if (!finished.has(index)) open.add(index)
    }
    for (const index of finished) open.delete(index)
  }

  function look(event: SseEvent): void {
    const { data } = event
    const begun = started
    if (data.includes('"error"') || event.event === 'error') {
      const chunk = parse(data)
      if (chunk === undefined) throw invalidEventError()
      if (chunk.error || event.event === 'error') {
        error = decodeError(200, chunk)
        told = event.event === undefined && isTold(chunk.error)
        return
      }
    }
    if (!started && (data.includes('"candidates"') || data.includes('lockReason"') || data.includes('lock_reason"'))) {
      const chunk = respell(parse(data) ?? {})
      started = isReal(chunk)
      if (started) frame = { id: textOf(chunk.responseId), model: textOf(chunk.modelVersion) }
    }
    const isCounted = data.includes('TokenCount"') || data.includes('_token_count"')
    if (mayFinish(data) || laterCandidate.test(data)) readCandidates(respell(parse(data) ?? {}))
    else if (begun) {
      plainCounts ??= isCounted
      plain = isCounted === plainCounts
    }
    if (isCounted) last = data
  }

  return {
    push(event) {
      plain = false
      recall()
      if (event.event === ':') return true
      // Clients parse the data of every event.
      if (event.data === '') return false
      checkJsonEnds(event.data)
      look(event)
      // An error that clients would read past is to be told again.
      return error === undefined || told
    },
    varying,
    get plain() {
      return plain
    },
    passed(read) {
      unseen = read
    },
    end() {
      ended = error === undefined && finish !== undefined && open.size === 0
    },
    get started() {
      return started
    },
    get ended() {
      return ended
    },
    get error() {
      return error
    },
    get usage() {
      return counted()
    },
    get units() {
      counted()
      return units
    },
    get finish() {
      return finish
    },
    heartbeat: () => [heartbeatEvent(frame, client)],
    fail: (info) => [errorEvent(info)],
  }
}

const varying: ReadonlySet<string> = new Set([
  'text',
  'thoughtSignature',
  'tokenCount',
  'promptTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
  'totalTokenCount',
])

/** Whether a chunk says something: an empty text is how servers fill up. */
function isReal(chunk: JsonObject): boolean {
  if (finishOf(chunk) !== undefined) return true
  const [first] = Array.isArray(chunk.candidates) ? chunk.candidates : []
  const content = isObject(first) ? first.content : undefined
  const parts = isObject(content) && Array.isArray(content.parts) ? content.parts : []
  return parts.some((part) => isObject(part) && (part.text !== '' || Object.keys(part).length > 1))
}

/** Clients take an event with a name for none, and an error without a status neither. */
const isTold = (error: unknown): boolean => isObject(error) && typeof error.code === 'number' && error.code >= 400

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** A candidate beside the first. Rare, and arguments of a call that look like one cost no more than a look. */
const laterCandidate = /"index"\s*:\s*[1-9]/

/** A quoted name within a JSON text has its quotes escaped, so these matches are real keys (or short string values). */
const mayFinish = (data: string): boolean =>
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
 * `@google/generative-ai`, which names itself `genai-js/0.24.1`, leaves a turn out of a chat's history if any part of it has an empty
 * text. Its successor `@google/genai` does so if any chunk has no part. No last chunk suits both: the text is out by then, and a part with
 * anything else in it would be shown or called.
 */
export const clientQuirks = (header: (name: string) => string | undefined): ClientQuirks | undefined =>
  header('x-goog-api-client')?.includes('genai-js/') === true ? spoiledByEmptyText : undefined

/** The words by their numbers, which some servers write instead. */
const numbered: readonly string[] = [
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

/** A finish word as a text, whatever the upstream wrote; undefined if it says that the answer goes on. */
export function finishWord(value: Json | undefined): string | undefined {
  if (typeof value === 'number') return numbered[value] ?? String(value)
  return typeof value === 'string' && value !== '' && value !== 'FINISH_REASON_UNSPECIFIED' ? value : undefined
}

/** What all chunks of a stream share. */
export interface Frame {
  id: string
  model: string
}

/**
 * Keeps a stream alive: a chunk whose text is empty. Comments are no way, Gemini CLI breaks on them; nor are chunks without
 * a part, Google's SDK drops the whole answer from a chat's history for one of those; its older SDK does for the empty text.
 */
export const heartbeatEvent = (frame: Frame | undefined, client?: ClientQuirks): SseEvent => {
  const chunk: JsonObject =
    client?.spoiledByEmptyText === true
      ? {}
      : { candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, index: 0 }] }
  if (frame !== undefined) Object.assign(chunk, { modelVersion: frame.model, responseId: frame.id })
  return { data: stringifyExact(chunk) }
}
