import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { blockEnd, createBlockCutter } from './blocks.ts'
import { encodeAllSse, encodeText } from './encode.ts'
import { createSseDecoder, type SseEvent, Utf8Decoder } from './sse.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (parts: readonly Uint8Array[]) => new TextDecoder().decode(Buffer.concat(parts))
const decodeAll = (chunks: readonly Uint8Array[]): SseEvent[] => {
  const decoder = createSseDecoder(1_000_000)
  return [...chunks.flatMap((chunk) => decoder.push(chunk)), ...decoder.end()]
}
const cut = (all: Uint8Array, size: number): Uint8Array[] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.subarray(i * size, (i + 1) * size))

const streams = {
  LF: 'event: a\ndata: {"x":1}\n\ndata: {"y":"é😀"}\n\n: comment\n\ndata: [DONE]\n\n',
  CRLF: 'data: {"x":1}\r\n\r\nevent: b\r\ndata: {"y":"é😀"}\r\n\r\n',
  CR: 'data: {"x":1}\r\rdata: {"y":2}\r\r',
  'BOM, many data lines': '\uFEFFdata: {"x":\ndata: 1}\n\nid: 7\nretry: 3\ndata:{"z":3}\n\n',
}

describe('SSE decoding', () => {
  it.each(Object.entries(streams))('returns for %s the same events for any split of the bytes', (_, stream) => {
    const whole = decodeAll([bytes(stream)])
    expect(whole.length).toBeGreaterThan(1)
    for (let size = 1; size <= 16; size++) expect(decodeAll(cut(bytes(stream), size))).toEqual(whole)
  })

  it('returns a last event without its blank line, but never an incomplete event', () => {
    expect(decodeAll([bytes('data: {"a":1}')])).toEqual([{ data: '{"a":1}' }])
    expect(decodeAll([bytes('data: [DONE]\n')])).toEqual([{ data: '[DONE]' }])
    expect(decodeAll([bytes('data: {"a":1}\n\ndata: {"a":')])).toEqual([{ data: '{"a":1}' }])
  })

  it('returns an error that is not an event after the end of the input', () => {
    const error = '{\n  "error": {\n    "code": 503,\n    "message": "data: late"\n  }\n}\n'
    for (const size of [1, 7, 1000])
      expect(decodeAll(cut(bytes(`data: {"a":1}\n\n${error}`), size))).toEqual([
        { data: '{"a":1}' },
        { data: '{"error":{"code":503,"message":"data: late"}}' },
      ])
    expect(decodeAll([bytes('data: {"a":1}\n\n{"no": "error"}\n')])).toEqual([{ data: '{"a":1}' }])
    expect(decodeAll([bytes('field: {"error": {}}\n{"error": {"cut": \n')])).toEqual([])
  })

  it.each(['\n\n', '\r\n\r\n', '\r\r', '\n\r', '\r\n\r'])('returns an event as soon as %j follows it', (blank) => {
    const decoder = createSseDecoder(1000)
    for (const data of ['a', 'b']) expect(decoder.push(bytes(`data: ${data}${blank}`))).toEqual([{ data }])
    expect(decoder.end()).toEqual([])
  })

  it('rejects an event above the size limit', () => {
    const decoder = createSseDecoder(1000)
    expect(() => {
      for (let i = 0; i < 20; i++) decoder.push(bytes(i === 0 ? 'data: ' : 'x'.repeat(100)))
    }).toThrow(/too large/)
  })

  it('decodes the events that the encoder writes', () => {
    const events: SseEvent[] = [{ event: 'a', data: '{"x":1}' }, { data: '[DONE]' }]
    expect(decodeAll([bytes(encodeAllSse([...events, { event: ':', data: 'hello' }]))])).toEqual(events)
  })
})

describe('block cutter', () => {
  it.each(Object.entries(streams))(
    'passes for %s every byte once, in order, in complete events, for any split',
    (_, stream) => {
      for (let size = 1; size <= 16; size++) {
        const cutter = createBlockCutter()
        const out: Uint8Array[] = []
        for (const chunk of cut(bytes(stream), size)) {
          const whole = cutter.push(chunk)
          if (whole === undefined) continue
          out.push(whole)
          expect(text(out)).toMatch(/(\n\n|\r\n\r\n|\r\r|\r\r\n|\n\r)$/)
        }
        const rest = cutter.flush()
        if (rest !== undefined) out.push(rest)
        expect(Buffer.concat(out).equals(Buffer.from(bytes(stream)))).toBe(true)
      }
    },
  )

  it.each(['\n\n', '\r\n\r\n', '\r\r'])('finds the end of an event of any length: %j', (end) => {
    for (const length of [4090, 4095, 4096, 4097, 4100, 50_000]) {
      const event = `data: ${'x'.repeat(length - 6)}\ndata: ${'y'.repeat(length)}${end}`
      const both = bytes(`${event}data: z${end}`)
      expect(blockEnd(both, 0)).toBe(event.length)
      expect(blockEnd(both.subarray(0, length), 0)).toBe(length)
      const cutter = createBlockCutter()
      expect(cutter.push(both.subarray(0, length))).toBeUndefined()
      expect(cutter.push(both.subarray(length))?.length).toBe(both.length)
    }
  })

  it('passes the second half of a line end whose first half has been sent', () => {
    const cutter = createBlockCutter()
    const given = ['data: x\r\n\r', '', '\n', 'data: y\r\n\r', '\ndata: z', '\r\n', '\r\n'].map((chunk) => {
      const whole = cutter.push(bytes(chunk))
      return whole && text([whole])
    })
    expect(given).toEqual(['data: x\r\n\r', undefined, '\n', 'data: y\r\n\r', '\n', undefined, 'data: z\r\n\r\n'])
    expect(cutter.heldBytes).toBe(0)
  })

  it('holds and counts the incomplete end for random splits', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', '\n', '\r', '\r\n', 'data: x\n\n'), { maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        (pieces, size) => {
          const all = bytes(pieces.join(''))
          const cutter = createBlockCutter()
          const out: Uint8Array[] = []
          for (const chunk of cut(all, size)) {
            const whole = cutter.push(chunk)
            if (whole !== undefined) out.push(whole)
          }
          const passed = Buffer.concat(out).length
          expect(cutter.heldBytes).toBe(all.length - passed)
          const rest = cutter.flush()
          expect(Buffer.concat(rest === undefined ? out : [...out, rest]).equals(Buffer.from(all))).toBe(true)
        },
      ),
    )
  })
})

describe('UTF-8', () => {
  const pieces = fc.array(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 6 }).map((text) => [...bytes(text)]),
      fc.constantFrom([0xef, 0xbb, 0xbf], [0xc3], [0xe2, 0x82], [0xff], [0xed, 0xa0]),
    ),
  )

  it('in chunks is decoded like TextDecoder does', () => {
    fc.assert(
      fc.property(pieces, fc.integer({ min: 1, max: 5 }), (parts, size) => {
        const all = Uint8Array.from(parts.flat())
        const utf8 = new Utf8Decoder()
        const read = cut(all, size).map((piece) => utf8.push(piece))
        expect(read.join('') + utf8.end()).toBe(new TextDecoder().decode(all))
      }),
    )
  })

  it.each([0, 1, 1000, 30_000])('is encoded like TextEncoder does, without trailing bytes: %i characters', (length) => {
    const long = 'é😀x'.repeat(length)
    const written = encodeText(long)
    expect(written).toEqual(bytes(long))
    expect(written.buffer.byteLength).toBe(written.length)
  })
})
