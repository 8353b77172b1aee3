import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../base/bytes.ts'
import type { SharedFormat } from '../base/names.ts'
import { codecOf } from '../formats/codecs.ts'
import { createFrameDecoder } from '../http/frames/frame-decoder.ts'
import { chunkFrame, eventFrame, exceptionFrame, frame, textHeader } from '../http/frames/frames.test-support.ts'
import { chunkFrames, namedFrames } from '../http/framing/event-frames.ts'
import type { FrameFraming } from '../http/framing/framing.ts'
import { openai } from '../upstreams/openai.ts'
import { redactorOf } from '../upstreams/redaction/redactor.ts'
import { frameStream } from './frame-stream.ts'

const secret = 'sk-secret-7f3a91c4'
const redactor = redactorOf(openai({ apiKey: secret }))

interface Kind {
  readonly format: SharedFormat
  readonly framing: FrameFraming
  /** A whole response. */
  readonly frames: readonly Uint8Array[]
  readonly text: (value: string) => Uint8Array
  /** A frame with a note in a member that no client knows. */
  readonly note: (value: string) => Uint8Array
}

const named: Kind = {
  format: 'converse',
  framing: namedFrames,
  text: (text) => eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text }, p: 'abcd' }),
  note: (note) => eventFrame('contentBlockStop', { contentBlockIndex: 0, note }),
  frames: [
    eventFrame('messageStart', { role: 'assistant', p: 'abc' }),
    eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Łódź 😀' }, p: 'a' }),
    eventFrame('tomorrow', { n: 12345678901234567890n.toString() }),
    frame([textHeader(':message-type', 'comment'), textHeader(':n', 'x')], 'no JSON'),
    eventFrame('contentBlockStop', { contentBlockIndex: 0 }),
    eventFrame('messageStop', { stopReason: 'end_turn' }),
    eventFrame('metadata', { usage: { inputTokens: 3, outputTokens: 9, totalTokens: 12 }, metrics: { latencyMs: 7 } }),
  ],
}
const chunks: Kind = {
  format: 'messages',
  framing: chunkFrames,
  text: (text) => chunkFrame({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  note: (note) => chunkFrame({ type: 'content_block_stop', index: 0, note }),
  frames: [
    chunkFrame({ type: 'message_start', message: { id: 'm', usage: { input_tokens: 3, output_tokens: 1 } } }),
    chunkFrame({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    chunkFrame({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Łódź 😀' } }),
    chunkFrame({ type: 'content_block_stop', index: 0 }),
    chunkFrame({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } }),
    chunkFrame({ type: 'message_stop', 'amazon-bedrock-invocationMetrics': { latency: 7 } }),
  ],
}

function open({ format, framing }: Kind, maxEventChars = 1_000_000) {
  const codec = codecOf(format)
  return frameStream({
    tap: codec.tapStream({ withholdUsage: false, target: { model: 'm', quirks: {} } }),
    framing,
    redactor,
    textFields: codec.textFields,
    maxEventChars,
    erase: undefined,
  })
}

/** Returns what a stream writes for these chunks, and its state. */
function outcome(kind: Kind, pieces: readonly Uint8Array[]) {
  const stream = open(kind)
  const out: Uint8Array[] = []
  const take = (): void => {
    const ready = stream.take()
    if (ready !== undefined) out.push(ready)
  }
  for (const piece of pieces) {
    stream.push(piece)
    take()
  }
  stream.end()
  take()
  const { usage, finish, ended, started, error } = stream.state
  return { bytes: concatBytes(out), state: { usage, finish, ended, started, error } }
}

/** Returns the names and data of the events in frames. */
function decodeAll({ framing }: Kind, bytes: Uint8Array): string[] {
  const decoder = createFrameDecoder(1_000_000)
  decoder.push(bytes)
  const out: string[] = []
  for (let next = decoder.next(); next !== undefined; next = decoder.next()) {
    const { event, data } = framing.read(next) ?? {}
    out.push(`${event} ${data}`)
  }
  expect(decoder.heldBytes()).toBe(0)
  return out
}

const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

describe.each([
  ['named frames', named],
  ['chunks', chunks],
])('a pass-through stream of %s', (_, kind) => {
  const all = concatBytes(kind.frames)

  it('passes frames byte for byte and reads usage and end', () => {
    const { bytes, state } = outcome(kind, kind.frames)
    expect(bytes).toEqual(all)
    expect(state).toMatchObject({ finish: 'end_turn', ended: true, started: true, error: undefined })
    expect(state.usage).toMatchObject({ input: { total: 3 }, output: { total: 9 } })
  })

  it('does the same for any split of the bytes', () => {
    const expected = outcome(kind, [all])
    const cuts = fc.uniqueArray(fc.integer({ min: 0, max: all.length }), { maxLength: 20 })
    fc.assert(
      fc.property(cuts, (at) => {
        const ends = [0, ...at.sort((a, b) => a - b), all.length]
        const pieces = ends.slice(1).map((end, index) => all.subarray(ends[index], end))
        expect(outcome(kind, pieces)).toEqual(expected)
      }),
      { numRuns: 50 },
    )
  })

  it('is truncated without its last frame, of which no half passes', () => {
    const whole = concatBytes(kind.frames.slice(0, -1))
    const { bytes, state } = outcome(kind, [all.subarray(0, all.length - 1)])
    expect(bytes).toEqual(whole)
    expect(state).toMatchObject({ started: true, ended: false })
  })

  it('refuses a frame with a wrong checksum and a frame above the limit', () => {
    const broken = all.slice()
    broken[20] = (broken[20] ?? 0) ^ 1
    expect(() => open(kind).push(broken)).toThrow(/checksum|frame/)
    expect(() => open(kind, 1000).push(kind.text('x'.repeat(2000)))).toThrow()
  })

  it('masks a secret of the upstream outside the text, in headers too, and passes other frames unchanged', () => {
    const before = kind.text(`the model repeats ${secret}`)
    const { bytes } = outcome(kind, [before, kind.note(`key ${secret}.`), kind.text('after')])
    const [repeated, note, after, ...others] = decodeAll(kind, bytes)
    expect(others).toEqual([])
    expect([repeated]).toEqual(decodeAll(kind, before))
    expect(note).toContain('key ')
    expect(note).not.toContain(secret)
    expect(after).toContain('after')

    const header = frame([textHeader(':message-type', 'comment'), textHeader('x', secret)], '')
    expect(outcome(kind, [header]).bytes).toHaveLength(0)
  })

  it('writes heartbeats and its own failure as frames', () => {
    const stream = open(kind)
    expect(decodeAll(kind, stream.heartbeat())).toHaveLength(1)
    const failure = stream.fail({ kind: 'upstream_timeout', status: 504, message: 'It took too long.' })
    expect(decodeAll(kind, failure).join()).toContain('It took too long.')
  })

  it('estimates the tokens of its text', () => {
    const stream = open(kind)
    for (let at = 0; at < 40; at++) stream.push(kind.text('ten letters and more '))
    expect(stream.estimatedTokens?.()).toBeGreaterThan(50)
  })
})

describe('a pass-through stream with exceptions', () => {
  it('ends with an exception of the upstream, without the upstream’s secrets', () => {
    const late = named.text('too late')
    const exception = exceptionFrame('throttlingException', { message: `slow down ${secret}` })
    const { bytes, state } = outcome(named, [named.text('a'), exception, late])
    expect(state.error).toMatchObject({ kind: 'rate_limited' })
    const [, shown, ...others] = decodeAll(named, bytes)
    expect(others).toEqual([])
    expect(shown).toContain('throttlingException')
    expect(shown).not.toContain(secret)
  })

  it('describes refused credentials of the gateway as a fault of the gateway', () => {
    const exception = exceptionFrame('accessDeniedException', { message: 'arn:aws:iam::123456789012:role/x may not' })
    const { bytes } = outcome(named, [exception])
    expect(textOf(bytes)).not.toContain('123456789012')
    expect(decodeAll(named, bytes)).toHaveLength(1)
  })

  it('ignores an exception after the end', () => {
    const exception = exceptionFrame('internalServerException', { message: 'late' })
    const { bytes, state } = outcome(named, [...named.frames, exception])
    expect(bytes).toEqual(concatBytes(named.frames))
    expect(state).toMatchObject({ ended: true, error: undefined })
  })
})
