/** A body that is no JSON object, whatever the endpoint. */
export interface MalformedText {
  readonly name: string
  /** @param good a whole good body as JSON */
  make(good: string): string | Uint8Array
  /** In place of `application/json`. */
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
}

const text = (name: string, body: string): MalformedText => ({ name, make: () => body })
const bent = (name: string, make: MalformedText['make'], more: Partial<MalformedText> = {}): MalformedText => ({
  name,
  make,
  ...more,
})
/** A good body with bytes in its middle that are no UTF-8. */
const spoilt = (name: string, bytes: readonly number[]): MalformedText =>
  bent(name, (good) => Buffer.concat([Buffer.from('{"x":"'), Buffer.from(bytes), Buffer.from(`",${good.slice(1)}`)]))

/** Thirty: text that is no JSON, JSON that is no object, bytes that are no text, and other types of content. */
export const malformedTexts: readonly MalformedText[] = [
  text('nothing', ''),
  text('blanks', ' \r\n\t '),
  text('an open brace', '{'),
  text('a half word', 'nul'),
  text('null', 'null'),
  text('true', 'true'),
  text('a number', '42'),
  text('a text', '"model"'),
  text('a list', '[]'),
  bent('a list of bodies', (good) => `[${good}]`),
  bent('cut in the middle', (good) => good.slice(0, good.length / 2)),
  bent('without its last brace', (good) => good.slice(0, -1)),
  bent('one brace more', (good) => `${good}}`),
  bent('two bodies', (good) => good + good),
  bent('a comma at the end', (good) => `${good.slice(0, -1)},}`),
  bent('single quotes', (good) => good.replaceAll('"', "'")),
  bent('keys without quotes', (good) => good.replaceAll(/"(\w+)":/g, '$1:')),
  bent('a comment', (good) => `/* please */ ${good}`),
  bent('a line break within a text', (good) => `{"x":"a\nb",${good.slice(1)}`),
  bent('an escape that there is not', (good) => `{"x":"\\x41",${good.slice(1)}`),
  bent('a number with a zero in front', (good) => `{"x":007,${good.slice(1)}`),
  bent('NaN', (good) => `{"x":NaN,${good.slice(1)}`),
  bent('10,000 levels', (good) => `{"x":${'['.repeat(10_000)}${']'.repeat(10_000)},${good.slice(1)}`),
  spoilt('a byte that no text has', [0xff]),
  spoilt('half a character', [0xe2, 0x82]),
  spoilt('a surrogate as bytes', [0xed, 0xa0, 0x80]),
  bent('UTF-16', (good) => Buffer.from(`\ufeff${good}`, 'utf16le')),
  bent('text/plain', (good) => good, { type: 'text/plain' }),
  bent('a form of the web', () => 'model=a&input=b', { type: 'application/x-www-form-urlencoded' }),
  bent('an encoding that there is not', (good) => good, { headers: { 'content-encoding': 'rot13' } }),
]
