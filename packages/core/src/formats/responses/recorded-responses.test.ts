import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import type { ModelEvent, ModelResponse, Part } from '../ir.ts'
import { foldEvents } from '../shared/fold.test-support.ts'
import { responsesCodec } from './codec.ts'
import { checkGrammar } from './grammar.test-support.ts'
import { contextFor, eventsOf, isStream, parsed, present, readExchanges, run } from './recorded.test-support.ts'

const exchanges = readExchanges()
const envelopeKeys =
  'id object created_at completed_at status incomplete_details model previous_response_id instructions output error tools tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty top_logprobs temperature reasoning usage max_output_tokens max_tool_calls store background service_tier metadata safety_identifier prompt_cache_key'.split(
    ' ',
  )

/** The content of a response. */
const outputOf = ({ choices }: ModelResponse) =>
  choices.map(({ parts }) => ({
    text: textOf(parts, 'text'),
    reasoning: textOf(parts, 'reasoning'),
    refusal: textOf(parts, 'refusal'),
    seals: parts.flatMap((part) => (part.type === 'reasoning' && part.seal ? [part.seal.data] : [])),
    citations: parts.flatMap((part) =>
      part.type === 'text' ? (part.citations ?? []).map(({ url, extra }) => url ?? extra) : [],
    ),
    calls: parts.flatMap((part) =>
      part.type === 'tool-call'
        ? [{ name: part.name, input: part.input || '{}', id: part.id, custom: part.custom }]
        : [],
    ),
    // Parts of a server may overlap; the encoder writes them one after another.
    natives: parts.flatMap((part) => (part.type === 'native' ? [JSON.stringify(part.value)] : [])).sort(),
    images: parts.flatMap((part) => (part.type === 'media' && part.source.type === 'base64' ? [part.source.data] : [])),
  }))
const textOf = (parts: readonly Part[], type: 'text' | 'reasoning' | 'refusal'): string =>
  parts.map((part) => (part.type === type ? part.text : '')).join('')

/** Removes places. Each event encrypts its seal again, so only the presence of seals is compared. */
function unsealed({ at: _, ...part }: Part): Partial<Part> {
  return part.type === 'reasoning' && part.seal ? { ...part, seal: { issuer: part.seal.issuer, data: '' } } : part
}

/** Items without nulls, empty lists, the status of reasoning, and fields that servers add and clients ignore. */
function bare(node: Json): Json {
  if (Array.isArray(node)) return node.map(bare)
  if (!isObject(node)) return node
  // Clients read all four fields; a few servers write the URL only.
  const out: JsonObject = node.type === 'url_citation' ? { title: 'any', start_index: 0, end_index: 0 } : {}
  for (const [key, value] of Object.entries(node)) {
    if (value === null || (Array.isArray(value) && value.length === 0)) continue
    if (key === 'item_id' || key === 'output_index' || (key === 'status' && node.type === 'reasoning')) continue
    if (!(key in out)) out[key] = bare(value)
  }
  return out
}

describe.skipIf(!present)('recorded responses', () => {
  const answers = exchanges.flatMap(({ path, response }) => {
    const body = response.status === 200 && !isStream(response.body) ? parsed(response.body) : undefined
    return body !== undefined && Array.isArray(body.output) ? [{ path, body }] : []
  })

  test('keep every item and setting for a client of the format', () => {
    expect(answers.length).toBeGreaterThan(380)
    for (const { path, body } of answers) {
      const context = contextFor()
      const wire = responsesCodec.encodeResponse(responsesCodec.decodeResponse(structuredClone(body), context), context)
      expect(
        context.report.losses.filter(({ path: place }) => place !== '/usage'),
        path,
      ).toEqual([])
      const output = (body.output as JsonObject[]).map((item) => ({ id: 'fc_1', ...item })) // one server omits ids
      expect(bare(wire.output as Json), path).toEqual(bare(output))
      expect(Object.keys(wire), path).toEqual(expect.arrayContaining(envelopeKeys))
      for (const [key, value] of Object.entries(body)) {
        if (['output', 'usage', 'created_at', 'status', 'completed_at', 'error'].includes(key)) continue
        expect(wire[key], `${path} ${key}`).toEqual(value)
      }
      if (isObject(body.usage)) expect(wire.usage, path).toMatchObject({ total_tokens: body.usage.total_tokens })
      expect(['completed', 'incomplete', 'queued', 'in_progress'], path).toContain(wire.status)
    }
  })

  test('keep their content for a client of another format', () => {
    for (const { path, body } of answers) {
      const first = responsesCodec.decodeResponse(structuredClone(body), contextFor({}, false))
      const wire = responsesCodec.encodeResponse(first, contextFor({}, false))
      const second = responsesCodec.decodeResponse(structuredClone(wire), contextFor({}, false))
      expect(outputOf(second), path).toEqual(outputOf(first))
      expect(second.usage?.input, path).toEqual(first.usage?.input ?? expect.anything())
      expect(Object.keys(wire), path).toEqual(expect.arrayContaining(envelopeKeys))
    }
  })

  test('throw if they hold an error or nothing', () => {
    const others = exchanges.filter(({ response }) => response.status !== 200)
    expect(others.length).toBeGreaterThan(8)
    for (const { path, response } of others)
      expect(() => responsesCodec.decodeResponse(parsed(response.body) ?? response.body, contextFor()), path).toThrow()
  })
})

describe.skipIf(!present)('recorded responses streams', () => {
  const streams = exchanges.flatMap(({ path, response, features }) => {
    if (response.status !== 200 || !isStream(response.body) || features.includes('concatenated_streams')) return []
    const events = eventsOf(response.body)
    const wire = events.map(({ data }) => parsed(data)).filter(isObject)
    const final = wire.findLast(({ type }) => type === 'response.completed' || type === 'response.incomplete')
    const broken = wire.some(({ type }) => type === 'error' || type === 'response.failed')
    const output = isObject(final?.response) && Array.isArray(final.response.output) ? final.response.output : []
    /** Not every item ended, or ids changed within the stream. */
    const odd =
      wire.filter(({ type }) => type === 'response.output_item.done').length < output.length ||
      path.includes('id-rotation')
    return [{ path, events, wire, final: isObject(final?.response) ? final.response : undefined, broken, odd }]
  })
  // In one recording the events and the final response hold different texts.
  const whole = streams.filter(({ path, final }) => final !== undefined && !path.includes('openai-shell-container'))
  const decode = (events: readonly SseEvent[], own = true): ModelEvent[] =>
    run(responsesCodec.decodeStream(contextFor({}, own)), events)

  test('end with response-end, or with the one error they hold, or truncated', () => {
    expect(streams.length).toBeGreaterThan(85)
    for (const { path, events, final, broken } of streams) {
      const out = decode(events)
      expect(out.at(-1)?.type, path).toBe(final === undefined || broken ? 'error' : 'response-end')
      expect(
        out.filter(({ type }) => type === 'error' || type === 'response-end'),
        path,
      ).toHaveLength(1)
    }
  })

  test.each([true, false])('fold to the response of their last event (own client: %s)', (own) => {
    for (const { path, events, final, odd } of whole) {
      const folded = foldEvents(decode(events, own))
      const decoded = responsesCodec.decodeResponse(structuredClone(final) as Json, contextFor({}, own))
      const inOrder = (parts: readonly Part[] = []) => {
        const list = parts.map(unsealed)
        if (!odd) return list
        return list
          .map(({ extra: _, ...part }) => part)
          .sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))
      }
      expect(inOrder(folded.choices[0]?.parts), path).toEqual(inOrder(decoded.choices[0]?.parts))
      expect(folded.choices[0]?.finish, path).toEqual(decoded.choices[0]?.finish)
      expect(folded.usage, path).toEqual(decoded.usage)
    }
  })

  test.each([true, false])('are encoded as the grammar demands, with the same content (own client: %s)', (own) => {
    for (const { path, events } of whole) {
      const out = decode(events, own)
      const sent = run(responsesCodec.encodeStream(contextFor({ stream: true }, own)), out)
      checkGrammar(sent, path)
      const again = foldEvents(decode(sent, own))
      expect(outputOf(again), path).toEqual(outputOf(foldEvents(out)))
      expect(again.choices[0]?.finish.reason, path).toBe(foldEvents(out).choices[0]?.finish.reason)
      expect(again.usage?.output, path).toEqual(foldEvents(out).usage?.output ?? expect.anything())
    }
  })

  test('show every step of a server-side tool to a client of the format', () => {
    for (const { path, events, wire } of whole.filter(({ odd }) => !odd)) {
      const sent = run(responsesCodec.encodeStream(contextFor({ stream: true })), decode(events))
      const names = (list: readonly JsonObject[]) =>
        list
          .map(({ type }) => String(type))
          .filter((type) => /_call|mcp|image_generation/.test(type) && !/arguments|tool_call_input/.test(type))
      expect(names(sent.map(({ data }) => parsed(data)).filter(isObject)), path).toEqual(names(wire))
    }
  })

  test('end in exactly one error wherever they are cut', () => {
    fc.assert(
      fc.property(
        fc.nat(whole.length - 1),
        fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        (which, where) => {
          const { events = [], wire = [] } = whole[which] ?? {}
          const end = wire.findIndex(({ type }) => type === 'response.completed' || type === 'response.incomplete')
          const out = decode(events.slice(0, Math.floor(where * end)))
          expect(out.at(-1)).toMatchObject({ type: 'error', error: { kind: 'upstream_truncated' } })
          expect(out.filter(({ type }) => type === 'error' || type === 'response-end')).toHaveLength(1)
          const sent = run(responsesCodec.encodeStream(contextFor({ stream: true })), out)
          checkGrammar(sent, 'cut')
          expect(sent.slice(-2).map(({ event }) => event)).toEqual(['error', 'response.failed'])
        },
      ),
      { numRuns: 300 },
    )
  })

  test('give the tap the usage and the ending that they decode to', () => {
    for (const { path, events, final, broken } of streams) {
      const tap = responsesCodec.tapStream({ withholdUsage: false, target: contextFor().target })
      for (const event of events) expect(tap.push(event), path).toBe(true)
      const folded = foldEvents(decode(events))
      expect(tap.error !== undefined, path).toBe(broken)
      if (final === undefined || broken) continue
      expect(tap.started, path).toBe(true)
      expect(tap.ended, path).toBe(true)
      expect(tap.usage, path).toEqual(folded.usage)
      expect(tap.finish, path).toBe(folded.choices[0]?.finish.raw?.value)
    }
  })
})
