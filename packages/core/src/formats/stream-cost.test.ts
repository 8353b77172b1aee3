import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../base/json/json.ts'
import type { SseEvent } from '../http/sse/sse.ts'
import { chatCodec } from './chat/codec.ts'
import type { Codec } from './codec.ts'
import { geminiCodec } from './gemini/codec.ts'
import type { ModelEvent } from './ir.ts'
import { createReport } from './loss-report.ts'
import { messagesCodec } from './messages/index.ts'
import { responsesCodec } from './responses/codec.ts'
import { countSteps } from './shared/count-steps.test-support.ts'

/** Streams of a hostile upstream whose translation must run in linear time and space. */

const list = <T>(length: number, make: (index: number) => T): T[] => Array.from({ length }, (_, index) => make(index))
const manyKeys = (length: number): JsonObject => Object.fromEntries(list(length, (index) => [`k${index}`, 1]))
const words = 'lorem ipsum '.repeat(20)

const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const call = (fragment: JsonObject): JsonObject => chunk({ tool_calls: [fragment] })

const answer = (parts: JsonObject[], more: JsonObject = {}): JsonObject => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
  modelVersion: 'g',
  responseId: 'r',
})
const lastAnswer = answer([], { finishReason: 'STOP' })
const arguments_ = (jsonPath: string): JsonObject =>
  answer([{ functionCall: { partialArgs: [{ jsonPath, numberValue: 1 }], willContinue: true } }])
const firstCall = answer([{ functionCall: { name: 'f', willContinue: true } }])

const message = (...events: JsonObject[]): JsonObject[] => [
  { type: 'message_start', message: { id: 'm', content: [], usage: { input_tokens: 1 } } },
  ...events,
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } },
  { type: 'message_stop' },
]

const response = (...events: JsonObject[]): JsonObject[] => [
  { type: 'response.created', response: { id: 'r' } },
  ...events,
  { type: 'response.completed', response: { id: 'r', status: 'completed', output: [] } },
]
const itemAdded = (item: JsonObject): JsonObject => ({ type: 'response.output_item.added', output_index: 0, item })

interface Attack {
  readonly upstream: Codec
  readonly events: (size: number) => JsonObject[]
}

const attacks: { readonly [name: string]: Attack } = {
  'arguments that grow while other calls begin': {
    upstream: chatCodec,
    events: (size) => [
      call({ index: 0, id: 'a', function: { name: 'f', arguments: '{"a":"' } }),
      ...list(size, (index) => [
        call({ index: 0, function: { arguments: '}' } }),
        call({ index: index + 1, id: `b${index}`, function: { name: 'g', arguments: '' } }),
      ]).flat(),
      chunk({}, 'tool_calls'),
    ],
  },
  'calls that are open at the same time': {
    upstream: chatCodec,
    events: (size) => [
      ...list(size, (index) => call({ index, id: `b${index}`, function: { name: 'g', arguments: '{' } })),
      ...list(size, (index) => call({ index, function: { arguments: '}' } })),
      chunk({}, 'tool_calls'),
    ],
  },
  'calls that are identified only by their ids': {
    upstream: chatCodec,
    events: (size) => [
      ...list(size, (index) => call({ id: `b${index}`, function: { name: 'g', arguments: '{' } })),
      ...list(size, (index) => call({ id: `b${index}`, function: { arguments: '}' } })),
      chunk({}, 'tool_calls'),
    ],
  },
  'reasoning parts that alternate with text': {
    upstream: chatCodec,
    events: (size) => [
      ...list(size, (index) => [
        chunk({ reasoning_details: [{ type: 'reasoning.text', text: `t${index}`, signature: `s${index}` }] }),
        chunk({ content: 'a' }),
      ]).flat(),
      chunk({}, 'stop'),
    ],
  },
  'annotations with offsets in a long text': {
    upstream: chatCodec,
    events: (size) => [
      ...list(size, () => chunk({ content: words })),
      ...list(size, (index) =>
        chunk({
          annotations: [
            {
              type: 'url_citation',
              url_citation: { url: `u${index}`, title: 't', start_index: index, end_index: index * 200 },
            },
          ],
        }),
      ),
      chunk({}, 'stop'),
    ],
  },
  'signed thinking blocks': {
    upstream: messagesCodec,
    events: (size) =>
      message(
        ...list(size, (index) => [
          { type: 'content_block_start', index, content_block: { type: 'thinking', thinking: '', signature: '' } },
          { type: 'content_block_delta', index, delta: { type: 'thinking_delta', thinking: words } },
          { type: 'content_block_delta', index, delta: { type: 'signature_delta', signature: 'xyz' } },
          { type: 'content_block_stop', index },
        ]).flat(),
      ),
  },
  'sources with each piece of a text': {
    upstream: geminiCodec,
    events: (size) => [
      ...list(size, (index) =>
        answer([{ text: words }], {
          groundingMetadata: {
            groundingChunks: [{ web: { uri: `u${index}` } }],
            groundingSupports: [{ segment: { startIndex: index, endIndex: index * 200 }, groundingChunkIndices: [0] }],
          },
        }),
      ),
      lastAnswer,
    ],
  },
  'a long quotation with many sources': {
    upstream: geminiCodec,
    events: (size) => [
      answer([{ text: 'abc' }]),
      answer([], {
        groundingMetadata: {
          groundingChunks: list(size, (index) => ({ web: { uri: `u${index}` } })),
          groundingSupports: [
            {
              segment: { endIndex: 3, text: 'x'.repeat(size * 60) },
              groundingChunkIndices: list(size, (index) => index),
            },
          ],
        },
      }),
      lastAnswer,
    ],
  },
  'parts of a reasoning item with many extra fields': {
    upstream: responsesCodec,
    events: (size) =>
      response(
        itemAdded({ type: 'reasoning', id: 'x', summary: [], ...manyKeys(size) }),
        ...list(size, (index) => ({
          type: 'response.reasoning_summary_text.delta',
          output_index: 0,
          summary_index: index,
          delta: 'a',
        })),
      ),
  },
  'texts of a message with many extra fields': {
    upstream: responsesCodec,
    events: (size) =>
      response(
        itemAdded({ type: 'message', id: 'x', role: 'assistant', content: [], ...manyKeys(size) }),
        ...list(size, (index) => ({
          type: 'response.output_text.delta',
          output_index: 0,
          content_index: index,
          delta: 'a',
        })),
      ),
  },
  'repeated ends of a text that was sent earlier': {
    upstream: responsesCodec,
    events: (size) =>
      response(
        itemAdded({ type: 'message', id: 'x', role: 'assistant', content: [] }),
        ...list(3, () => ({
          type: 'response.output_text.delta',
          output_index: 0,
          content_index: 0,
          delta: 'x'.repeat(size * 30),
        })),
        ...list(size, () => ({ type: 'response.output_text.done', output_index: 0, content_index: 0, text: '' })),
      ),
  },
  'items that the last event repeats': {
    upstream: responsesCodec,
    events: (size) => [
      { type: 'response.created', response: { id: 'r' } },
      ...list(size, (index) => ({
        type: 'response.output_item.added',
        output_index: index,
        item: { type: 'message', id: `x${index}`, role: 'assistant', content: [] },
      })),
      {
        type: 'response.completed',
        response: {
          id: 'r',
          status: 'completed',
          output: list(size, (index) => ({
            type: 'message',
            id: `x${size - index - 1}`,
            role: 'assistant',
            content: [{ type: 'output_text', text: 'a' }],
          })),
        },
      },
    ],
  },
}

function contextOf(upstream: Codec) {
  return {
    report: createReport(),
    request: { model: 'm', turns: [], stream: true },
    newId: (prefix: string) => `${prefix}1`,
    now: () => 1,
    upstream: upstream.format,
    target: { model: 'm', quirks: { doneOptional: true } },
  }
}

function sse(events: readonly JsonObject[]): SseEvent[] {
  return events.map((event) => ({
    ...(typeof event.type === 'string' ? { event: event.type } : {}),
    data: JSON.stringify(event),
  }))
}

/** Translates a stream; returns the number of characters that the client receives. */
function translate(upstream: Codec, client: Codec, events: readonly SseEvent[]): number {
  const context = contextOf(upstream)
  const decoder = upstream.decodeStream(context)
  const encoder = client.encodeStream(context)
  let chars = 0
  const write = (event: ModelEvent): void => {
    for (const { data } of encoder.push(event)) chars += data.length
  }
  for (const event of events) for (const decoded of decoder.push(event)) write(decoded)
  for (const decoded of decoder.end()) write(decoded)
  return chars
}

const clients = [chatCodec, messagesCodec, geminiCodec, responsesCodec]
const rows = Object.entries(attacks).flatMap(([name, attack]) =>
  clients
    .filter((client) => client !== attack.upstream)
    .map((client) => [name, client.format, attack, client] as const),
)

describe('a stream from an upstream', () => {
  it.each(rows)('is translated in linear time and space: %s, for a client of %s', (_name, _format, attack, client) => {
    let fewChars = 0
    let manyChars = 0
    const small = sse(attack.events(500))
    const large = sse(attack.events(2000))
    const few = countSteps(() => {
      fewChars = translate(attack.upstream, client, small)
    })
    const many = countSteps(() => {
      manyChars = translate(attack.upstream, client, large)
    })
    // The input has four times the events. The counted steps also include the number search in long ones (base/json/parse.ts).
    expect(many / few, `${few} and ${many} steps`).toBeLessThan(6)
    expect(manyChars / fewChars, `${fewChars} and ${manyChars} characters`).toBeLessThan(5)
  })

  it('stores the running usage of messages in one object', () => {
    const decoder = messagesCodec.decodeStream(contextOf(messagesCodec))
    const usages = sse(message({ type: 'message_delta', delta: {}, usage: { output_tokens: 2 } }))
      .flatMap((event) => decoder.push(event))
      .flatMap((event) => (event.type === 'usage' ? [event.usage.raw?.value] : []))
    expect(usages).toHaveLength(3)
    expect(new Set(usages).size).toBe(1)
  })

  it('fails if the arguments of a call skip more than 100,000 list items', () => {
    const decoder = geminiCodec.decodeStream(contextOf(geminiCodec))
    const events = sse([firstCall, arguments_('$.a[90000]'), arguments_('$.b[90000]')])
    expect(() => events.map((event) => decoder.push(event))).toThrow('skip too many items')
  })

  it('fails if the arguments of a call nest too deep', () => {
    const decoder = geminiCodec.decodeStream(contextOf(geminiCodec))
    const events = sse([firstCall, arguments_(`$${'.a'.repeat(5000)}`)])
    expect(() => events.map((event) => decoder.push(event))).toThrow('nest too deep')
  })

  it('combines lists of grounding metadata from all chunks', () => {
    const decoder = geminiCodec.decodeStream(contextOf(geminiCodec))
    const chunks = list(3, (index) => answer([{ text: 'a' }], { groundingMetadata: { groundingX: [index] } }))
    const events = [...sse([...chunks, lastAnswer]).flatMap((event) => decoder.push(event)), ...decoder.end()]
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'choice-end',
        extra: { gemini: { groundingMetadata: { groundingX: [0, 1, 2] } } },
      }),
    )
  })

  it('fails for a responses client if the last event would exceed the maximum length', () => {
    const encoder = responsesCodec.encodeStream({ ...contextOf(chatCodec), maxEventChars: 1000 })
    encoder.push({ type: 'part-start', choice: 0, part: 0, value: { type: 'text', text: '' } })
    const more: ModelEvent = { type: 'part-delta', choice: 0, part: 0, delta: { type: 'text', text: 'x'.repeat(600) } }
    encoder.push(more)
    expect(() => encoder.push(more)).toThrow('The response is longer than 1000 characters')
  })
})
