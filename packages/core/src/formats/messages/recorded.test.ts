import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import type { ModelEvent, ModelResponse } from '../ir.ts'
import { foldEvents } from '../shared/fold.test-support.ts'
import { messagesCodec } from './index.ts'
import {
  contextFor,
  eventsOf,
  normalised,
  present,
  readClientRequests,
  readExchanges,
  run,
  target,
} from './recorded.test-support.ts'

const exchanges = readExchanges()
const requests = exchanges.flatMap(({ path, request, status }) =>
  request === undefined ? [] : [{ path, body: request, refused: status === 400 }],
)

describe.skipIf(!present)('recorded messages requests', () => {
  test('pass validation unless the provider itself rejected them', () => {
    expect(requests.length).toBeGreaterThan(380)
    for (const { path, body, refused } of requests)
      if (!refused) expect(() => messagesCodec.validateRequest(body), path).not.toThrow()
  })

  test('are unchanged after decoding and encoding for the model they were sent to', () => {
    for (const { path, body, refused } of requests) {
      if (refused) continue
      const context = contextFor()
      const request = messagesCodec.decodeRequest(structuredClone(body), context)
      const back = messagesCodec.encodeRequest(request, { ...context, target: target(String(body.model)) })
      expect(back, path).toEqual(normalised(body))
      expect(
        context.report.losses.filter(({ severity }) => severity !== 'note'),
        path,
      ).toEqual([])
    }
  })

  test('decode to turns and parts that point to their place in the body', () => {
    for (const { path, body } of requests) {
      const { turns } = messagesCodec.decodeRequest(structuredClone(body), contextFor())
      for (const place of turns.flatMap((turn) => [turn.at, ...turn.parts.map((part) => part.at)]))
        expect(valueAt(body, place ?? '?'), `${path} ${place}`).toBeDefined()
    }
  })
})

describe.skipIf(!present)('requests of real clients', () => {
  const bodies = readClientRequests()

  test('pass validation, except for threads, which a stateless gateway cannot store', () => {
    expect(bodies.length).toBeGreaterThan(60)
    let threads = 0
    for (const { path, body } of bodies) {
      if (body.max_tokens === undefined) continue // a request for a count
      if (body.thread === undefined) expect(() => messagesCodec.validateRequest(body), path).not.toThrow()
      else {
        threads++
        expect(() => messagesCodec.validateRequest(body), path).toThrow(/thread/)
      }
    }
    expect(threads).toBeGreaterThan(0)
  })

  test('are unchanged after decoding and encoding', () => {
    for (const { path, body } of bodies) {
      if (body.max_tokens === undefined || body.thread !== undefined) continue
      const context = contextFor()
      const request = messagesCodec.decodeRequest(structuredClone(body), context)
      const quirks = {
        systemTurns: true,
        ...(isObject(body.thinking) && body.thinking.type === 'adaptive' ? { thinking: 'adaptive' as const } : {}),
      }
      const back = messagesCodec.encodeRequest(request, { ...context, target: target(String(body.model), quirks) })
      expect(back, path).toEqual(normalised(body))
    }
  })
})

function valueAt(body: Json, place: string): Json | undefined {
  let value: Json | undefined = body
  for (const step of place.split('/').slice(1))
    value = Array.isArray(value) ? value[Number(step)] : isObject(value) ? value[step] : undefined
  return value
}

describe.skipIf(!present)('recorded messages responses', () => {
  const answers = exchanges.flatMap(({ path, status, body }) =>
    status === 200 && body.startsWith('{') ? [{ path, body: JSON.parse(body) as JsonObject }] : [],
  )

  test('are unchanged after decoding and encoding', () => {
    expect(answers.length).toBeGreaterThan(340)
    for (const { path, body } of answers) {
      const context = contextFor({ sampling: { maxTokens: 100 } })
      const back = messagesCodec.encodeResponse(messagesCodec.decodeResponse(structuredClone(body), context), context)
      expect(withoutNothing(back), path).toEqual(withoutNothing(body))
      expect(context.report.losses, path).toEqual([])
    }
  })

  test('throw if they are errors', () => {
    const errors = exchanges.filter(({ status }) => status >= 400)
    expect(errors.length).toBeGreaterThan(5)
    for (const { path, body } of errors)
      expect(() => messagesCodec.decodeResponse(JSON.parse(body) as Json, contextFor()), path).toThrow()
  })
})

/** Returns a response without the nulls and empty lists that mean "none". */
function withoutNothing(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNothing)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, item]) => item !== null && !(key === 'citations' && Array.isArray(item) && item.length === 0))
      .map(([key, item]) => [key, withoutNothing(item)]),
  )
}

describe.skipIf(!present)('recorded messages streams', () => {
  const streams = exchanges.flatMap(({ path, status, body }) => {
    const events = status === 200 && !body.startsWith('{') ? eventsOf(body) : []
    const firstEnd = events.findIndex(({ event }) => event === 'message_stop')
    const begins = events.slice(0, firstEnd).filter(({ event }) => event === 'message_start').length
    // A few recordings hold several streams in a row: the first one is the response. One recording is spliced and holds no valid
    // response.
    return events.length === 0
      ? []
      : [{ path, events: firstEnd < 0 ? events : events.slice(0, firstEnd + 1), whole: firstEnd >= 0 && begins === 1 }]
  })
  const decode = (events: readonly SseEvent[]): ModelEvent[] =>
    run(messagesCodec.decodeStream({ ...contextFor({ stream: true }), target: target() }), events)

  test('end without an error, with one part for each block and the last reported usage', () => {
    expect(streams.length).toBeGreaterThan(80)
    expect(streams.filter(({ whole }) => whole).length).toBeGreaterThan(80)
    for (const { path, events, whole } of streams) {
      const out = decode(events)
      expect(out.at(-1)?.type, path).toBe(whole ? 'response-end' : 'error')
      if (!whole) continue
      const wire = events.map(({ data }) => JSON.parse(data) as JsonObject)
      const folded = foldEvents(out)
      const starts = wire.filter(({ type }) => type === 'content_block_start')
      expect(folded.choices[0]?.parts.length, path).toBe(starts.length)
      const last = wire.findLast(({ type }) => type === 'message_delta')
      const usage = isObject(last?.usage) ? last.usage : {}
      expect(folded.usage?.output.total, path).toBe(usage.output_tokens)
      const finish = isObject(last?.delta) ? last.delta.stop_reason : undefined
      expect(folded.choices[0]?.finish.raw?.value, path).toBe(finish)
    }
  })

  test('carry the same content after encoding, in a strict order of events', () => {
    for (const { path, events, whole } of streams) {
      if (!whole) continue
      const out = decode(events)
      const sent = run(messagesCodec.encodeStream(contextFor({ stream: true })), out)
      checkGrammar(sent, path)
      const again = decode(sent)
      expect(withoutRaw(foldEvents(again)), path).toEqual(withoutRaw(foldEvents(out)))
    }
  })

  test('add up to the message that an official client assembles', () => {
    for (const { path, events, whole } of streams) {
      if (!whole) continue
      const context = contextFor({ stream: true })
      const folded = foldEvents(decode(events))
      const wire = messagesCodec.encodeResponse(folded, context)
      const assembled = assemble(events)
      expect(withoutNothing(wire.content ?? []), path).toEqual(withoutNothing(assembled.content ?? []))
      expect(wire.stop_reason, path).toBe(assembled.stop_reason)
    }
  })

  test('end in exactly one error and no completion when cut anywhere', () => {
    const whole = streams.filter((stream) => stream.whole)
    fc.assert(
      fc.property(
        fc.nat(whole.length - 1),
        fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        (which, where) => {
          const events = whole[which]?.events ?? []
          const out = decode(events.slice(0, Math.floor(where * events.length)))
          expect(out.filter(({ type }) => type === 'error')).toHaveLength(1)
          expect(out.at(-1)).toMatchObject({ type: 'error', error: { kind: 'upstream_truncated' } })
          const sent = run(messagesCodec.encodeStream(contextFor({ stream: true })), out)
          expect(sent.filter(({ event }) => event === 'error')).toHaveLength(1)
          expect(sent.some(({ event }) => event === 'message_stop' || event === 'message_delta')).toBe(false)
        },
      ),
      { numRuns: 400 },
    )
  })

  test('give the tap the usage and finish reason that they decode to', () => {
    for (const { path, events, whole } of streams) {
      const tap = messagesCodec.tapStream({ withholdUsage: false, target: target() })
      for (const event of events) expect(tap.push(event), path).toBe(true)
      const folded = foldEvents(decode(events))
      expect(tap.ended, path).toBe(events.at(-1)?.event === 'message_stop')
      expect(tap.started, path).toBe(true)
      if (!whole) continue
      expect(tap.usage, path).toEqual(folded.usage)
      expect(tap.finish, path).toBe(folded.choices[0]?.finish.raw?.value)
    }
  })
})

/** Ignores the details of the cache in the raw usage, which may contradict each other in a stream. The counts are compared. */
function withoutRaw({ usage, ...rest }: ModelResponse) {
  return { ...rest, input: usage?.input, output: usage?.output }
}

/** Checks the order of events: one message, blocks numbered without gaps and without overlap, one end. */
function checkGrammar(sent: readonly SseEvent[], path: string): void {
  let open = -1
  let next = 0
  for (const [position, { event, data }] of sent.entries()) {
    const body = JSON.parse(data) as JsonObject
    expect(event, path).toBe(body.type)
    if (position === 0) expect(event, path).toBe('message_start')
    if (event === 'content_block_start') {
      expect([open, body.index], path).toEqual([-1, next])
      open = next++
    }
    if (event === 'content_block_delta' || event === 'content_block_stop') expect(body.index, path).toBe(open)
    if (event === 'content_block_stop') open = -1
  }
  expect(open, path).toBe(-1)
  expect(
    sent.slice(-2).map(({ event }) => event),
    path,
  ).toEqual(['message_delta', 'message_stop'])
  expect(sent.filter(({ event }) => event === 'message_start' || event === 'message_stop')).toHaveLength(2)
}

/** Assembles a stream as the official SDK does. */
function assemble(events: readonly SseEvent[]): JsonObject {
  const content: JsonObject[] = []
  const inputs: string[] = []
  let stop_reason: Json = null
  for (const { data } of events) {
    const event = JSON.parse(data) as JsonObject
    const index = Number(event.index)
    const block = content[index] ?? {}
    const delta = isObject(event.delta) ? event.delta : {}
    if (event.type === 'content_block_start' && isObject(event.content_block))
      content[index] = { ...event.content_block }
    else if (event.type === 'message_delta') stop_reason = delta.stop_reason ?? null
    else if (delta.type === 'text_delta') block.text = `${String(block.text)}${String(delta.text)}`
    else if (delta.type === 'thinking_delta') block.thinking = `${String(block.thinking)}${String(delta.thinking)}`
    else if (delta.type === 'signature_delta') block.signature = delta.signature ?? null
    else if (delta.type === 'compaction_delta') block.content = delta.content ?? null
    else if (delta.type === 'citations_delta')
      block.citations = [...(Array.isArray(block.citations) ? block.citations : []), delta.citation ?? null]
    else if (delta.type === 'input_json_delta') inputs[index] = (inputs[index] ?? '') + String(delta.partial_json)
  }
  for (const [index, input] of inputs.entries()) {
    const block = content[index]
    if (input && block) block.input = parsed(input) ?? { invalid_json: input }
  }
  return { content, stop_reason }
}

/** A call that ran into the token limit ends in incomplete JSON. */
function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
