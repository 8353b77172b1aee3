import { describe, expect, it, test } from 'vitest'
import { GatewayError } from '../../base/errors.ts'
import type { SseEvent } from '../../http/sse/event.ts'
import { chatCodec } from '../chat/codec.ts'
import type { Codec, StreamTap } from '../codec.ts'
import { codecs } from '../codecs.ts'
import { geminiCodec } from '../gemini/codec.ts'
import type { Loss } from '../ir.ts'
import { createReport } from '../loss-report.ts'
import { eventsOf, run } from './exchange.test-support.ts'
import { objectIn, parseInnerJson, parseInnerObject, quoteText } from './json-text.ts'
import { inputObject } from './tools.ts'

const nested = (levels: number): string => `${'{"a":'.repeat(levels)}{}${'}'.repeat(levels)}`

describe('JSON in a text of a document', () => {
  it('is read to depths that can be walked', () => {
    const text = nested(500)
    expect(JSON.stringify(parseInnerJson(text))).toBe(text)
    expect(JSON.stringify(parseInnerObject(text))).toBe(text)
    expect(JSON.stringify(objectIn(text))).toBe(text)
  })

  it.each([5000, 100_000])('of %i levels is a text', (levels) => {
    for (const read of [parseInnerJson, parseInnerObject, objectIn]) expect(read(nested(levels))).toBeUndefined()
    expect(parseInnerJson(`"${'['.repeat(levels)}"`)).toBe('['.repeat(levels))
  })

  it("a call's input that nests deeper is wrapped, and reported", () => {
    const losses: Loss[] = []
    const report = { losses, add: (loss: Loss) => void losses.push(loss) }
    const input = nested(5000)
    expect(inputObject({ input, name: 'f', at: '/x' }, report)).toEqual({ invalid_json: input })
    expect(losses).toEqual([expect.objectContaining({ severity: 'warn' })])
  })
})

describe('a text as JSON', () => {
  const long = 'a é 晴 ~ \x7f\ud7ff\ue000\uffff'.repeat(1000)

  it('that is long is written out as it stands where nothing in it is to be escaped', () => {
    expect(quoteText(long)).toBe(JSON.stringify(long))
    expect(quoteText(long)).toBe(`"${long}"`)
  })

  // Every character below 256, surrogates in pairs and alone, and what stands beside them.
  const odd = [...Array(256).keys(), 0x2028, 0x2029, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xfeff, 0xffff]
  it('is as JSON.stringify writes it, whatever is in it', () => {
    for (const code of odd)
      for (const text of [String.fromCharCode(code), `${String.fromCharCode(code)}\udc00`, '😀'])
        for (const whole of [text, long + text, text + long]) expect(quoteText(whole)).toBe(JSON.stringify(whole))
  })
})

const target = { model: 'm', quirks: {} }
const answer = eventsOf({
  id: 'a',
  model: 'm',
  created: 1,
  choices: [{ parts: [{ type: 'text', text: 'Hello {there}.' }], finish: { reason: 'stop' } }],
  usage: { input: { total: 3 }, output: { total: 5 } },
})

function streamOf(codec: Codec): SseEvent[] {
  const request = { model: 'm', turns: [], stream: true, output: { includeUsage: true } }
  const context = { report: createReport(), newId: (prefix: string) => `${prefix}1`, now: () => 1, request }
  return run(codec.encodeStream(context), answer).filter(({ event }) => event !== ':')
}

function tapped(codec: Codec, events: readonly SseEvent[]): StreamTap {
  const tap = codec.tapStream({ withholdUsage: false, target })
  for (const event of events) tap.push(event)
  tap.end?.()
  return tap
}

describe.each(codecs.map((codec) => [codec.format, codec] as const))('the tap of a %s stream', (_, codec) => {
  const events = streamOf(codec)

  test('sees the end of a whole one', () => {
    expect(tapped(codec, events)).toMatchObject({ started: true, ended: true, error: undefined })
  })

  test('sees none before it came', () => {
    const last = events.findLastIndex(({ data }) => /stop|STOP|completed|\[DONE\]/.test(data))
    for (let count = 0; count < (codec === chatCodec ? events.length - 1 : last); count++)
      expect(tapped(codec, events.slice(0, count)).ended).toBe(false)
  })

  test('lets no half event pass, wherever it stands', () => {
    const json = events.filter(({ data }) => data.startsWith('{'))
    expect(json.length).toBeGreaterThan(1)
    for (const [index, event] of json.entries()) {
      const half = { ...event, data: event.data.slice(0, event.data.length / 2).replace(/[}\]]+$/, '') }
      expect(() => tapped(codec, json.with(index, half))).toThrow(GatewayError)
    }
  })
})

describe('a chat stream', () => {
  const chunk = (fields: object): SseEvent => ({ data: JSON.stringify({ id: 'c', model: 'm', ...fields }) })
  const text = chunk({ choices: [{ index: 0, delta: { content: 'a' } }] })
  const done = { data: '[DONE]' }
  const decoded = (events: readonly SseEvent[]): string | undefined => {
    const request = { model: 'm', turns: [], stream: true }
    const context = { report: createReport(), newId: (prefix: string) => prefix, now: () => 1, request, target }
    const end = run(chatCodec.decodeStream(context), events).at(-1)
    return end?.type === 'error' ? end.error.kind : end?.type
  }

  test('of nothing but its mark is no answer', () => {
    expect(() => tapped(chatCodec, [done])).toThrow(expect.objectContaining({ name: 'GatewayError' }))
    expect(decoded([done])).toBe('upstream_bad_response')
  })

  test.each<[string, SseEvent[], boolean]>([
    ['neither why it ended nor what it cost is cut', [text], false],
    ['why it ended is whole', [text, chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })], true],
    // As Snowflake and some models behind OpenRouter end theirs.
    ['what it cost is whole', [text, chunk({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } })], true],
  ])('that says %s', (_, events, whole) => {
    expect(tapped(chatCodec, [...events, done]).ended).toBe(whole)
    expect(decoded([...events, done])).toBe(whole ? 'response-end' : 'upstream_truncated')
  })
})

test('a generateContent stream has ended when all of its candidates have', () => {
  const candidate = (index: number, finishReason?: string) => ({
    index,
    content: { parts: [{ text: 'a' }] },
    finishReason,
  })
  const chunk = (...candidates: object[]): SseEvent => ({ data: JSON.stringify({ candidates }) })
  const events = [chunk(candidate(0)), chunk(candidate(1)), chunk(candidate(0, 'STOP'))]
  expect(tapped(geminiCodec, events).ended).toBe(false)
  expect(tapped(geminiCodec, [...events, chunk(candidate(1, 'STOP'))]).ended).toBe(true)
})
