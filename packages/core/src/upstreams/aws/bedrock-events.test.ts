import { describe, expect, it, test } from 'vitest'
import { concatBytes } from '../../base/bytes.ts'
import { GatewayError } from '../../base/errors.ts'
import {
  chunkFrame,
  eventFrame,
  exceptionFrame,
  frame,
  inPieces,
  textHeader,
} from '../../http/frames/frames.test-support.ts'
import { namedFrames } from '../../http/framing/event-frames.ts'
import { framesToEvents } from './bedrock-events.ts'

interface Read {
  text: string
  error?: GatewayError
}
async function read(bytes: Uint8Array, size = bytes.length || 1): Promise<Read> {
  let text = ''
  try {
    for await (const piece of framesToEvents(inPieces(bytes, size), namedFrames))
      text += new TextDecoder().decode(piece)
  } catch (error) {
    if (error instanceof GatewayError) return { text, error }
    throw error
  }
  return { text }
}

const first = eventFrame('messageStart', { role: 'assistant' })
const second = eventFrame('contentBlockDelta', { delta: { text: 'hi' } })
const eventText = 'event: messageStart\ndata: {"role":"assistant"}\n\n'
const toldToo = 'event: contentBlockDelta\ndata: {"delta":{"text":"hi"}}\n\n'

describe('a stream of frames', () => {
  test('becomes server-sent events, however its bytes are split', async () => {
    for (let size = 1; size < 40; size += 3)
      expect(await read(concatBytes([first, second]), size)).toEqual({ text: eventText + toldToo })
  })

  test('is truncated if it ends within a frame, but not between frames', async () => {
    const all = concatBytes([first, second])
    for (let length = 0; length <= all.length; length++) {
      const { text, error } = await read(all.subarray(0, length), 11)
      const whole = length === 0 || length === first.length || length === all.length
      expect(error?.info.kind, String(length)).toBe(whole ? undefined : 'upstream_truncated')
      expect(text).toBe(length < first.length ? '' : length < all.length ? eventText : eventText + toldToo)
    }
  })

  it.each([
    ['throttlingException', 'Too many requests', 'rate_limited'],
    ['throttlingException', 'Too many tokens per day, please wait', 'quota_exceeded'],
    ['modelStreamErrorException', 'The model broke', 'upstream_error'],
    ['internalServerException', 'Oops', 'upstream_error'],
    ['serviceUnavailableException', 'Later', 'overloaded'],
    ['modelTimeoutException', 'Too slow', 'upstream_timeout'],
    ['validationException', 'Bad field', 'invalid_request'],
    ['validationException', 'Input is too long for requested model.', 'context_length_exceeded'],
    ['inventedTomorrowException', 'New', 'upstream_error'],
  ])('throws the error of a %s (%s) after earlier events', async (type, message, kind) => {
    const { text, error } = await read(concatBytes([first, exceptionFrame(type, { message }), second]))
    expect(text).toBe(eventText)
    expect(error?.info).toMatchObject({ kind, message })
  })

  test('does not show details of rejected credentials', async () => {
    const { error } = await read(exceptionFrame('accessDeniedException', { message: 'User: arn:aws:iam::1:user/x' }))
    expect(error?.info.kind).toBe('upstream_auth')
    expect(error?.message).not.toContain('arn:')
  })

  test('maps an error frame by its code', async () => {
    const headers = { ':message-type': 'error', ':error-code': 'InternalFailure', ':error-message': 'Boom' }
    const bytes = frame(
      Object.entries(headers).map(([name, value]) => textHeader(name, value)),
      '',
    )
    expect((await read(bytes)).error?.info).toMatchObject({ kind: 'upstream_error', message: 'Boom' })
  })

  test('closes the connection immediately when its reader stops', async () => {
    let closed = false
    const source: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => undefined),
        return: async () => {
          closed = true
          return { done: true, value: undefined }
        },
      }),
    }
    const iterator = framesToEvents(source, namedFrames)[Symbol.asyncIterator]()
    void iterator.next()
    await iterator.return?.()
    expect(closed).toBe(true)
  })

  test('closes the connection after an error', async () => {
    let closed = false
    async function* source() {
      try {
        yield concatBytes([chunkFrame({}), Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)])
        yield first
      } finally {
        closed = true
      }
    }
    const iterator = framesToEvents(source(), namedFrames)[Symbol.asyncIterator]()
    await iterator.next()
    await expect(iterator.next()).rejects.toThrow(/cannot be read/)
    expect(closed).toBe(true)
  })
})
