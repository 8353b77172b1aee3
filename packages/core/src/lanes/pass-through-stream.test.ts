import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { SharedFormat } from '../base/names.ts'
import { chatCodec } from '../formats/chat/codec.ts'
import type { StreamTap } from '../formats/codec.ts'
import { geminiCodec } from '../formats/gemini/codec.ts'
import { messagesCodec } from '../formats/messages/index.ts'
import { responsesCodec } from '../formats/responses/codec.ts'
import { isStream, readRecorded } from '../formats/shared/recorded.test-support.ts'
import { encodeAllSse } from '../http/sse/encode.ts'
import type { SseEvent } from '../http/sse/sse.ts'
import { openai } from '../upstreams/openai.ts'
import { redactorOf } from '../upstreams/redaction/redactor.ts'
import { passThroughStream } from './pass-through-stream.ts'

/** Formats whose streams are server-sent events. */
type EventFormat = Exclude<SharedFormat, 'converse'>

const codecs = { chat: chatCodec, messages: messagesCodec, gemini: geminiCodec, responses: responsesCodec }
const redactor = redactorOf(openai({ apiKey: 'sk-secret-7f3a91c4' }))
const erase = ',"usage":null'
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const textOf = (parts: readonly Uint8Array[]): string => Buffer.concat(parts).toString()

const words = [
  'The',
  ' fore"cast"',
  ' for',
  ' Łódź',
  '\n\n- 12 °C',
  ' 晴れ 😀',
  ' "error"',
  '',
  ' \\',
  ' finish_reason',
]
const typedEvent = (type: string, fields: object): SseEvent => ({
  event: type,
  data: JSON.stringify({ type, ...fields }),
})
const chunk = (fields: object): SseEvent => ({
  data: JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...fields, usage: null }),
})
const chatEvent = (delta: object, finish: string | null = null): SseEvent =>
  chunk({ choices: [{ index: 0, delta, finish_reason: finish }] })
const counts = (total: number) => ({
  promptTokenCount: 3,
  candidatesTokenCount: total,
  totalTokenCount: 3 + total,
})
const made: { [format in EventFormat]: SseEvent[] } = {
  chat: [
    chatEvent({ role: 'assistant', content: '' }),
    ...words.map((reasoning) => chatEvent({ reasoning })),
    ...words.map((content) => chatEvent({ content })),
    chatEvent({}, 'stop'),
    { data: JSON.stringify({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 9, total_tokens: 12 } }) },
    { data: '[DONE]' },
  ],
  messages: [
    typedEvent('message_start', { message: { id: 'm', usage: { input_tokens: 3, output_tokens: 1 } } }),
    typedEvent('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    typedEvent('ping', {}),
    ...words.map((text) => typedEvent('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })),
    typedEvent('content_block_stop', { index: 0 }),
    typedEvent('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } }),
    typedEvent('message_stop', {}),
  ],
  gemini: [...words, ...words, 'end'].map((text, i, { length }) => ({
    data: JSON.stringify({
      candidates: [{ content: { parts: [{ text }] }, index: 0, ...(i === length - 1 ? { finishReason: 'STOP' } : {}) }],
      usageMetadata: counts(i),
      responseId: 'g',
    }),
  })),
  responses: [
    typedEvent('response.created', { sequence_number: 0, response: { id: 'r', status: 'in_progress' } }),
    ...words.map((delta, i) =>
      typedEvent('response.output_text.delta', { sequence_number: i + 1, item_id: 'i', delta }),
    ),
    typedEvent('response.completed', {
      sequence_number: 11,
      response: { id: 'r', status: 'completed', usage: { input_tokens: 3, output_tokens: 9, total_tokens: 12 } },
    }),
  ],
}

const recorded = (
  [
    ['chat', 'openai-chat'],
    ['messages', 'anthropic-messages'],
    ['gemini', 'gemini'],
    ['responses', 'openai-responses'],
  ] as const
).flatMap(([format, name]) =>
  readRecorded(name)
    .map(({ response }) => response.body)
    .filter((body) => isStream(body) && body.length < 40_000)
    .map((text) => ({ format, text })),
)
const streams: { format: EventFormat; text: string }[] = [
  ...Object.entries(made).map(([format, events]) => ({ format: format as EventFormat, text: encodeAllSse(events) })),
  ...recorded,
]

interface Way {
  readonly format: EventFormat
  readonly edited: boolean
  /** True if the tap reads each event. */
  readonly seen: boolean
}

function open({ format, edited, seen }: Way) {
  const codec = codecs[format]
  const erased = edited && format === 'chat'
  const tap = codec.tapStream({ withholdUsage: erased, target: { model: 'm', quirks: {} } })
  let pushed = 0
  const push = tap.push.bind(tap)
  const counting: StreamTap = Object.assign(tap, {
    push(event: SseEvent) {
      pushed++
      return push(event)
    },
    ...(seen ? { varyingMembers: undefined } : {}),
  })
  const stream = passThroughStream({
    tap: counting,
    maxEventChars: 1_000_000,
    redactor,
    textFields: codec.textFields,
    erase: erased ? erase : undefined,
  })
  return { stream, pushed: () => pushed }
}

/** Returns everything that a stream produces from these chunks. */
function outcome(way: Way, chunks: readonly Uint8Array[]) {
  const { stream } = open(way)
  const { state } = stream
  const out: Uint8Array[] = []
  let thrown: unknown
  const take = (): void => {
    const ready = stream.take()
    if (ready !== undefined) out.push(ready)
  }
  try {
    for (const chunk of chunks) {
      stream.push(chunk)
      take()
      if (state.ended || state.error !== undefined) break
    }
    if (!state.ended && state.error === undefined) stream.end()
  } catch (error) {
    thrown = error
  }
  take()
  const { started, ended, error, usage, units, finish } = state
  return {
    thrown,
    estimatedTokens: stream.estimatedTokens?.(),
    state: { started, ended, error, usage, units, finish },
    heartbeat: textOf([stream.heartbeat()]),
    failure: textOf([stream.fail({ kind: 'upstream_truncated', status: 502, message: 'cut' })]),
    text: textOf(out),
  }
}

const split = (all: Uint8Array, sizes: readonly number[]): Uint8Array[] => {
  const chunks: Uint8Array[] = []
  for (let at = 0, i = 0; at < all.length; at += sizes[i++ % sizes.length] ?? 1)
    chunks.push(all.subarray(at, at + (sizes[i % sizes.length] ?? 1)))
  return chunks
}

const inserted = [
  ': comment\n\n',
  'data: {"error":{"message":"busy sk-secret-7f3a91c4","code":503}}\n\n',
  'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"sk-secret-7f3a91c4"}}\n\n',
  'data: {"half":\n\n',
  'data: [DONE]\n\n',
  '{\n "error": {"message": "busy sk-secret-7f3a91c4"}\n}\n\n',
  'id: 7\n\n',
  'data: {"a":1}\ndata: {"b":2}\n\n',
  '\n',
]
const within = [
  '"',
  '\\',
  '}',
  'é',
  '😀',
  '\r',
  '\n',
  '    ',
  '"error":{"message":"sk-secret-7f3a91c4"},',
  '"finish_reason":"stop",',
  ',"usage":{"prompt_tokens":4,"completion_tokens":5,"total_tokens":9}',
  erase,
  '\u0000',
]
type Edit = (blocks: string[], at: number) => void
const edits = fc.oneof(
  fc.constantFrom(...inserted).map<Edit>((text) => (blocks, at) => blocks.splice(at, 0, text)),
  fc.tuple(fc.constantFrom(...within), fc.nat(400)).map<Edit>(([text, place]) => (blocks, at) => {
    const block = blocks[at] ?? ''
    const cut = place % (block.length + 1)
    blocks[at] = block.slice(0, cut) + text + block.slice(cut)
  }),
  fc.nat(9).map<Edit>((count) => (blocks, at) => {
    blocks[at] = (blocks[at] ?? '').replace(/\}(?=\s*$)/, `${' '.repeat(count)}}`)
  }),
  fc.constantFrom('\r\n', '\r').map<Edit>((end) => (blocks, at) => {
    for (let i = at; i < blocks.length; i++) blocks[i] = (blocks[i] ?? '').replace(/\r?\n/g, end)
  }),
  fc.constant<Edit>((blocks, at) => blocks.splice(at, 1)),
  fc.nat(100).map<Edit>((length) => (blocks, at) => {
    blocks.splice(at + 1)
    blocks[at] = (blocks[at] ?? '').slice(0, length)
  }),
)
/** A recorded or synthetic stream with up to three defects. */
const sent = fc
  .tuple(fc.constantFrom(...streams), fc.array(fc.tuple(edits, fc.nat(1000)), { maxLength: 3 }))
  .map(([{ format, text }, all]) => {
    const blocks = text.split(/(?<=\n\r?\n)/)
    for (const [edit, place] of all) edit(blocks, place % (blocks.length + 1))
    return { format, text: blocks.join('') }
  })
const sizes = fc.oneof(
  fc.constant([Number.POSITIVE_INFINITY]),
  fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 }),
  fc.array(fc.integer({ min: 1, max: 2000 }), { minLength: 1, maxLength: 5 }),
)

describe('a pass-through stream', () => {
  it('has the same output whether or not the tap reads each event, at any split of the bytes', () => {
    fc.assert(
      fc.property(sent, sizes, fc.boolean(), ({ format, text }, sizes, edited) => {
        const all = bytes(text)
        expect(outcome({ format, edited, seen: false }, split(all, sizes))).toEqual(
          outcome({ format, edited, seen: true }, split(all, sizes)),
        )
      }),
      { numRuns: 600 },
    )
  })

  it.each(Object.entries(made))('is not decoded event by event: %s', (format, events) => {
    const [first, ...more] = events
    const middle = more.slice(0, -3)
    const { stream, pushed } = open({ format: format as EventFormat, edited: true, seen: false })
    const parts = [first as SseEvent, ...Array.from({ length: 20 }, () => middle).flat()]
    for (const event of parts) stream.push(bytes(encodeAllSse([event])))
    // A few events in each round do not match the template of the previous event.
    expect(pushed()).toBeLessThan(parts.length / 3)
  })

  it.each(Object.keys(made) as EventFormat[])('is forwarded unchanged with any line endings: %s', (format) => {
    for (const end of ['\n', '\r\n', '\r']) {
      const text = encodeAllSse(made[format]).replaceAll('\n', end)
      for (let size = 1; size < 40; size++)
        // The stream does not wait for the second half of the last line ending.
        expect(outcome({ format, edited: false, seen: false }, split(bytes(text), [size])).text.trimEnd()).toBe(
          text.trimEnd(),
        )
    }
  })

  it('omits the usage that the gateway requested from each event', () => {
    const text = encodeAllSse(made.chat)
    const client = encodeAllSse(made.chat.filter(({ data }) => !data.includes('"prompt_tokens"'))).replaceAll(erase, '')
    for (const size of [1, 7, 100, 1000, 100_000])
      expect(outcome({ format: 'chat', edited: true, seen: false }, split(bytes(text), [size])).text).toBe(client)
  })

  it.each([
    ['a comment', ': sk-secret-7f3a91c4\n\n'],
    ['a comment in an event', ': sk-secret-7f3a91c4\ndata: {"a":1}\n\n'],
    ['an error in one event with the end marker', 'data: {"error":{"message":"sk-secret-7f3a91c4"}}\ndata: [DONE]\n\n'],
    ['an error in one event with other data', 'data: {"a":1}\ndata: {"error":{"message":"sk-secret-7f3a91c4"}}\n\n'],
    [
      'an error in one event with other data and CRLF line endings',
      'data: {"error":{"message":"sk-secret-7f3a91c4"}}\r\ndata: {"a":1}\r\n\r\n',
    ],
    ['an event name', 'event: sk-secret-7f3a91c4\ndata: {"a":1}\n\n'],
    [
      'an error under an unknown event name',
      'event: failure\ndata: {"type":"error","error":{"message":"sk-secret-7f3a91c4"}}\n\n',
    ],
    [
      'an error spliced into another event',
      'event: message_delta\ndata: {"type":"message_delta","delta":{"text":"Hdata: {"error":{"message":"sk-secret-7f3a91c4"}}\n\n',
    ],
    ['an error with an escaped key', 'data: {"\\u0065rror":{"message":"sk-secret-7f3a91c4"}}\n\n'],
    ['a list of errors', 'data: {"errors" : [{"message":"sk-secret-7f3a91c4"}]}\n\n'],
    ['an error without an event name', 'data: {"type":"error","message":"sk-secret-7f3a91c4"}\n\n'],
    ['an event id', 'id: sk-secret-7f3a91c4\ndata: {"a":1}\n\n'],
    ['an unknown field', 'error: sk-secret-7f3a91c4\n\n'],
  ])('contains no secret of the upstream outside its content: %s', (_, odd) => {
    for (const format of Object.keys(made) as EventFormat[])
      for (const at of [3, 6, made[format].length]) {
        const events = made[format].map((event) => encodeAllSse([event]))
        // Twice, because an event like the previous one is forwarded without decoding.
        const all = bytes([...events.slice(0, at), odd, odd, ...events.slice(at)].join(''))
        for (const size of [1, 50, 100_000])
          expect(outcome({ format, edited: false, seen: false }, split(all, [size])).text).not.toContain(
            'sk-secret-7f3a91c4',
          )
      }
  })

  it('contains no secret in an event with a complete failed response', () => {
    const odd = encodeAllSse([
      typedEvent('response.queued', { response: { error: { message: 'sk-secret-7f3a91c4' } } }),
    ])
    expect(outcome({ format: 'responses', edited: false, seen: false }, [bytes(odd)]).text).toBe(
      odd.replace('sk-secret-7f3a91c4', '***'),
    )
  })

  it('contains no secret in an event that differs from the previous one only in its text', () => {
    const of = (text: string): string =>
      encodeAllSse([
        typedEvent('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'a' }, error: { text } }),
      ])
    const begin = encodeAllSse(made.messages.slice(0, 6))
    const all = bytes(begin + of('fine') + of('fine') + of('sk-secret-7f3a91c4'))
    const { text } = outcome({ format: 'messages', edited: false, seen: false }, [all])
    expect(text).toMatch(/fine(?!.*sk-secret-7f3a91c4)/s)
  })

  it.each([
    [
      'responses',
      typedEvent('response.completed', { response: { error: null, tools: [{ error: { type: 'string' } }] } }),
    ],
    ['gemini', { data: '{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"error":"x"}}}]}}]}' }],
  ] as const)('is forwarded unchanged if an error is part of the content: %s %j', (format, event) => {
    const marked = encodeAllSse([{ ...event, data: event.data.replace(/\}$/, ',"text":"sk-secret-7f3a91c4"}') }])
    const all = encodeAllSse(made[format].slice(0, 5)) + marked
    for (const size of [1, 100_000])
      expect(outcome({ format, edited: false, seen: false }, split(bytes(all), [size])).text).toBe(all)
  })

  it.each([
    [
      'responses',
      typedEvent('response.output_item.done', { item: { type: 'mcp_call', error: 'no file sk-secret-7f3a91c4' } }),
    ],
    ['responses', typedEvent('response.mcp_list_tools.failed', { item_id: 'sk-secret-7f3a91c4' })],
    ['gemini', { data: '{"candidates":[{"finishMessage":"sk-secret-7f3a91c4"}]}' }],
    ['gemini', { data: '{"promptFeedback":{"blockReasonMessage":"sk-secret-7f3a91c4"}}' }],
    ['chat', chatEvent({ tool_calls: [{ error: 'sk-secret-7f3a91c4' }] })],
    ['chat', { data: '{"object":"error","message":"sk-secret-7f3a91c4","code":400}' }],
    ['messages', typedEvent('message_delta', { delta: {}, note: { deep: ['sk-secret-7f3a91c4'] } })],
  ] as const)('contains no secret outside its content at any depth: %s %j', (format, event) => {
    const marked = encodeAllSse([
      { ...event, data: event.data.replace(/\}$/, ',"text":"see https://api.openai.com"}') },
    ])
    const all = encodeAllSse(made[format].slice(0, 5)) + marked
    for (const size of [1, 100_000])
      expect(outcome({ format, edited: false, seen: false }, split(bytes(all), [size])).text).toBe(
        all.replaceAll('sk-secret-7f3a91c4', '***'),
      )
  })

  it.each([
    ['without an event name', 'data: {"error":{"message":"Boom","type":"server_error"}}\n\n'],
    [
      'without an event name, after a comment',
      ': wait\n\ndata: {"type":"error","error":{"message":"Boom","type":"api_error"}}\n\n',
    ],
    ['with another structure', 'event: error\ndata: {"error":"Boom"}\n\n'],
    ['with invalid JSON', 'event: error\ndata: {"error": Boom}\n\n'],
  ])('rewrites an error that its clients would overlook: %s', (_, odd) => {
    const begin = encodeAllSse(made.messages.slice(0, 6))
    for (const size of [1, 50, 100_000]) {
      const all = split(bytes(begin + odd + encodeAllSse(made.messages.slice(6))), [size])
      const { text } = outcome({ format: 'messages', edited: false, seen: false }, all)
      expect(text.startsWith(begin)).toBe(true)
      expect(text.slice(begin.length).replace(': wait\n\n', '')).toMatch(
        /^event: error\ndata: \{"type":"error","error":\{"type":"api_error","message":"[^"]+"\}\}\n\n$/,
      )
    }
  })

  it.each([
    ['without a status', 'data: {"error":{"message":"Boom","type":"server_error"}}\n\n'],
    ['with an event name', 'event: error\ndata: {"error":{"code":503,"message":"Boom","status":"UNAVAILABLE"}}\n\n'],
  ])('rewrites an error that lacks the fields its clients expect: %s', (_, odd) => {
    const begin = encodeAllSse(made.gemini.slice(0, 6))
    const { text } = outcome({ format: 'gemini', edited: false, seen: false }, [bytes(begin + odd + begin)])
    expect(text.slice(begin.length)).toMatch(
      /^data: \{"error":\{"code":50[0-9],"message":"Boom","status":"[A-Z]+"\}\}\r?\n\r?\n$/,
    )
  })

  it.each([
    ['chat', 'data: null'],
    ['messages', 'data: null'],
    ['responses', 'data: null'],
    ['chat', 'data: {"error":{"message":"Boom"}}'],
    ['messages', 'data: {"error":{}}'],
    ['messages', 'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"Boom"}}'],
    ['responses', 'data: {"error":{}}'],
    ['responses', 'event: error\ndata: {"type":"error","message":"Boom"}'],
    ['responses', 'event: response.failed\ndata: {"type":"response.failed","response":{}}'],
  ] as const)('is complete despite broken data after its end: %s, %s', (format, odd) => {
    const whole = encodeAllSse(made[format])
    const { text, state, thrown } = outcome({ format, edited: false, seen: false }, [bytes(`${whole}${odd}\n\n`)])
    expect(text).toBe(whole)
    expect(thrown).toBeUndefined()
    expect(state).toMatchObject({ ended: true, error: undefined })
  })

  it('has the same output for events too long to compare and chunks too long to copy', () => {
    const long = [1, 9000, 2, 200_000, 3].map((length) => chatEvent({ content: 'é"'.repeat(length) }))
    const text = encodeAllSse([...made.chat.slice(0, 15), ...long, ...made.chat.slice(15)])
    for (const size of [1000, 20_000, 1_000_000]) {
      const chunks = split(bytes(text), [size])
      const way = { format: 'chat', edited: true } as const
      expect(outcome({ ...way, seen: false }, chunks)).toEqual(outcome({ ...way, seen: true }, chunks))
    }
  })

  it('reports the last token counts of events that the tap did not read', () => {
    const { stream, pushed } = open({ format: 'gemini', edited: false, seen: false })
    const event = (i: number) => ({
      data: JSON.stringify({ ...JSON.parse(made.gemini[0]?.data ?? ''), usageMetadata: counts(i) }),
    })
    for (let i = 0; i < 50; i++) stream.push(bytes(encodeAllSse([event(i)])))
    expect(pushed()).toBeLessThan(5)
    expect(stream.state.usage).toMatchObject({ output: { total: 49 } })
  })
})
