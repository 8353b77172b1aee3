import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BodyTap, marginBytes } from './body-tap.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

/** Copies a text that arrives in pieces of `size` bytes. */
function copyOf(text: string, { limit = 10_000, size = Number.POSITIVE_INFINITY, left = 1_000_000 } = {}) {
  const memory = { left }
  const tap = new BodyTap(limit, memory)
  const bytes = bytesOf(text)
  for (let at = 0; at < bytes.length; at += size) tap.append(bytes.subarray(at, at + size))
  tap.end()
  return { tap, memory, text: new TextDecoder().decode(tap.bytes), reserved: left - memory.left }
}

const data = (length: number): string => 'iVBORw0KGgo/+_-'.repeat(length).slice(0, length)
const shortened = (length: number): string => `${data(64)}…[${length - 64} more characters]`

describe('the copy of a body', () => {
  it.each([1, 2, 3, 7, 64, 511, 512, 513, 100_000])('is the same for pieces of %d bytes', (size) => {
    const prose = 'Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. '.repeat(20)
    const text = `{"text":"${prose}","image":"${data(5000)}","id":"${data(511)}","last":"${data(512)}","end":"${data(513)}"}`
    expect(copyOf(text, { size }).text).toBe(
      `{"text":"${prose}","image":"${shortened(5000)}","id":"${data(511)}","last":"${data(512)}","end":"${shortened(513)}"}`,
    )
  })

  it('is the same for any pieces of any text', () => {
    const word = fc.oneof(
      fc.constantFrom(' ', '"', ',', 'a', '–', '\n'),
      fc.integer({ min: 1, max: 1700 }).map((length) => data(length)),
    )
    fc.assert(
      fc.property(
        fc.array(word, { maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 20 }),
        fc.constantFrom(100, 1000, 100_000),
        (words, sizes, limit) => {
          const text = words.join('')
          const whole = copyOf(text, { limit })
          const memory = { left: 1_000_000 }
          const tap = new BodyTap(limit, memory)
          const bytes = bytesOf(text)
          for (let at = 0, n = 0; at < bytes.length; n++) {
            const size = sizes[n % sizes.length] ?? 1
            tap.append(bytes.subarray(at, at + size))
            at += size
          }
          tap.end()
          expect(tap.bytes.length).toBeLessThanOrEqual(limit + marginBytes)
          if (limit === 100_000) {
            const expected = text.replace(
              /[A-Za-z0-9+/=_-]{513,}/g,
              (run) => `${run.slice(0, 64)}…[${run.length - 64} more characters]`,
            )
            expect(new TextDecoder().decode(tap.bytes)).toBe(expected)
          }
          expect(tap.bytes).toEqual(whole.tap.bytes)
          expect([tap.isCut, tap.isShortened]).toEqual([whole.tap.isCut, whole.tap.isShortened])
          expect(memory.left).toBe(1_000_000 - tap.heldBytes)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('shortens base64 at the end of a body', () => {
    const { tap, text } = copyOf(`data:image/png;base64,${data(2000)}`)
    expect(text).toBe(`data:image/png;base64,${shortened(2000)}`)
    expect([tap.isShortened, copyOf(data(512)).tap.isShortened]).toEqual([true, false])
  })

  it.each([1, 10, 1000])('is cut at the limit and the margin, for pieces of %d bytes', (size) => {
    const { tap, text, reserved } = copyOf('a b '.repeat(1000), { limit: 100, size })
    expect(text).toBe('a b '.repeat(1000).slice(0, 100 + marginBytes))
    expect([tap.isCut, tap.heldBytes, reserved]).toEqual([true, 100 + marginBytes, 100 + marginBytes])
  })

  it('continues after base64 that is larger than the limit', () => {
    const { tap, text } = copyOf(`{"image":"${data(1_000_000)}","prompt":"What is this?"}`, { limit: 1000 })
    expect(text).toBe(`{"image":"${shortened(1_000_000)}","prompt":"What is this?"}`)
    expect(tap.isCut).toBe(false)
  })

  it('holds no more than it needs once it has ended', () => {
    const { tap, reserved } = copyOf('short', { size: 1 })
    expect([tap.heldBytes, reserved]).toEqual([5, 5])
  })

  it.each([1, 100])('is given up when running calls hold too much, for pieces of %d bytes', (size) => {
    const { tap, text, reserved } = copyOf('a b '.repeat(2000), { left: 4000, size })
    expect([tap.hasNoMemory, text, tap.heldBytes, reserved]).toEqual([true, '', 0, 0])
  })

  it('gives its memory back when it is dropped, and ignores later bytes', () => {
    const memory = { left: 5000 }
    const tap = new BodyTap(1000, memory)
    tap.append(bytesOf('some text'))
    expect(memory.left).toBeLessThan(5000)
    tap.drop()
    tap.append(bytesOf('more'))
    tap.end()
    expect([memory.left, tap.heldBytes, tap.bytes.length]).toEqual([5000, 0, 0])
  })

  it('keeps no reference to the bytes that it copies', () => {
    const memory = { left: 5000 }
    const tap = new BodyTap(1000, memory)
    const chunk = bytesOf('abc')
    tap.append(chunk)
    chunk.fill(0)
    tap.end()
    expect(tap.bytes).toEqual(bytesOf('abc'))
    expect(tap.bytes.buffer.byteLength).toBe(3)
  })
})
