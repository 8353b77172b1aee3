import { describe, expect, it } from 'vitest'
import { concatBytes, toBase64 } from '../../base/bytes.ts'
import { createFrameDecoder, type EventFrame } from '../frames/frame-decoder.ts'
import { chunkFrame, eventFrame, exceptionFrame, frame, textHeader } from '../frames/frames.test-support.ts'
import type { SseEvent } from '../sse/sse.ts'
import { chunkFrames, namedFrames } from './event-frames.ts'
import type { FrameFraming } from './framing.ts'

const decoder = new TextDecoder()

function framesOf(bytes: Uint8Array): EventFrame[] {
  const frames = createFrameDecoder(1_000_000)
  frames.push(bytes)
  const out: EventFrame[] = []
  for (let next = frames.next(); next !== undefined; next = frames.next()) out.push(next)
  expect(frames.heldBytes()).toBe(0)
  return out
}

const firstOf = (bytes: Uint8Array): EventFrame => framesOf(bytes)[0] ?? expect.unreachable()

function write({ open }: FrameFraming, events: readonly SseEvent[]): Uint8Array {
  const writer = open()
  writer.write(events)
  writer.end()
  const bytes = writer.take() ?? new Uint8Array()
  expect(writer.take()).toBeUndefined()
  return bytes
}

const events: readonly SseEvent[] = [
  { event: ':', data: 'a comment' },
  { event: 'messageStart', data: '{"role":"assistant"}' },
  { event: 'contentBlockDelta', data: '{"delta":{"text":"é🙂"}}' },
  { data: '[DONE]' },
]

describe('frames with names', () => {
  it('are the frames that AWS sends, without comments and end markers', () => {
    const expected = [
      eventFrame('messageStart', { role: 'assistant' }),
      eventFrame('contentBlockDelta', { delta: { text: 'é🙂' } }),
    ]
    expect(write(namedFrames, events)).toEqual(concatBytes(expected))
  })

  it('are read as the events that were written', () => {
    const read = framesOf(write(namedFrames, events)).map((one) => namedFrames.read(one))
    expect(read).toEqual([events[1], events[2]])
  })
})

describe('frames of chunks', () => {
  it('hold each event in base64', () => {
    const data = '{"type":"ping","text":"é"}'
    const [only, ...others] = framesOf(write(chunkFrames, [{ event: 'ping', data }]))
    expect(others).toEqual([])
    expect(only?.headers[':event-type']).toBe('chunk')
    expect(decoder.decode(only?.payload)).toBe(`{"bytes":"${toBase64(new TextEncoder().encode(data))}"}`)
  })

  it('are read as the events inside', () => {
    expect(chunkFrames.read(firstOf(chunkFrame({ type: 'message_stop' })))).toEqual({
      event: 'message_stop',
      data: '{"type":"message_stop"}',
    })
  })

  it.each([
    ['no base64', eventFrame('chunk', { bytes: '***' })],
    ['no event', chunkFrame({ text: 'x' })],
    ['nothing', eventFrame('chunk', {})],
  ])('are refused with %s inside', (_, bytes) => {
    expect(() => chunkFrames.read(firstOf(bytes))).toThrow('without content from the model')
  })
})

describe.each([namedFrames, chunkFrames])('$name', (framing) => {
  const data = '{"message":"m"}'

  it('writes exceptions as frames of their own kind and reads them', () => {
    const bytes = write(framing, [{ event: 'throttlingException', data }])
    expect(bytes).toEqual(exceptionFrame('throttlingException', { message: 'm' }))
    expect(framing.read(firstOf(bytes))).toEqual({ event: 'throttlingException', data })
  })

  it('reads an exception with plain text and an error in headers', () => {
    const plain = [textHeader(':message-type', 'exception'), textHeader(':exception-type', 'throttling')]
    expect(framing.read(firstOf(frame(plain, 'slow down')))).toEqual({
      event: 'throttlingException',
      data: '{"message":"slow down"}',
    })
    const headers = { 'message-type': 'error', 'error-code': 'InternalFailure', 'error-message': 'no' }
    const unmodeled = frame(
      Object.entries(headers).map(([name, value]) => textHeader(`:${name}`, value)),
      '',
    )
    expect(framing.read(firstOf(unmodeled))).toEqual({ event: 'InternalFailureException', data: '{"message":"no"}' })
  })

  it('skips frames of other kinds', () => {
    expect(framing.read(firstOf(frame([textHeader(':message-type', 'tomorrow')], '{}')))).toBeUndefined()
  })

  it('keeps a silent stream alive with the format’s own event, or with one that clients skip', () => {
    const writer = framing.open()
    expect(firstOf(writer.heartbeat(() => [])).headers[':event-type']).toBe('ping')
    expect(firstOf(writer.heartbeat(() => [{ event: ':', data: 'ping' }])).headers[':event-type']).toBe('ping')
    const own = firstOf(writer.heartbeat(() => [{ event: 'ping', data: '{"type":"ping"}' }]))
    expect(framing.read(own)).toEqual({ event: 'ping', data: '{"type":"ping"}' })
  })

  it('writes names of any length', () => {
    const bytes = write(framing, [{ event: `${'é'.repeat(70_000)}Exception`, data }])
    expect(firstOf(bytes).headers[':message-type']).toBe('exception')
  })
})
