import { errorKinds } from '../../base/error-kinds.ts'
import type { ErrorInfo } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, put, quoteText, stringifyExact } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Citation, Delta, Extra, Finish, MediaPart, ModelEvent, Nothing, Part, Sealed, Usage } from '../ir.ts'
import { append, assignOwn } from '../shared/json-fields.ts'
import { ownExtra, reportNativeEvent } from '../shared/report.ts'
import { reportReasoningChecks } from '../shared/response-losses.ts'
import { GrowingText, joinText } from '../shared/stream-parts.ts'
import type { StreamEncoder } from '../stream-codec.ts'
import { errorEvent, truncated } from './error.ts'
import { reportCache } from './fields.ts'
import { encodeSources } from './grounding.ts'
import { encodeLogprobs } from './logprobs.ts'
import { type EncodeScope, encodePart, encodeResult } from './parts-encode.ts'
import { clientScope, encodeCandidateFinish, reportLostSignature, withTier } from './response-encode.ts'
import { type Frame, heartbeatEvent } from './tap.ts'
import { encodeUsage } from './usage.ts'

/**
 * Encodes a stream. Only the last chunk has the finish reasons and the usage, and only `response-end` writes it: a broken
 * stream ends with an error.
 */
export function encodeStream(context: ExchangeContext): StreamEncoder {
  const candidates = new Map<number, CandidateEncoder>()
  /** The finished candidates, for the last chunk. */
  const endings: JsonObject[] = []
  let feedback: JsonObject | undefined
  let frame: Frame | undefined
  /** The JSON text of a chunk after its candidates. */
  let tail = ''
  /** Native fields for the next chunk. */
  let pendingFields: JsonObject | undefined
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

  function drainPendingFields(): string {
    if (pendingFields === undefined) return ''
    const text = `,${stringifyExact(pendingFields).slice(1, -1)}`
    pendingFields = undefined
    return text
  }

  /** Sends one part of one candidate as a chunk. `index` and `part` are JSON texts. */
  function send(index: string, part: string, logprobs: JsonObject | undefined): void {
    if (frame === undefined) start('', '')
    const result = logprobs === undefined ? '' : `,"logprobsResult":${stringifyExact(logprobs)}`
    out.push({
      data: `{"candidates":[{"content":{"parts":[${part}],"role":"model"},"index":${index}${result}}${tail}${pendingFields === undefined ? '' : drainPendingFields()}}`,
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
        if (own !== undefined && Object.keys(own).length > 0) pendingFields = { ...own }
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
            pendingFields ??= {}
            assignOwn(pendingFields, event.value)
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
    const chunk: JsonObject = { ...pendingFields }
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

/** The end of a candidate: a candidate of the last chunk, a blocked prompt, or an error. */
type CandidateEnding = { candidate: JsonObject } | { feedback: JsonObject } | { error: string }

/** Writes one candidate of a stream, part by part. */
interface CandidateEncoder {
  start(part: number, value: Part): void
  delta(part: number, delta: Delta): void
  end(part: number): void
  finish(finish: Finish, logprobs: Json | undefined, extra: Extra | undefined): CandidateEnding
}

/** A part that is being written. Calls, media and blocks are sent whole at their end; texts and thoughts as they arrive. */
interface OpenPart {
  value: Part
  /** The text, input or data so far. */
  readonly text: GrowingText
  seal: Sealed | undefined
  citations: Citation[]
  /** Nothing of the text or thought has been sent. Its other fields go with the first piece. */
  isUnsent: boolean
}

/** Creates the encoder of one candidate. */
function createCandidateEncoder(
  index: number,
  context: ExchangeContext,
  /** Sends a part, given as JSON text. */
  send: (part: string, logprobs: JsonObject | undefined) => void,
): CandidateEncoder {
  const scope: EncodeScope = clientScope(context)
  const open = new Map<number, OpenPart>()
  const cited: { part: number; text: string; citations: Citation[]; at: string }[] = []
  let anything = false
  const withoutEmptyText = context.client?.spoiledByEmptyText === true

  /** Writes a piece of a text or thought. The first piece carries the part's other fields. */
  function write(part: OpenPart, text: string, logprobs: Json | undefined): void {
    const { value } = part
    part.text.add(text)
    if (text === '' && (logprobs === undefined || withoutEmptyText)) return
    const result = logprobs === undefined ? undefined : encodeLogprobs(logprobs, index, context.report)
    if (value.type === 'text' || value.type === 'refusal') {
      const bare = part.isUnsent ? encodePart({ ...value, text }, scope) : undefined
      send(bare === undefined ? `{"text":${quoteText(text)}}` : stringifyExact(bare), result)
      part.isUnsent = false
    } else if (value.type === 'reasoning') {
      if (part.isUnsent) {
        const { seal: _, ...bare } = value
        send(stringifyExact(encodePart({ ...bare, text }, scope) ?? { text }), result)
      } else send(`{"text":${quoteText(text)},"thought":true}`, result)
      part.isUnsent = false
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
    if (withoutEmptyText && encoded.text === '') reportLostSignature(encoded, context)
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
        // The signature ends the thought, in a separate part as Google's models send it.
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
      if (value.cache !== undefined) reportCache(value, context)
      const part: OpenPart = { value, text: new GrowingText(), seal: undefined, citations: [], isUnsent: true }
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
      const ending = encodeCandidateFinish(finish, anything, at, context)
      if (ending === undefined) return { error: finish.explanation ?? 'The upstream ended its response with an error.' }
      const { content, ...own } = ownExtra(extra, 'gemini', at, context.report) ?? {}
      // Clients read the first part of every chunk without checking that it exists.
      const last = { ...(isObject(content) ? content : undefined), parts: [{ text: '' }], role: 'model' }
      const candidate: JsonObject = {
        ...(withoutEmptyText ? undefined : { content: last }),
        ...ending,
        index,
        ...own,
      }
      const several = cited.length > 1
      encodeSources(several ? joinCitedTexts(cited) : cited, candidate, context)
      put(candidate, 'logprobsResult', encodeLogprobs(logprobs, index, context.report))
      return { candidate }
    },
  }
}

/** Joins the cited texts. Clients fold a stream to one text, so offsets in later texts grow by the length of earlier ones. */
function joinCitedTexts(
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
