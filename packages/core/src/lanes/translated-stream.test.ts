import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../base/json/json.ts'
import type { SharedFormat } from '../base/names.ts'
import type { ClientCodec, UpstreamCodec } from '../formats/codec.ts'
import { codecs } from '../formats/codecs.ts'
import type { Delta, ModelEvent, Part } from '../formats/ir.ts'
import { encodeAllSse } from '../http/sse/encode.ts'
import { openai } from '../upstreams/openai.ts'
import { redactorOf } from '../upstreams/redaction/redactor.ts'
import { translateLane } from './generation-translation.ts'

type Format = Exclude<SharedFormat, 'converse'>

const formats: readonly Format[] = ['chat', 'messages', 'responses', 'gemini']
const pairs = formats.flatMap((upstream) =>
  codecs
    .map(({ format }) => format as SharedFormat)
    .filter((client) => client !== upstream)
    .map((client) => ({ upstream, client })),
)

const requests: { readonly [F in SharedFormat]: JsonObject } = {
  chat: { model: 'm', messages: [{ role: 'user', content: 'x' }], stream_options: { include_usage: true } },
  messages: { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] },
  gemini: { model: 'm', contents: [{ parts: [{ text: 'x' }] }] },
  responses: { model: 'm', input: 'x' },
  converse: { model: 'm', messages: [{ role: 'user', content: [{ text: 'x' }] }] },
}

const codecOf = (format: SharedFormat): ClientCodec & UpstreamCodec => {
  const codec = codecs.find((codec) => codec.format === format)
  if (codec === undefined) throw new Error(`no codec of ${format}`)
  return codec as ClientCodec & UpstreamCodec
}

/** Opens a translated stream that counts the runs of its decoder. */
function openStream(client: SharedFormat, upstream: Format, apiKey?: string) {
  const value = { ...requests[client], stream: true }
  const text = JSON.stringify(value)
  const ours = codecOf(upstream)
  let runs = 0
  const stream = translateLane({
    client: codecOf(client),
    upstream: {
      ...ours,
      decodeStream(context) {
        const decoder = ours.decodeStream(context)
        const { repeat } = decoder
        if (repeat !== undefined)
          decoder.repeat = (joined) => {
            runs++
            return repeat(joined)
          }
        return decoder
      },
    },
    request: { value, fields: value, text, bytes: new TextEncoder().encode(text), members: [] },
    target: { model: 'm', quirks: {} },
    newId: (prefix) => `${prefix}1`,
    now: () => 1,
    maxEventChars: 1_000_000,
    maxDepth: 100,
    toClientErrorInfo: (error) => error,
    redactor: redactorOf(openai(apiKey === undefined ? {} : { apiKey })),
    reportsLateLosses: true,
  }).openStream()
  return { stream, runs: () => runs }
}

/** Returns everything about a stream that was pushed in these chunks. */
function resultOf(client: SharedFormat, upstream: Format, chunks: readonly Uint8Array[], apiKey?: string) {
  const { stream, runs } = openStream(client, upstream, apiKey)
  let output = ''
  const decoder = new TextDecoder()
  const estimates: (number | undefined)[] = []
  for (const chunk of chunks) {
    stream.push(chunk)
    output += decoder.decode(stream.take(), { stream: true })
  }
  estimates.push(stream.estimatedTokens?.())
  stream.end(true)
  output += decoder.decode(stream.take())
  const { started, ended, error, usage, finish } = stream.state
  return { result: { output, estimates, state: { started, ended, error, usage, finish } }, runs: runs() }
}

/** Writes IR events in a format, as an upstream of this format sends them: one text for each event. */
function streamOf(format: Format, events: readonly ModelEvent[]): string[] {
  const codec = codecOf(format)
  const encoder = codec.encodeStream({
    report: { add() {}, losses: [] } as never,
    newId: (prefix: string) => `${prefix}2`,
    now: () => 2,
    target: { model: 'm', quirks: {} },
    request: { model: 'm', turns: [], output: { includeUsage: true } } as never,
    maxEventChars: 1_000_000,
  } as never)
  return events.flatMap((event) => encoder.push(event)).map((event) => encodeAllSse([event]))
}

const usage = { input: { total: 5 }, output: { total: 7 } }
const start: ModelEvent = { type: 'response-start', id: 'r', model: 'm', created: 3 }
const ending: readonly ModelEvent[] = [
  { type: 'choice-end', choice: 0, finish: { reason: 'stop' } },
  { type: 'usage', usage } as ModelEvent,
  { type: 'response-end' },
]

function partOf(part: number, value: Part, type: Delta['type'], texts: readonly string[]): ModelEvent[] {
  return [
    { type: 'part-start', choice: 0, part, value },
    ...texts.map((text): ModelEvent => ({ type: 'part-delta', choice: 0, part, delta: { type, text } as Delta })),
    { type: 'part-end', choice: 0, part },
  ]
}

const words = (count: number, word: (n: number) => string): string[] => Array.from({ length: count }, (_, n) => word(n))
const special = [
  '"quoted"',
  'back\\slash',
  'tab\tand\nline',
  ' ',
  'é',
  'Łódź 日本 😀',
  '\u2028',
  '\u0001',
  '/',
  '</b>',
  '{"a":1}',
  'data: x',
  'a',
  '"',
  '\\',
]
const text: Part = { type: 'text', text: '' }
const contents: { readonly [name: string]: readonly ModelEvent[] } = {
  'plain words': partOf(
    0,
    text,
    'text',
    words(60, (n) => ` word${n}`),
  ),
  'special characters': partOf(
    0,
    text,
    'text',
    words(60, (n) => special[n % special.length] as string),
  ),
  'the names of members': partOf(
    0,
    text,
    'text',
    words(40, (n) => ['content', 'text', 'delta', 'type'][n % 4] as string),
  ),
  'reasoning, then text': [
    ...partOf(
      0,
      { type: 'reasoning', text: '' },
      'reasoning',
      words(30, (n) => ` thought${n}`),
    ),
    ...partOf(
      1,
      text,
      'text',
      words(30, (n) => ` word${n}`),
    ),
  ],
  calls: [
    ...partOf(
      0,
      text,
      'text',
      words(20, (n) => ` word${n}`),
    ),
    ...partOf(1, { type: 'tool-call', id: 'call_1', name: 'look', input: '' }, 'input', [
      '{"a":"',
      ...words(30, (n) => `x${n}`),
      '"}',
    ]),
    ...partOf(2, { type: 'tool-call', id: 'call_2', name: 'look', input: '' }, 'input', [
      '{"b":[',
      ...words(30, (n) => `${n},`),
      '1]}',
    ]),
  ],
  'a long text': partOf(0, text, 'text', [
    ...words(10, (n) => `w${n}`),
    'y'.repeat(9000),
    ...words(10, (n) => `z${n}`),
  ]),
}
const names = Object.keys(contents)
const bytes = (value: string): Uint8Array => new TextEncoder().encode(value)

/** Cuts bytes at pseudo-random places. */
function cut(all: Uint8Array, size: number, seed: number): Uint8Array[] {
  const chunks: Uint8Array[] = []
  let state = seed
  for (let at = 0; at < all.length; ) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 1
    const to = at + 1 + (state % size)
    chunks.push(all.subarray(at, to))
    at = to
  }
  return chunks
}

describe.each(pairs)('a stream of $upstream for a client of $client', ({ upstream, client }) => {
  test.each(names)('is the same in one chunk, in chunks of any size, and event by event: %s', (name) => {
    const events = streamOf(upstream, [start, ...(contents[name] ?? []), ...ending])
    const whole = bytes(events.join(''))
    const single = resultOf(client, upstream, events.map(bytes))
    expect(single.result.state).toMatchObject({ ended: true, error: undefined })
    for (const chunks of [[whole], cut(whole, 5000, 1), cut(whole, 2000, 7), cut(whole, 97, 3)])
      expect(resultOf(client, upstream, chunks).result).toEqual(single.result)
  })
})

test.each(pairs.filter(({ client }) => client !== 'converse'))(
  'translates text deltas of $upstream for a client of $client together',
  ({ upstream, client }) => {
    const events = streamOf(upstream, [start, ...(contents['plain words'] ?? []), ...ending])
    expect([1, 2, 3]).toContain(resultOf(client, upstream, [bytes(events.join(''))]).runs)
  },
)

test('removes a credential of the upstream from members that are the same in each event', () => {
  const apiKey = 'sk-secret-7f3a91c4b2d8'
  const texts = [...words(20, (n) => ` word${n}`), ` is ${apiKey}!`, ...words(20, (n) => ` word${n}`)]
  const plain = streamOf('chat', [start, ...partOf(0, text, 'text', texts), ...ending])
  const events = plain.map((event) => event.replace('"system_fingerprint":null', `"system_fingerprint":"${apiKey}"`))
  const single = resultOf('messages', 'chat', events.map(bytes), apiKey).result
  expect(resultOf('messages', 'chat', [bytes(events.join(''))], apiKey).result).toEqual(single)
  // The model's own text stays as it is.
  expect(single.output.split(apiKey)).toHaveLength(2)
})

test('decodes bytes that are not UTF-8 one by one', () => {
  const events = streamOf('messages', [
    start,
    ...partOf(
      0,
      text,
      'text',
      words(40, (n) => `é${n}`),
    ),
    ...ending,
  ])
  const whole = bytes(events.join(''))
  // The second byte of an é.
  const broken = whole.map((byte, at) => (at > 3000 && at < 3600 && byte === 0xa9 ? 0x41 : byte))
  expect(broken).not.toEqual(whole)
  const { result } = resultOf('chat', 'messages', [broken])
  expect(result.output).toContain('\ufffd')
  expect(result).toEqual(resultOf('chat', 'messages', cut(broken, 300, 5)).result)
})

test('decodes halves of characters one by one', () => {
  const events = streamOf('messages', [
    start,
    ...partOf(
      0,
      text,
      'text',
      words(40, (n) => ` word${n}`),
    ),
    ...ending,
  ])
  const blocks = events.map(bytes)
  const [before, after] = [blocks[20] as Uint8Array, blocks[21] as Uint8Array]
  // The last two bytes of one text, and the first two of the next.
  before.set([0xf0, 0x9f], before.lastIndexOf(0x22) - 2)
  after.set([0x98, 0x80], new TextDecoder().decode(after).indexOf(' word'))
  const single = resultOf('responses', 'messages', blocks).result
  const whole = Uint8Array.from(blocks.flatMap((block) => [...block]))
  expect(single.output).toContain('\ufffd')
  expect(resultOf('responses', 'messages', [whole]).result).toEqual(single)
})

test.each([
  ['"sequence_number":,', /"sequence_number":\d+,/],
  ['"sequence_number":1-2e,', /"sequence_number":\d+,/],
  ['"sequence_number":01,', /"sequence_number":\d+,/],
  ['"obfuscation":"\\q",', /"obfuscation":"ab",/],
] as const)('rejects an event with %s as it does without a run', (broken, whole) => {
  const events = streamOf('responses', [
    start,
    ...partOf(
      0,
      text,
      'text',
      words(40, (n) => ` word${n}`),
    ),
    ...ending,
  ])
  const odd = events.map((event) => {
    const padded = event.replace('"sequence_number"', '"obfuscation":"ab","sequence_number"')
    return event.includes(' word30') ? padded.replace(whole, broken) : padded
  })
  expect(odd[0]).toContain('obfuscation')
  const single = resultOf('chat', 'responses', odd.map(bytes)).result
  expect(single.state.error).toMatchObject({ kind: 'upstream_bad_response' })
  expect(resultOf('chat', 'responses', [bytes(odd.join(''))]).result).toEqual(single)
})

test('writes one event for each delta of a part that had to wait', () => {
  const call: Part = { type: 'tool-call', id: 'call_1', name: 'look', input: '' }
  const deltas = words(30, (n) => ` word${n}`)
  const events = streamOf('chat', [
    start,
    { type: 'part-start', choice: 0, part: 0, value: call },
    { type: 'part-delta', choice: 0, part: 0, delta: { type: 'input', text: '{}' } },
    ...partOf(1, text, 'text', deltas),
    { type: 'part-end', choice: 0, part: 0 },
    ...ending,
  ])
  for (const client of ['messages', 'responses'] as const) {
    const single = resultOf(client, 'chat', events.map(bytes)).result
    expect(resultOf(client, 'chat', [bytes(events.join(''))]).result).toEqual(single)
  }
})

test.each([
  ['escapes that JSON.stringify writes in another way', (n: number) => (n % 5 === 0 ? '\\u0041' : `w${n}`)],
  ['escaped slashes', (n: number) => (n % 5 === 0 ? '<\\/b>' : `w${n}`)],
  ['halves of surrogate pairs', (n: number) => (n % 6 === 0 ? '\\ud83d' : n % 6 === 1 ? '\\ude00' : `w${n}`)],
  ['empty texts', (n: number) => (n % 5 === 0 ? '' : `w${n}`)],
])('writes %s as it does for single events', (_, raw) => {
  const head = streamOf('messages', [start, { type: 'part-start', choice: 0, part: 0, value: text }])
  const deltas = words(60, raw).map(
    (inner) =>
      `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${inner}"}}\n\n`,
  )
  const events = [...head, ...deltas, ...streamOf('messages', [start, ...ending]).slice(1)]
  for (const client of ['chat', 'responses', 'gemini'] as const) {
    const single = resultOf(client, 'messages', events.map(bytes)).result
    expect(resultOf(client, 'messages', [bytes(events.join(''))]).result).toEqual(single)
  }
})
