import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../base/bytes.ts'
import { memorySpool } from '../../http/spool.ts'
import { encodeForm, fileBytes, formValue } from './form.ts'
import { parseForm, readDisposition } from './parse-form.ts'

const boundary = '----formdata-undici-0123456789'
const type = `multipart/form-data; boundary=${boundary}`
const latin = (text: string): Uint8Array => Uint8Array.from(text, (char) => char.charCodeAt(0))
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

interface Written {
  readonly head: string
  readonly bytes: Uint8Array
}
const field = (name: string, text: string): Written => ({
  head: `Content-Disposition: form-data; name="${name}"`,
  bytes: utf8(text),
})
const file = (name: string, filename: string, bytes: Uint8Array): Written => ({
  head: `Content-Disposition: form-data; name="${name}"; filename="${filename}"\r\nContent-Type: audio/wav`,
  bytes,
})
const write = (parts: readonly Written[], before = '', after = ''): Uint8Array =>
  concatBytes([
    utf8(before),
    ...parts.flatMap(({ head, bytes }) => [utf8(`--${boundary}\r\n${head}\r\n\r\n`), bytes, utf8('\r\n')]),
    utf8(`--${boundary}--\r\n${after}`),
  ])

async function* inPieces(bytes: Uint8Array, ...cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    yield bytes.slice(from, cut)
    from = Math.max(from, cut)
  }
  yield bytes.slice(from)
}

async function parse(source: AsyncIterable<Uint8Array>, contentType = type) {
  const spool = memorySpool()
  const parts = await parseForm(source, contentType, spool)
  return { parts, spool, value: formValue(parts, { file: 'file', image: 'files', model: 'text', n: 'number' }) }
}
const bytesOf = async (form: Awaited<ReturnType<typeof parse>>): Promise<Uint8Array[]> =>
  Promise.all(form.parts.flatMap(({ file }) => (file === undefined ? [] : [fileBytes(form, file)])))

const nasty = [
  '',
  '\0\0\0',
  '\r\n',
  '\r\n\r\n',
  '-',
  '\r\n-',
  '\r\n--',
  `\r\n--${boundary.slice(0, -1)}`,
  `x--${boundary}--`,
  `\r\n--${boundary.slice(0, -1)}\r\n--${boundary.slice(0, -2)}`,
  `\n--${boundary}\n`,
  `\r--${boundary}\r`,
  '\r\r\n--',
  'Content-Disposition: form-data; name="model"\r\n\r\nother',
]

describe('an upload', () => {
  it.each(nasty)('keeps a file of %j for any split of its bytes', async (content) => {
    const body = write([field('model', 'whisper'), file('file', 'a.wav', latin(content)), field('n', '2')])
    for (let cut = 0; cut <= body.length; cut++) {
      const form = await parse(inPieces(body, cut))
      expect((await bytesOf(form))[0]).toEqual(latin(content))
      expect(form.value).toMatchObject({ model: 'whisper', n: 2, file: { filename: 'a.wav', bytes: content.length } })
    }
    const single = await parse(inPieces(body, ...Array.from(body.keys())))
    expect((await bytesOf(single))[0]).toEqual(latin(content))
  })

  it('keeps all files and fields for any split, also after encoding for the upstream', async () => {
    const content = fc.array(fc.constantFrom('\r', '\n', '-', '\0', 'a', '\xff', '--', boundary.slice(0, 9)), {
      maxLength: 60,
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(content, { minLength: 1, maxLength: 3 }),
        fc.array(fc.nat(900), { maxLength: 30 }),
        async (contents, cuts) => {
          const files = contents.map((pieces) => latin(pieces.join('')))
          const body = write([...files.map((bytes) => file('image[]', 'i.png', bytes)), field('model', 'm')])
          const form = await parse(inPieces(body, ...cuts.filter((cut) => cut < body.length)))
          expect(await bytesOf(form)).toEqual(files)
          const { body: sent, headers } = await encodeForm(form, 'real', 'other-boundary')
          const again = await parse(inPieces(sent as Uint8Array, 7), headers['content-type'])
          expect(await bytesOf(again)).toEqual(files)
          expect(again.value).toEqual({ ...form.value, model: 'real' })
        },
      ),
      { numRuns: 300 },
    )
  })

  it('keeps the headers of all parts except the model', async () => {
    const odd = {
      head: 'content-disposition: form-data; name="file"; filename="C:\\\\fakepath\\\\ \\"日本\\" ü.wav"\r\ncontent-type: audio/x; a=b\r\ncontent-length: 3',
      bytes: utf8('abc'),
    }
    const form = await parse(inPieces(write([field('model', 'a'), odd])))
    const { body } = await encodeForm(form, 'réal', 'B')
    expect(new TextDecoder().decode(body as Uint8Array)).toBe(
      [
        '--B',
        'Content-Disposition: form-data; name="model"',
        '',
        'réal',
        '--B',
        'Content-Disposition: form-data; name="file"; filename="C:\\\\fakepath\\\\ \\"日本\\" ü.wav"',
        'Content-Type: audio/x; a=b',
        'Content-Length: 3',
        '',
        'abc',
        '--B--',
        '',
      ].join('\r\n'),
    )
    expect(form.value.file).toMatchObject({ filename: 'C:\\fakepath\\ "日本" ü.wav' })
  })

  it('sets a missing model and every field that could be read as the model', async () => {
    const none = await encodeForm(await parse(inPieces(write([field('x', '1')]))), 'real', 'B')
    expect(new TextDecoder().decode(none.body as Uint8Array)).toContain('name="model"\r\n\r\nreal\r\n')
    const two = await encodeForm(await parse(inPieces(write([field('model', 'a'), field('Model', 'b')]))), 'real', 'B')
    const text = new TextDecoder().decode(two.body as Uint8Array)
    expect(text.match(/\r\n\r\nreal\r\n/g)).toHaveLength(2)
    expect(text).not.toMatch(/\r\n\r\n[ab]\r\n/)
  })

  it('may have text before and after it, including other boundaries', async () => {
    const after = `words\r\n--${boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\nsmuggled\r\n--${boundary}--`
    const body = write([field('model', 'a')], 'words\r\n', after)
    for (let cut = 0; cut <= body.length; cut++)
      expect((await parse(inPieces(body, cut))).value).toEqual({ model: 'a' })
  })

  it('is rejected if it is cut off anywhere', async () => {
    const body = write([field('model', 'm'), file('file', 'a.wav', latin('abc\r\n--def'))])
    // The closing dashes are the end; the line break after them is not needed.
    for (let end = 0; end < body.length - 2; end++)
      await expect(parse(inPieces(body.slice(0, end))), `cut at ${end}`).rejects.toMatchObject({
        info: { kind: 'invalid_request' },
      })
    await expect(parse(inPieces(body.slice(0, -2)))).resolves.toBeDefined()
  })

  it.each([
    ['no declared boundary', 'multipart/form-data', write([field('model', 'm')]), /has no boundary/],
    ['another boundary', 'multipart/form-data; boundary=x', write([field('model', 'm')]), /closing boundary/],
    ['no bytes', type, new Uint8Array(0), /closing boundary/],
    ['a part without a name', type, write([{ head: 'Content-Type: text/plain', bytes: utf8('x') }]), /no name/],
    ['a part with an empty head', type, write([{ head: '', bytes: utf8('x') }]), /malformed/],
    ['a broken header', type, write([{ head: 'no colon here', bytes: utf8('x') }]), /malformed/],
    ['a part without a body', type, utf8(`--${boundary}\r\nA: b\r\n\r\n--${boundary}--\r\n`), /malformed/],
    ['invalid UTF-8', type, write([{ ...field('prompt', ''), bytes: latin('\xff\xfe') }]), /prompt.*UTF-8/],
    ['too many parts', type, write(Array.from({ length: 300 }, () => field('a[]', 'x'))), /more than 256 parts/],
    ['a huge field', type, write([field('prompt', 'x'.repeat(5_000_000))]), /fields are larger/],
    ['the model twice', type, write([field('model', 'a'), field('model', 'b')]), /more than once/],
  ])('is rejected with %s', async (_what, contentType, body, message) => {
    await expect(parse(inPieces(body, 10, 20), contentType)).rejects.toThrow(message)
  })

  it('decodes lists with and without brackets, numbers, and unknown fields', async () => {
    const parts = [
      file('image[]', 'a', utf8('1')),
      file('image[]', 'b', utf8('2')),
      field('n', '3'),
      field('x', 'a'),
      field('x', 'b'),
      field('y[]', 'c'),
      field('__proto__', 'd'),
    ]
    const { value } = await parse(inPieces(write(parts)))
    expect(value).toMatchObject({ image: [{ filename: 'a' }, { filename: 'b' }], n: 3, x: ['a', 'b'], y: ['c'] })
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
  })
})

describe('a part’s disposition', () => {
  it.each([
    ['form-data; name="a"', { name: 'a' }],
    ['form-data; name=a; filename=b.wav', { name: 'a', filename: 'b.wav' }],
    ['Form-Data;name="a";filename=""', { name: 'a', filename: '' }],
    ['form-data; name="a"; filename="x;y=z.wav"', { name: 'a', filename: 'x;y=z.wav' }],
    ['form-data; name="a"; filename="q%22q.wav"', { name: 'a', filename: 'q"q.wav' }],
    ['form-data; name="a"; filename="q\\"q.wav"', { name: 'a', filename: 'q"q.wav' }],
    ['form-data; name="a"; filename="50%.wav"', { name: 'a', filename: '50%.wav' }],
    ['form-data; name="a"; filename="ü.wav"; filename*=UTF-8\'\'%E2%82%AC.wav', { name: 'a', filename: '€.wav' }],
    ['attachment; name="a"', undefined],
    ['form-data', undefined],
    ['form-data; name=""', undefined],
    ['form-data; name="a', undefined],
    ['form-data; name="a"; name="model"', undefined],
    ['form-data; name="a"; name*=UTF-8\'\'model', undefined],
    ['form-data; name="mod\\el"', undefined],
    ['form-data; name="a" model', undefined],
    ['form-data; name=a"b', undefined],
  ])('is parsed from %s', (header, expected) => expect(readDisposition(header)).toEqual(expected))
})
