import { errorKinds } from '../../base/error-kinds.ts'
import type { ErrorInfo } from '../../base/errors.ts'
import { stringifyExact } from '../../base/json/exact-number.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { SseEvent } from '../../http/sse/event.ts'
import type { ExchangeContext, StreamEncoder } from '../codec.ts'
import type { ModelEvent, Usage } from '../ir.ts'
import { inOnePiece } from '../shared/in-one-piece.ts'
import { assignOwn } from '../shared/own-members.ts'
import { reportChecks } from '../shared/reasoning-checks.ts'
import { ownExtra, reportNativeEvent } from '../shared/report.ts'
import type { Nothing } from '../shared/strict.ts'
import { errorEvent, type Frame, heartbeatEvent, truncated } from './chunk.ts'
import { withTier } from './response-encode.ts'
import { type CandidateEncoder, createCandidateEncoder } from './stream-encode-candidate.ts'
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
    tail = inOnePiece('],"modelVersion":', JSON.stringify(named), ',"responseId":', JSON.stringify(own))
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
        reportChecks(reasoningChecks, 'generateContent', context.report)
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
        reportChecks(reasoningChecks, 'generateContent', context.report)
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
