import type { Format } from '../../base/recorded-traffic.ts'
import { sleep } from '../../base/upstream-responses.ts'
import type { Check, Target } from '../check.ts'
import { inParallel, tally } from '../measurements.ts'
import { readError, type ToldError } from '../read-responses.ts'
import { type Endpoint, endpoints } from './endpoints.ts'
import { faultsOf } from './malformed-fields.ts'
import { brokenForms, formFaultsOf, formType, writeForm } from './malformed-forms.ts'
import { headOf, pour } from './slow-upload.ts'

/** As many for each endpoint: half of them no bodies at all, half of them with one field that is wrong. */
const bodiesEach = 60

interface Case {
  readonly endpoint: Endpoint
  readonly name: string
  readonly body: string | Uint8Array
  readonly type: string
  readonly headers: Readonly<Record<string, string>>
  /** The field that the error has to name. */
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

/** In whatever spelling: Google's errors write snake_case for what is asked in camelCase. */
const plain = (name: string): string => name.toLowerCase().replaceAll('_', '')

/** In dialects without a field for it, the message has the name. */
const names = ({ param, message }: ToldError, wanted: string, format: Format): boolean =>
  format === 'messages' || format === 'gemini'
    ? plain(`${param ?? ''} ${message}`).includes(plain(wanted))
    : param !== undefined && plain(param).startsWith(plain(wanted))

/** An upstream of another format: in the client's own, fields that the gateway need not read are the provider's to refuse. */
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
  const { status, raw } = await pour(target, [Buffer.concat([Buffer.from(head), bytes])])
  return { status, text: Buffer.from(raw.slice(raw.indexOf('\r\n\r\n') + 4), 'latin1').toString('utf8') }
}

/**
 * Bodies that no provider would take, at every endpoint that takes one: refused in the words of the endpoint's clients, with
 * the field named where one is wrong, and nobody is called for them.
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
      if (answer.status < 400 || answer.status >= 500) return `${what}: answered ${answer.status}`
      refused++
      const told = readError(endpoint.format, answer)
      if (told === undefined) return `${what}: ${answer.status} not in the dialect: ${answer.text.slice(0, 100)}`
      inDialect++
      if (param === undefined) return undefined
      if (!names(told, param, endpoint.format)) return `${what}: ${param} is not named: ${told.param} / ${told.message}`
      named++
      return undefined
    })
    await sleep(50)
    const called = upstream.requests - before
    const fell = complaints.filter((complaint) => complaint !== undefined)
    return {
      held: fell.length === 0 && called === 0,
      figure:
        `${refused}/${cases.length} answered 4xx at ${endpoints.length} endpoints, ${inDialect} in the dialect; ` +
        `${named}/${fields} name the field; ${called} upstream calls`,
      notes: tally(fell),
    }
  },
}

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
