import { errorKinds } from '../../base/error-kinds.ts'
import type { ErrorInfo } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, pointer, put } from '../../base/json/json.ts'
import { parseExact } from '../../base/json/parse.ts'
import type { ExchangeContext, TargetTraits } from '../codec.ts'
import type { ModelEvent } from '../ir.ts'
import { drop, unread } from '../shared/json-fields.ts'
import { loss, objectsIn, reportField } from '../shared/report.ts'
import { TextDeltaTemplate } from '../shared/text-delta-template.ts'
import type { StreamDecoder } from '../stream-codec.ts'
import { decodeError } from './error.ts'
import { isResponsesClient } from './fields.ts'
import { type ContentFlags, decodeFinish, noContent, noteContent } from './finish.ts'
import { decodeChecks } from './reasoning.ts'
import { echoedSettings } from './response-decode.ts'
import { createItemDecoder, type ItemDecoder } from './stream-decode-item.ts'
import { reportEarlyItems, reportEvent } from './stream-decode-shapes.ts'
import { usageOf } from './usage-decode.ts'

export type DecodeContext = ExchangeContext & { readonly target: TargetTraits }

/** Events of the response as a whole: its start, its final event, its failure. */
const startEvents: ReadonlySet<string> = new Set(['response.created', 'response.queued', 'response.in_progress'])
const finalEvents: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete', 'response.done'])
const failureEvents: ReadonlySet<string> = new Set(['response.failed', 'response.cancelled', 'error', 'response.error'])
/** Events without content: heartbeats and rate limits. */
const ignoredEvents: ReadonlySet<string> = new Set([
  'keepalive',
  'ping',
  'response.rate_limits.updated',
  'codex.rate_limits',
])
/** All of the above. Every other event is about an item. */
const responseEvents: ReadonlySet<string> = new Set([
  ...startEvents,
  ...finalEvents,
  ...failureEvents,
  ...ignoredEvents,
])

/**
 * Decodes a stream. Items are identified by their index in the output, because some servers change ids within a stream and
 * others omit them. Only a terminal event of the response ends the stream; `[DONE]` is ignored.
 */
export function decodeStream(context: DecodeContext): StreamDecoder {
  const items = new Map<number, ItemDecoder>()
  const content: ContentFlags = noContent()
  const forResponsesClient = isResponsesClient(context.request)
  let out: ModelEvent[] = []
  let parts = 0
  let started = false
  let servedTier = ''
  /** The response of the first event. */
  let firstResponse: JsonObject = {}
  let over = false
  const template = new TextDeltaTemplate(varying)
  /** The item of the last event. */
  let current: ItemDecoder | undefined

  const fail = (error: ErrorInfo): void => {
    over = true
    out.push({ type: 'error', error })
  }
  const failWith = (kind: ErrorInfo['kind'], message: string): void =>
    fail({ kind, status: errorKinds[kind].status, message })

  const writer = {
    start(value: Extract<ModelEvent, { type: 'part-start' }>['value']): number {
      // An empty text counts when its first delta arrives.
      if (value.type !== 'text') noteContent(content, value)
      if (value.type === 'text' && value.text !== '') content.hasText = true
      content.hasContent = content.hasContent || value.type !== 'reasoning'
      out.push({ type: 'part-start', choice: 0, part: parts, value })
      return parts++
    },
    delta(part: number, delta: Extract<ModelEvent, { type: 'part-delta' }>['delta']): void {
      if (delta.type === 'text') content.hasText = true
      out.push({ type: 'part-delta', choice: 0, part, delta })
    },
    end: (part: number): void => void out.push({ type: 'part-end', choice: 0, part }),
    forward: (event: JsonObject): void =>
      void (forResponsesClient && out.push({ type: 'native', format: 'responses', value: event })),
    unknown(type: string, event: JsonObject, at: string): void {
      if (forResponsesClient) this.forward(event)
      else context.report.add(loss(at, `the event ${type} has no counterpart in the other format`, 'unknown', 'note'))
    },
  }

  function start(response: JsonObject): void {
    if (started) return
    started = true
    const event: ModelEvent = {
      type: 'response-start',
      id: textOf(response.id),
      model: textOf(response.model),
      created: typeof response.created_at === 'number' ? Math.floor(response.created_at) : 0,
    }
    // `auto` echoes the request: the final event has the tier that served.
    const tier = textOf(response.service_tier)
    if (tier !== '' && (forResponsesClient || tier !== 'auto')) {
      event.serviceTier = tier
      servedTier = tier
    }
    const fields = unread(response)
    drop(fields, 'service_tier')
    put(event, 'reasoningChecks', decodeChecks(fields, context))
    const own = echoedSettings(fields, context)
    put(event, 'extra', own === undefined ? undefined : { responses: own })
    out.push(event)
  }

  /** Reports fields of a repeated start event that the first one lacked: `response-start` has already been sent. */
  function reportLaterFields(response: JsonObject): void {
    const own = echoedSettings(unread(response), context)
    for (const key of Object.keys(own ?? {}))
      if (firstResponse[key] === undefined || firstResponse[key] === null) reportField(key, '', context.report)
  }

  function finish(response: JsonObject): void {
    start(response)
    finishItems(Array.isArray(response.output) ? objectsIn(response.output, '/output', context.report) : [])
    const usage = usageOf(response)
    const fields = unread(response)
    if (usage !== undefined) {
      const tier = textOf(response.service_tier)
      out.push({ type: 'usage', usage, ...(tier === '' || tier === servedTier ? {} : { serviceTier: tier }) })
      drop(fields, 'service_tier')
    }
    const checks = decodeChecks(fields, context)
    const own = echoedSettings(fields, context)
    out.push({
      type: 'choice-end',
      choice: 0,
      finish: decodeFinish(response, content),
      ...(checks === undefined ? {} : { reasoningChecks: checks }),
      ...(own === undefined ? {} : { extra: { responses: own } }),
    })
    over = true
    out.push({ type: 'response-end' })
  }

  /** Finishes items with the final response. Some servers send or end items only there, omit some, or change their ids. */
  function finishItems(output: readonly JsonObject[]): void {
    const known = new Map<Json, ItemDecoder>()
    for (const item of items.values()) {
      const id = item.id()
      if (id !== undefined && !known.has(id)) known.set(id, item)
    }
    const { size } = items
    for (const [index, item] of output.entries()) {
      const same = item.id === undefined ? undefined : known.get(item.id)
      if (same !== undefined) same.done(item)
      else if (size < output.length) itemAt(items.has(index) ? items.size + index : index).done(item)
    }
    for (const item of inOrder(items)) item.close()
  }

  function itemAt(index: number): ItemDecoder {
    let item = items.get(index)
    if (item === undefined) {
      item = createItemDecoder(index, writer, context)
      items.set(index, item)
    }
    return item
  }

  function read(type: string, event: JsonObject): void {
    // Clients treat any event with an error as an error.
    if (event.error) fail(decodeError(200, event))
    else if (responseEvents.has(type)) readResponse(type, event)
    else readItem(type, event)
  }

  function readResponse(type: string, event: JsonObject): void {
    const response = isObject(event.response) ? event.response : undefined
    reportEvent(type, event, '', context.report)
    if (startEvents.has(type)) {
      reportEarlyItems(response?.output, context.report)
      if (started) reportLaterFields(response ?? {})
      else firstResponse = response ?? {}
      start(response ?? {})
      return
    }
    if (finalEvents.has(type)) {
      if (response?.error || response?.status === 'failed') fail(decodeError(200, event))
      else finish(response ?? {})
      return
    }
    if (failureEvents.has(type)) fail(type === 'response.cancelled' ? cancelled : decodeError(200, event))
  }

  function readItem(type: string, event: JsonObject): void {
    const index = typeof event.output_index === 'number' ? event.output_index : undefined
    if (index !== undefined) {
      if (!started) start({})
      current = itemAt(index)
      current.read(type, event)
      return
    }
    writer.unknown(type, event, pointer('', type))
  }

  const drain = (): ModelEvent[] => {
    const events = out
    out = []
    return events
  }

  function repeat(text: string): ModelEvent[] {
    current?.addText(text)
    return [template.delta(text)]
  }

  return {
    textForm: () => template.form,
    repeat,
    push(event) {
      if (over) return []
      const text = template.read(event)
      if (text !== undefined) return repeat(text)
      const data = event.data.trim()
      if (data === '' || data === '[DONE]') return []
      let value: unknown
      try {
        value = parseExact(data)
      } catch {
        failWith('upstream_bad_response', 'The upstream sent a stream event that is not JSON.')
        return drain()
      }
      if (!isObject(value))
        failWith('upstream_bad_response', 'The upstream sent a stream event that is not an event of a response.')
      else {
        const type = typeof value.type === 'string' ? value.type : (event.event ?? '')
        read(type, value)
        template.learn(event, type.endsWith('.delta') ? 'delta' : undefined, out)
      }
      return drain()
    },
    end() {
      if (over) return []
      failWith('upstream_truncated', 'The upstream closed the stream before the end of its response.')
      return drain()
    },
  }
}

const cancelled: ErrorInfo = {
  kind: 'upstream_error',
  status: errorKinds.upstream_error.status,
  message: 'The upstream cancelled its response.',
}

/** Members in addition to the text in which most events differ. */
const varying: ReadonlySet<string> = new Set(['sequence_number', 'obfuscation'])

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
const inOrder = (items: ReadonlyMap<number, ItemDecoder>): ItemDecoder[] =>
  [...items.entries()].sort(([a], [b]) => a - b).map(([, item]) => item)
