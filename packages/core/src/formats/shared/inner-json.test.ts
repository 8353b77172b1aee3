import { describe, expect, it, test } from 'vitest'
import { GatewayError } from '../../base/errors.ts'
import { quoteText } from '../../base/json/json.ts'
import { objectIn, parseInnerJson, parseInnerObject } from '../../base/json/parse.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import { chatCodec } from '../chat/codec.ts'
import type { Codec, StreamTap } from '../codec.ts'
import { codecs } from '../codecs.ts'
import { geminiCodec } from '../gemini/codec.ts'
import type { Loss } from '../ir.ts'
import { createReport } from '../loss-report.ts'
import { eventsOf, run } from './exchange.test-support.ts'
import { inputObject } from './tools.ts'

const nested = (levels: number): string => `${'{"a":'.repeat(levels)}{}${'}'.repeat(levels)}`

describe('JSON in a string of a document', () => {
  it('is parsed up to a depth that recursion supports', () => {
    const text = nested(500)
    expect(JSON.stringify(parseInnerJson(text))).toBe(text)
    expect(JSON.stringify(parseInnerObject(text))).toBe(text)
    expect(JSON.stringify(objectIn(text))).toBe(text)
  })

  it.each([5000, 100_000])('is kept as text at %i levels', (levels) => {
    for (const read of [parseInnerJson, parseInnerObject, objectIn]) expect(read(nested(levels))).toBeUndefined()
    expect(parseInnerJson(`"${'['.repeat(levels)}"`)).toBe('['.repeat(levels))
  })

  it('is wrapped and reported if it is the input of a call and nests deeper', () => {
    const losses: Loss[] = []
    const report = { losses, add: (loss: Loss) => void losses.push(loss) }
    const input = nested(5000)
    expect(inputObject({ input, name: 'f', at: '/x' }, report)).toEqual({ invalid_json: input })
    expect(losses).toEqual([expect.objectContaining({ severity: 'warn' })])
  })
})

describe('a quoted text', () => {
  const long = 'a é 晴 ~ \x7f\ud7ff\ue000\uffff'.repeat(1000)

  it('is a copy of a long text if no character needs an escape', () => {
    expect(quoteText(long)).toBe(JSON.stringify(long))
    expect(quoteText(long)).toBe(`"${long}"`)
  })

  // Every character below 256, surrogates in pairs and alone, and their neighbours.
  const odd = [...Array(256).keys(), 0x2028, 0x2029, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xfeff, 0xffff]
  it('equals the output of JSON.stringify for any characters', () => {
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

  test('reports the end of a complete stream', () => {
    expect(tapped(codec, events)).toMatchObject({ started: true, ended: true, error: undefined })
  })

  test('reports no end before the last event', () => {
    const last = events.findLastIndex(({ data }) => /stop|STOP|completed|\[DONE\]/.test(data))
    for (let count = 0; count < (codec === chatCodec ? events.length - 1 : last); count++)
      expect(tapped(codec, events.slice(0, count)).ended).toBe(false)
  })

  test('throws for a truncated event at any position', () => {
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

  test('is rejected if it holds [DONE] only', () => {
    expect(() => tapped(chatCodec, [done])).toThrow(expect.objectContaining({ name: 'GatewayError' }))
    expect(decoded([done])).toBe('upstream_bad_response')
  })

  test.each<[string, SseEvent[], boolean]>([
    ['truncated with neither a finish reason nor usage', [text], false],
    [
      'complete with a finish reason',
      [text, chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })],
      true,
    ],
    // Snowflake and some models behind OpenRouter end their streams like this.
    ['complete with usage', [text, chunk({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } })], true],
  ])('is %s', (_, events, whole) => {
    expect(tapped(chatCodec, [...events, done]).ended).toBe(whole)
    expect(decoded([...events, done])).toBe(whole ? 'response-end' : 'upstream_truncated')
  })
})

test('reports the end of a generateContent stream when all candidates have ended', () => {
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
