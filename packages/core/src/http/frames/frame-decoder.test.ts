import { describe, expect, it, vi } from 'vitest'
import { concatBytes } from '../../base/bytes.ts'
import { crc32 } from './crc32.ts'
import { createFrameDecoder, type EventFrame } from './frame-decoder.ts'
import { encodeFrame, encodeHeaders } from './frame-encoder.ts'
import { eventFrame, frame, textHeader } from './frames.test-support.ts'

const hex = (text: string): Uint8Array => Uint8Array.from(text.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)
const wide = 1_000_000

/** A decoder that returns all complete frames of each chunk. */
function decoderOf(maxBytes: number) {
  const decoder = createFrameDecoder(maxBytes)
  return {
    push(bytes: Uint8Array): EventFrame[] {
      decoder.push(bytes)
      const frames: EventFrame[] = []
      for (let next = decoder.next(); next !== undefined; next = decoder.next()) frames.push(next)
      return frames
    },
    held: () => decoder.heldBytes(),
  }
}

it('computes the same CRC-32 as zip', () => {
  // The check value of CRC-32/ISO-HDLC.
  expect(crc32(utf8('123456789'))).toBe(0xcbf43926)
  expect(crc32(new Uint8Array())).toBe(0)
})

describe('frames', () => {
  it('match AWS’s test vectors', () => {
    const { push } = decoderOf(wide)
    expect(push(hex('000000100000000005c248eb7d98c8ff'))).toMatchObject([{ headers: {}, payload: new Uint8Array() }])
    // {'foo':'bar'} without headers.
    const bytes = hex('0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936')
    expect(push(bytes)).toEqual([{ headers: {}, payload: utf8("{'foo':'bar'}"), bytes }])
  })

  it('are the same for any split of the bytes', () => {
    const frames = [
      eventFrame('messageStart', { role: 'assistant' }),
      frame([], ''),
      eventFrame('contentBlockDelta', { delta: { text: 'ä🙂' } }),
    ]
    const all = concatBytes(frames)
    const read = (size: number): string[] => {
      const decoder = decoderOf(wide)
      const out: string[] = []
      for (let at = 0; at < all.length; at += size)
        for (const { headers, payload } of decoder.push(all.subarray(at, at + size)))
          out.push(`${headers[':event-type']} ${new TextDecoder().decode(payload)}`)
      expect(decoder.held()).toBe(0)
      return out
    }
    const whole = read(all.length)
    expect(whole).toEqual([
      'messageStart {"role":"assistant"}',
      'undefined ',
      'contentBlockDelta {"delta":{"text":"ä🙂"}}',
    ])
    for (let size = 1; size < 60; size++) expect(read(size)).toEqual(whole)
  })

  it('keep text headers among headers of every type', () => {
    const sizes: readonly (readonly [type: number, bytes: number])[] = [
      [0, 0],
      [1, 0],
      [2, 1],
      [3, 2],
      [4, 4],
      [5, 8],
      [8, 8],
      [9, 16],
    ]
    const others = sizes.map(([type, bytes]) => ({ name: `h${type}`, type, value: new Uint8Array(bytes).fill(7) }))
    const blob = { name: 'blob', type: 6, value: Uint8Array.of(0, 3, 1, 2, 3) }
    const bytes = frame([...others, blob, textHeader(':event-type', 'chunk'), textHeader('ü', 'ß')], 'x')
    expect(decoderOf(wide).push(bytes)[0]?.headers).toEqual({ ':event-type': 'chunk', ü: 'ß' })
  })

  it.each([
    [[], ''],
    [[[':event-type', 'chunk']], '{"a":1}'],
    [
      [
        [':event-type', 'contentBlockDelta'],
        [':content-type', 'application/json'],
        ['ü', 'ß'.repeat(2000)],
      ],
      'ä🙂',
    ],
  ] as const)('are encoded as AWS encodes them: %#', (headers, payload) => {
    const encoded = encodeFrame(encodeHeaders(headers), utf8(payload))
    expect(encoded).toEqual(
      frame(
        headers.map(([name, value]) => textHeader(name, value)),
        payload,
      ),
    )
    expect(decoderOf(wide).push(encoded)).toEqual([
      { headers: Object.fromEntries(headers), payload: utf8(payload), bytes: encoded },
    ])
  })

  it('are rejected if any single bit is wrong', () => {
    const good = eventFrame('chunk', { a: 1 })
    for (let at = 0; at < good.length; at++) {
      const bad = good.slice()
      bad[at] = (bad[at] as number) ^ 0x10
      const decoder = decoderOf(wide)
      expect(() => decoder.push(bad), `byte ${at}`).toThrow(
        expect.objectContaining({ info: expect.objectContaining({ kind: 'upstream_bad_response' }) }),
      )
    }
  })

  it('are buffered until they are complete', () => {
    const good = eventFrame('chunk', { a: 1 })
    for (let length = 1; length < good.length; length++) {
      const decoder = decoderOf(wide)
      expect(decoder.push(good.subarray(0, length))).toEqual([])
      expect(decoder.held()).toBe(length)
    }
  })

  it.each([
    ['an unknown type', { name: 'h', type: 10, value: new Uint8Array() }],
    ['a value that exceeds the frame', { name: 'h', type: 7, value: Uint8Array.of(0, 9, 65) }],
    ['an incomplete length', { name: 'h', type: 7, value: Uint8Array.of(0) }],
    ['a missing number', { name: 'h', type: 5, value: Uint8Array.of(1) }],
  ])('with headers of %s are rejected', (_, header) => {
    expect(() => decoderOf(wide).push(frame([header], ''))).toThrow(/cannot be read/)
  })

  it('are rejected at once if they are too large', () => {
    const large = frame([], 'x'.repeat(1000))
    expect(() => decoderOf(500).push(large.subarray(0, 12))).toThrow(/too large/)
  })

  it('before an invalid one are decoded', () => {
    const decoder = createFrameDecoder(wide)
    decoder.push(concatBytes([eventFrame('chunk', {}), new Uint8Array(12).fill(1)]))
    expect(decoder.next()?.headers[':event-type']).toBe('chunk')
    expect(() => decoder.next()).toThrow(/cannot be read/)
  })

  it('of many small chunks are decoded with work that grows with their bytes', () => {
    const bytes = 2_000_000
    const large = frame([], new Uint8Array(bytes))
    const decoder = decoderOf(4_000_000)
    let copied = 0
    const set = Uint8Array.prototype.set
    vi.spyOn(Uint8Array.prototype, 'set').mockImplementation(function (this: Uint8Array, source, at) {
      copied += source.length
      set.call(this, source, at)
    })
    let frames = 0
    for (let at = 0; at < large.length; at += 100) frames += decoder.push(large.subarray(at, at + 100)).length
    vi.restoreAllMocks()
    expect(frames).toBe(1)
    expect(copied).toBeGreaterThanOrEqual(bytes)
    // Joining the buffered bytes with each chunk would copy 20 GB.
    expect(copied).toBeLessThan(2 * large.length)
  })
})
