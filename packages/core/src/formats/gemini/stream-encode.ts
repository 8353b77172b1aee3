import { errorKinds } from '../../base/error-kinds.ts'
import type { ErrorInfo } from '../../base/errors.ts'
import { stringifyExact } from '../../base/json/exact-number.ts'
import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { SseEvent } from '../../http/sse/event.ts'
import type { ExchangeContext, StreamEncoder } from '../codec.ts'
import type { Citation, Delta, Extra, Finish, MediaPart, ModelEvent, Nothing, Part, Sealed, Usage } from '../ir.ts'
import { append, assignOwn } from '../shared/json-fields.ts'
import { quoteText } from '../shared/json-text.ts'
import { ownExtra, reportNativeEvent } from '../shared/report.ts'
import { reportReasoningChecks } from '../shared/response-losses.ts'
import { GrowingText, joinText } from '../shared/stream-parts.ts'
import { errorEvent, truncated } from './error.ts'
import { reportCache } from './fields.ts'
import { encodeSources } from './grounding.ts'
import { writeLogprobs } from './logprobs.ts'
import { type EncodeScope, encodePart, encodeResult } from './parts-encode.ts'
import { clientScope, encodeEnding, reportUnkept, withTier } from './response-encode.ts'
import { type Frame, heartbeatEvent } from './tap.ts'
import { encodeUsage } from './usage.ts'

/**
 * Events in, chunks out. The last chunk alone says how the answer finished and what it cost, and is written for
 * `response-end` only: a stream that breaks ends in an error.
 */
export function encodeStream(context: ExchangeContext): StreamEncoder {
  const candidates = new Map<number, CandidateEncoder>()
  /** How each candidate ended, for the last chunk. */
  const endings: JsonObject[] = []
  let feedback: JsonObject | undefined
  let frame: Frame | undefined
  /** The text of a chunk behind its candidates. */
  let tail = ''
  /** Fields of Google's own to go out with the next chunk. */
  let beside: JsonObject | undefined
  let usage: Usage | undefined
  let tier: string | undefined
  let over = false
  let out: SseEvent[] = []

  function start(id: string, model: string): Frame {
    frame = { id: id || context.newId(''), model: model || context.request.model }
    const { id: own, model: named } = frame
    tail = joinText('],"modelVersion":', JSON.stringify(named), ',"responseId":', JSON.stringify(own))
    return frame
  }

  function takeBeside(): string {
    if (beside === undefined) return ''
    const text = `,${stringifyExact(beside).slice(1, -1)}`
    beside = undefined
    return text
  }

  /** One part of one candidate as a chunk. Index and part come as JSON. */
  function send(index: string, part: string, logprobs: JsonObject | undefined): void {
    if (frame === undefined) start('', '')
    const result = logprobs === undefined ? '' : `,"logprobsResult":${stringifyExact(logprobs)}`
    out.push({
      data: `{"candidates":[{"content":{"parts":[${part}],"role":"model"},"index":${index}${result}}${tail}${beside === undefined ? '' : takeBeside()}}`,
    })
  }

  function candidateOf(index: number): CandidateEncoder {
    let candidate = candidates.get(index)
    if (candidate === undefined) {
      const place = JSON.stringify(index)
      candidate = createCandidateEncoder(index, context, (part, logprobs) => send(place, part, logprobs))
      candidates.set(index, candidate)
    }
    return candidate
  }

  function fail(error: ErrorInfo): void {
    over = true
    out.push(errorEvent(error))
  }

  function read(event: ModelEvent): void {
    switch (event.type) {
      case 'response-start': {
        const { type: _, id, model, created: _created, serviceTier, reasoningChecks, extra, ...rest } = event
        rest satisfies Nothing
        reportReasoningChecks(reasoningChecks, 'generateContent', context.report)
        const own = ownExtra(extra, 'gemini', '', context.report)
        if (own !== undefined && Object.keys(own).length > 0) beside = { ...own }
        tier = serviceTier
        start(id, model)
        return
      }
      case 'part-start':
        candidateOf(event.choice).start(event.part, event.value)
        return
      case 'part-delta':
        candidateOf(event.choice).delta(event.part, event.delta)
        return
      case 'part-end':
        candidateOf(event.choice).end(event.part)
        return
      case 'choice-end': {
        const { type: _, choice, finish, logprobs, reasoningChecks, extra, ...rest } = event
        rest satisfies Nothing
        reportReasoningChecks(reasoningChecks, 'generateContent', context.report)
        const ended = candidateOf(choice).finish(finish, logprobs, extra)
        if ('error' in ended)
          fail({ kind: 'upstream_error', status: errorKinds.upstream_error.status, message: ended.error })
        else if ('feedback' in ended) feedback = ended.feedback
        else endings.push(ended.candidate)
        return
      }
      case 'usage':
        usage = event.usage
        tier = event.serviceTier ?? tier
        return
      case 'native':
        if (event.format === 'gemini') {
          if (Object.keys(event.value).length > 0) {
            beside ??= {}
            assignOwn(beside, event.value)
          }
        } else reportNativeEvent(event.value, 'gemini', context.report)
        return
      case 'error':
        fail(event.error)
        return
      case 'response-end':
        finish()
        return
      default:
        event satisfies never
    }
  }

  const counted = (): JsonObject | undefined =>
    withTier(usage === undefined ? undefined : encodeUsage(usage), tier, context)

  function finish(): void {
    over = true
    const { id, model } = frame ?? start('', '')
    const chunk: JsonObject = { ...beside }
    if (feedback !== undefined && endings.length === 0) chunk.promptFeedback = feedback
    else chunk.candidates = endings
    const metadata = counted()
    if (metadata !== undefined) chunk.usageMetadata = metadata
    out.push({ data: stringifyExact({ ...chunk, modelVersion: model, responseId: id }) })
  }

  const drain = (): SseEvent[] => {
    const events = out
    out = []
    return events
  }

  return {
    push(event) {
      if (over) return []
      read(event)
      return drain()
    },
    end() {
      if (over) return []
      over = true
      return [errorEvent(truncated)]
    },
    heartbeat() {
      return over ? [] : [heartbeatEvent(frame, context.client)]
    },
  }
}

/** How a candidate ended: as a candidate of the last chunk, as a blocked prompt, or in a fault that only an error can tell. */
export type Ending = { candidate: JsonObject } | { feedback: JsonObject } | { error: string }

/** Writes one candidate of a stream, part by part. */
export interface CandidateEncoder {
  start(part: number, value: Part): void
  delta(part: number, delta: Delta): void
  end(part: number): void
  finish(finish: Finish, logprobs: Json | undefined, extra: Extra | undefined): Ending
}

/** A part on its way. Calls, media and blocks are told whole at their end; texts and thoughts as they come. */
interface OpenPart {
  value: Part
  /** All of its text, input or data so far. */
  readonly text: GrowingText
  seal: Sealed | undefined
  citations: Citation[]
  /** A text or thought of which nothing has been sent: what else stands on it goes with the first piece. */
  fresh: boolean
}

export function createCandidateEncoder(
  index: number,
  context: ExchangeContext,
  /** `part`: as JSON. */
  send: (part: string, logprobs: JsonObject | undefined) => void,
): CandidateEncoder {
  const scope: EncodeScope = clientScope(context)
  const open = new Map<number, OpenPart>()
  const cited: { part: number; text: string; citations: Citation[]; at: string }[] = []
  let anything = false
  const withoutEmptyText = context.client?.spoiledByEmptyText === true

  /** A piece of text or thought. The first carries what else stands on the part. */
  function write(part: OpenPart, text: string, logprobs: Json | undefined): void {
    const { value } = part
    part.text.add(text)
    if (text === '' && (logprobs === undefined || withoutEmptyText)) return
    const result = logprobs === undefined ? undefined : writeLogprobs(logprobs, index, context.report)
    if (value.type === 'text' || value.type === 'refusal') {
      const bare = part.fresh ? encodePart({ ...value, text }, scope) : undefined
      send(bare === undefined ? `{"text":${quoteText(text)}}` : stringifyExact(bare), result)
      part.fresh = false
    } else if (value.type === 'reasoning') {
      if (part.fresh) {
        const { seal: _, ...bare } = value
        send(stringifyExact(encodePart({ ...bare, text }, scope) ?? { text }), result)
      } else send(`{"text":${quoteText(text)},"thought":true}`, result)
      part.fresh = false
    }
  }

  function endMedia(part: OpenPart, media: MediaPart): void {
    const source =
      media.source.type === 'base64'
        ? { ...media.source, data: media.source.data + part.text.toString() }
        : media.source
    sendWhole({ ...media, source })
  }

  function sendWhole(value: Part): void {
    const encoded =
      value.type === 'tool-result'
        ? { functionResponse: encodeResult(value, scope).response }
        : encodePart(value, scope)
    if (encoded === undefined) return
    if (withoutEmptyText && encoded.text === '') reportUnkept(encoded, context)
    else send(stringifyExact(encoded), undefined)
  }

  function close(number: number, part: OpenPart): void {
    open.delete(number)
    const { value, seal } = part
    switch (value.type) {
      case 'text':
        if (part.citations.length > 0)
          cited.push({ part: 0, text: part.text.toString(), citations: part.citations, at: value.at ?? '' })
        return
      case 'refusal':
        return
      case 'reasoning': {
        // The signature closes the thought, on a part of its own as Google's models send it.
        const last = seal ?? value.seal
        if (last !== undefined) sendWhole({ ...value, text: '', seal: last })
        return
      }
      case 'tool-call': {
        const call = { ...value, input: part.text.toString() }
        sendWhole(seal === undefined ? call : { ...call, seal })
        return
      }
      case 'media':
        endMedia(part, value)
        return
      case 'native':
      case 'tool-result':
        sendWhole(value)
        return
      default:
        value satisfies never
    }
  }

  return {
    start(number, value) {
      anything = true
      if (value.cache !== undefined) reportCache(value.at, context)
      const part: OpenPart = { value, text: new GrowingText(), seal: undefined, citations: [], fresh: true }
      open.set(number, part)
      if (value.type === 'tool-call') part.text.add(value.input)
      else if ('text' in value) write(part, value.text, undefined)
      if (value.type === 'text') append(part.citations, value.citations ?? [])
    },
    delta(number, delta) {
      const part = open.get(number)
      if (part === undefined) return
      switch (delta.type) {
        case 'text':
        case 'reasoning':
        case 'refusal':
          write(part, delta.text, delta.logprobs)
          return
        case 'input':
          part.text.add(delta.text)
          return
        case 'seal':
          part.seal = delta.seal
          return
        case 'citation':
          part.citations.push(delta.citation)
          return
        case 'media':
          part.text.add(delta.data)
          ownExtra(delta.extra, 'gemini', part.value.at ?? '', context.report)
          return
        default:
          delta satisfies never
      }
    },
    end(number) {
      const part = open.get(number)
      if (part !== undefined) close(number, part)
    },
    finish(finish, logprobs, extra) {
      for (const [number, part] of [...open]) close(number, part)
      const at = `/choices/${index}`
      const feedback = finish.extra?.gemini?.promptFeedback
      if (isObject(feedback) && !anything) return { feedback }
      const ending = encodeEnding(finish, anything, at, context)
      if (ending === undefined) return { error: finish.explanation ?? 'The upstream ended its answer with an error.' }
      const { content, ...own } = ownExtra(extra, 'gemini', at, context.report) ?? {}
      // Clients read the first part of every chunk without asking whether there is one.
      const last = { ...(isObject(content) ? content : undefined), parts: [{ text: '' }], role: 'model' }
      const candidate: JsonObject = {
        ...(withoutEmptyText ? undefined : { content: last }),
        ...ending,
        index,
        ...own,
      }
      const several = cited.length > 1
      encodeSources(several ? joined(cited) : cited, candidate, context)
      put(candidate, 'logprobsResult', writeLogprobs(logprobs, index, context.report))
      return { candidate }
    },
  }
}

/** To who adds up a stream, all its text is one: places in later texts move on by what came before. */
function joined(
  cited: readonly { part: number; text: string; citations: Citation[]; at: string }[],
): { part: number; text: string; citations: Citation[]; at: string }[] {
  const text = cited.map((one) => one.text).join('')
  let offset = 0
  return cited.map(({ citations, at, text: own }) => {
    const from = offset
    offset += own.length
    return {
      part: 0,
      text,
      at,
      citations: citations.map((citation) => ({
        ...citation,
        ...(citation.start === undefined ? {} : { start: citation.start + from }),
        ...(citation.end === undefined ? {} : { end: citation.end + from }),
      })),
    }
  })
}
