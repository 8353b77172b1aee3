import { describe, expect, it } from 'vitest'
import { withoutVertexEvents } from './vertex-events.ts'

const own = 'event: vertex_event\ndata: {"type":"vertex_event","usage":{"input_tokens":9}}\n\n'
const start = 'event: message_start\ndata: {"type":"message_start"}\n\n'
const text = 'event: content_block_delta\ndata: {"delta":{"text":"the word vertex_event, naïve 🙂"}}\n\n'
const stop = 'event: message_stop\ndata: {}\n\n'

/** Returns the text that passes the filter in chunks of `size` bytes. */
async function passed(given: string, size: number): Promise<string> {
  const bytes = new TextEncoder().encode(given)
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  }
  const reader = new TextDecoder('utf-8', { ignoreBOM: true })
  let out = ''
  for await (const piece of withoutVertexEvents(pieces())) out += reader.decode(piece, { stream: true })
  return out
}

describe('events of Vertex AI', () => {
  it.each([1, 2, 3, 7, 64, 10_000])('are the only removed events in chunks of %i bytes', async (size) => {
    expect(await passed(start + own + text + own + stop, size)).toBe(start + text + stop)
    expect(await passed(own + start + stop, size)).toBe(start + stop)
    const crlf = (part: string): string => part.replaceAll('\n', '\r\n')
    // An event was returned between the two halves of a line end, so the second half is an empty line.
    const events = (bytes: string): string => bytes.replace(/(?<=\r\n\r\n)\n/g, '')
    expect(events(await passed(crlf(start + own + stop), size))).toBe(crlf(start + stop))
  })

  it.each([
    'event:vertex_event\ndata: {}\n\n',
    'data: {"type":"vertex_event"}\n\n',
    'id: 1\nevent: vertex_event\ndata: {}\n\n',
    'data: {"type": "vertex_event"}\nevent: vertex_event\n\n',
  ])('are recognized in every notation: %j', async (event) => {
    expect(await passed(start + event + stop, 1000)).toBe(start + stop)
  })

  it('are removed without changing an incomplete event or a byte order mark', async () => {
    const half = 'event: content_block_delta\ndata: {"del'
    expect(await passed(`\ufeff${start}${own}${half}`, 1000)).toBe(`\ufeff${start}${half}`)
  })

  it('cause no change if there are none', async () => {
    const chunk = new TextEncoder().encode(start + text)
    async function* one() {
      yield chunk
    }
    for await (const piece of withoutVertexEvents(one())) expect(piece).toEqual(chunk)
  })
})
