import type { DialectError } from '../../base/client-formats.ts'
import type { Format } from '../../base/recorded-traffic.ts'
import { sleep } from '../../base/upstream-responses.ts'
import type { Check, Target } from '../check.ts'
import { inParallel, tally } from '../measurements.ts'
import { readError } from '../read-responses.ts'
import { type Endpoint, endpoints } from './endpoints.ts'
import { faultsOf } from './malformed-fields.ts'
import { brokenForms, formFaultsOf, formType, writeForm } from './malformed-forms.ts'
import { headOf, uploadSlowly } from './slow-upload.ts'

/** Number of bodies per endpoint: half of them invalid as a whole, half with one invalid field. */
const bodiesEach = 60

interface Case {
  readonly endpoint: Endpoint
  readonly name: string
  readonly body: string | Uint8Array
  readonly type: string
  readonly headers: Readonly<Record<string, string>>
  /** The field that the error must name. */
  readonly param: string | undefined
}

function casesOf(endpoint: Endpoint, model: string): Case[] {
  const make = (
    name: string,
    body: string | Uint8Array,
    { type = 'application/json', headers = {}, param }: Partial<Pick<Case, 'type' | 'headers' | 'param'>>,
  ): Case => ({ endpoint, name, body, type, headers, param })
  const all =
    'form' in endpoint
      ? [
          ...brokenForms.map(({ name, make: write, type = formType, headers = {} }) =>
            make(name, write(endpoint.parts(model)), { type, headers }),
          ),
          ...formFaultsOf(endpoint.form).map(({ name, param, apply }) =>
            make(name, writeForm(apply(endpoint.parts(model))), { type: formType, param }),
          ),
        ]
      : [
          ...malformedTexts.map(({ name, make: write, type, headers }) =>
            make(name, write(JSON.stringify(endpoint.good(model))), {
              ...(type === undefined ? {} : { type }),
              ...(headers === undefined ? {} : { headers }),
            }),
          ),
          ...faultsOf(endpoint.fields).map(({ name, param, apply }) =>
            make(name, JSON.stringify(apply(endpoint.good(model))), { param }),
          ),
        ]
  if (all.length < bodiesEach) throw new Error(`${endpoint.name}: only ${all.length} of ${bodiesEach} bodies`)
  return all.slice(0, bodiesEach)
}

/** Normalises spelling: Google's errors write snake_case for camelCase fields. */
const plain = (name: string): string => name.toLowerCase().replaceAll('_', '')

/** In dialects without a separate property, the message contains the name. */
const names = ({ param, message }: DialectError, wanted: string, format: Format): boolean =>
  format === 'messages' || format === 'gemini'
    ? plain(`${param ?? ''} ${message}`).includes(plain(wanted))
    : param !== undefined && plain(param).startsWith(plain(wanted))

/**
 * Selects an upstream of another format: in pass-through, the provider rejects fields that the gateway need not read.
 */
const modelFor = (target: Target, { name }: Pick<Endpoint, 'name'>): string =>
  target.model(name === 'chat/completions' ? 'messages' : 'chat')

async function ask(target: Target, { endpoint, body, type, headers }: Case) {
  const bytes = Buffer.from(body)
  const head = headOf(target, endpoint.path(modelFor(target, endpoint)), {
    'content-type': type,
    'content-length': String(bytes.length),
    connection: 'close',
    ...(endpoint.format === 'messages' ? { 'anthropic-version': '2023-06-01' } : {}),
    ...headers,
  })
  const { status, raw } = await uploadSlowly(target, [Buffer.concat([Buffer.from(head), bytes])])
  return { status, text: Buffer.from(raw.slice(raw.indexOf('\r\n\r\n') + 4), 'latin1').toString('utf8') }
}

/**
 * Bodies that no provider accepts must be rejected in the dialect of the endpoint's clients, with the invalid field
 * named, and without an upstream call.
 */
export const malformed: Check = {
  row: 28,
  group: 'Input',
  title: '60 malformed bodies × 13 endpoints',
  promise: '100 % 4xx, right dialect, `param` named, 0 × 500, 0 upstream calls',
  async run({ target, upstream, count }) {
    const step = count(1, 4)
    const cases = endpoints
      .flatMap((endpoint) => casesOf(endpoint, modelFor(target, endpoint)))
      .filter((_, place) => place % step === 0)
    const before = upstream.requests
    let refused = 0
    let inDialect = 0
    let named = 0
    let fields = 0
    const complaints = await inParallel(cases, 8, async (one): Promise<string | undefined> => {
      const { endpoint, name, param } = one
      const answer = await ask(target, one)
      const what = `${endpoint.name}, ${name}`
      if (param !== undefined) fields++
      if (answer.status < 400 || answer.status >= 500) return `${what}: returned status ${answer.status}`
      refused++
      const reported = readError(endpoint.format, answer)
      if (reported === undefined) return `${what}: ${answer.status} not in the dialect: ${answer.text.slice(0, 100)}`
      inDialect++
      if (param === undefined) return undefined
      if (!names(reported, param, endpoint.format))
        return `${what}: ${param} is not named: ${reported.param} / ${reported.message}`
      named++
      return undefined
    })
    await sleep(50)
    const called = upstream.requests - before
    const fell = complaints.filter((complaint) => complaint !== undefined)
    return {
      held: fell.length === 0 && called === 0,
      figure:
        `${refused}/${cases.length} rejected with 4xx at ${endpoints.length} endpoints, ${inDialect} in the dialect;` +
        `${named}/${fields} name the field; ${called} upstream calls`,
      notes: tally(fell),
    }
  },
}

/** A body that is not a JSON object, for any endpoint. */
export interface MalformedText {
  readonly name: string
  /** @param good a complete good body as JSON */
  make(good: string): string | Uint8Array
  /** Replaces `application/json`. */
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
}

const text = (name: string, body: string): MalformedText => ({ name, make: () => body })
const bent = (name: string, make: MalformedText['make'], more: Partial<MalformedText> = {}): MalformedText => ({
  name,
  make,
  ...more,
})
/** Returns a good body with invalid UTF-8 in its middle. */
const spoilt = (name: string, bytes: readonly number[]): MalformedText =>
  bent(name, (good) => Buffer.concat([Buffer.from('{"x":"'), Buffer.from(bytes), Buffer.from(`",${good.slice(1)}`)]))

/** Thirty malformed bodies: invalid JSON, JSON other than an object, invalid text, and other content types. */
const malformedTexts: readonly MalformedText[] = [
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
  bent('an unknown escape', (good) => `{"x":"\\x41",${good.slice(1)}`),
  bent('a number with a leading zero', (good) => `{"x":007,${good.slice(1)}`),
  bent('NaN', (good) => `{"x":NaN,${good.slice(1)}`),
  bent('10,000 levels', (good) => `{"x":${'['.repeat(10_000)}${']'.repeat(10_000)},${good.slice(1)}`),
  spoilt('an invalid byte', [0xff]),
  spoilt('half a character', [0xe2, 0x82]),
  spoilt('a surrogate as bytes', [0xed, 0xa0, 0x80]),
  bent('UTF-16', (good) => Buffer.from(`\ufeff${good}`, 'utf16le')),
  bent('text/plain', (good) => good, { type: 'text/plain' }),
  bent('a form of the web', () => 'model=a&input=b', { type: 'application/x-www-form-urlencoded' }),
  bent('an unknown encoding', (good) => good, { headers: { 'content-encoding': 'rot13' } }),
]
