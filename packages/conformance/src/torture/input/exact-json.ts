import type { UpstreamCall } from '../../base/raw-upstream.ts'
import { type Format, formats } from '../../base/recorded-traffic.ts'
import { good } from '../../base/streams.ts'
import { beginStream, formatOf, sendGoodResponse, sendJson, wholeResponse } from '../../base/upstream-responses.ts'
import type { Check, CheckContext, Target } from '../check.ts'
import { bodyFor, exchange, type TargetRequest } from '../client.ts'
import { tally } from '../measurements.ts'
import { readError } from '../read-responses.ts'

/** Members that parsing and serialising JSON would change, one per kind. */
const oddMembers: Readonly<Record<string, string>> = {
  numbers:
    '"x_numbers":[12345678901234567890,9007199254740993,1.0,1e2,1E+2,-0,-0.0,0.1000,1e-7,1e400,0.1234567890123456789]',
  prototypes:
    '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"toString":1,"hasOwnProperty":null',
  duplicates: '"x_twice":1,"x_twice":{"x_twice":2,"x_twice":3},"x_twice":[ ]',
  surrogates: '"x_halves":"\\ud83d \\udc00 \\uDE00\\uD83D","x_whole":"\\uD83D\\uDE00 😀"',
  escapes: '"x_escapes":"\\/ \\u0000 \\u00e9 é e\u0301 \\u2028 \u2028 \\u003c/script\\u003e","\\u0078_key":1',
  blanks: '\r\n\t "x_blanks" \n:\t[ 1 ,\r\n2 ]\t',
  order: '"9":1,"1":2,"a":3,"0":4,"":5',
  depth: `"x_deep":${'[{"a":'.repeat(40)}1${'}]'.repeat(40)}`,
}

/** Bytes that are invalid UTF-8. */
const noText: Readonly<Record<string, readonly number[]>> = {
  'a continuation alone': [0x80],
  'half of two': [0xc3],
  'half of three': [0xe2, 0x82],
  'half of four': [0xf0, 0x9f, 0x98],
  'an overlong slash': [0xc0, 0xaf],
  'an overlong NUL': [0xe0, 0x80, 0x80],
  'a high surrogate': [0xed, 0xa0, 0x80],
  'a pair of surrogates': [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80],
  'beyond Unicode': [0xf4, 0x90, 0x80, 0x80],
  'five bytes': [0xf8, 0x88, 0x80, 0x80, 0x80],
  'FE FF': [0xfe, 0xff],
  'Latin-1': [0xe4, 0xf6, 0xfc],
}

const withMember = (json: string, member: string): string => `{${member},${json.trimStart().slice(1)}`

/** Returns the pairs without translation. */
const straight = (target: Target): readonly { readonly client: Format; readonly upstream: Format }[] =>
  target.pairs.flatMap(({ client, upstream }) => (client === upstream ? [{ client: upstream, upstream }] : []))

/** Collects complaints, and counts cases. */
class Tally {
  total = 0
  readonly complaints: string[] = []
  /** @param complaint undefined if the case passed */
  note(what: string, complaint: string | undefined): void {
    this.total++
    if (complaint !== undefined) this.complaints.push(`${what}: ${complaint}`)
  }
  get figure(): string {
    return `${this.total - this.complaints.length}/${this.total}`
  }
}

/** Returns the position at which two texts differ, for debugging. */
function difference(sent: string, got: string): string | undefined {
  if (sent === got) return undefined
  let at = 0
  while (sent[at] === got[at]) at++
  const around = (text: string): string => JSON.stringify(text.slice(Math.max(0, at - 10), at + 30))
  return `${around(sent)} became ${around(got)}`
}

/** Checks requests as the upstream receives them. */
async function requests({
  target,
  upstream,
  fresh,
}: CheckContext): Promise<Record<'same' | 'renamed' | 'twice', Tally>> {
  const same = new Tally()
  const renamed = new Tally()
  const twice = new Tally()
  const aliases = Object.fromEntries(
    formats.map((format) => [`alias-${format}`, { upstream: format, model: `real-${format}` }]),
  )
  const renaming = await fresh({ models: aliases })
  const scene = upstream.play(sendGoodResponse)
  const send = async (to: Target, ask: TargetRequest): Promise<string> => {
    const before = scene.calls.length
    const { status } = await exchange(to, ask)
    const call = scene.calls[before]
    return call === undefined ? `no call (returned status ${status})` : call.body.toString('utf8')
  }
  for (const pair of straight(target)) {
    const ask: TargetRequest = { ...pair, text: scene.marker }
    for (const [name, member] of Object.entries(oddMembers)) {
      const body = withMember(bodyFor(target, ask), member)
      const what = `${pair.client}, ${name}`
      same.note(what, difference(body, await send(target, { ...ask, body })))
      // generateContent has the model in the path: nothing in the body changes.
      const alias = { ...ask, model: `alias-${pair.client}` }
      const own = withMember(bodyFor(target, alias), member)
      const wanted = own.replace(`"alias-${pair.client}"`, `"real-${pair.client}"`)
      if (renaming !== undefined) renamed.note(what, difference(wanted, await send(renaming, { ...alias, body: own })))
    }
    if (pair.client === 'gemini') continue
    // With duplicate names, the upstream may read the unchecked one.
    const other = 'a-model-that-nobody-may-use'
    for (const key of ['model', 'Model', '\\u006dodel']) {
      const body = withMember(bodyFor(target, ask), `"${key}":"${other}"`)
      twice.note(
        `${pair.client}, a second name as ${key}`,
        (await send(target, { ...ask, body })).includes(other) ? 'reached the upstream' : undefined,
      )
    }
  }
  scene.end()
  return { same, renamed, twice }
}

const withOddities = (json: string): string =>
  withMember(
    json,
    ['numbers', 'prototypes', 'duplicates', 'surrogates', 'escapes'].map((name) => oddMembers[name]).join(','),
  )

/** Sends an ordinary response with odd members in each of its objects. */
function answerOddly(call: UpstreamCall): void {
  const format = formatOf(call)
  if (!call.stream) {
    sendJson(call, 200, oddAnswer(format))
    return
  }
  beginStream(call)
  for (const event of oddStream(format)) call.response.write(event)
  call.response.end()
}
const oddAnswer = (format: Format): string => withOddities(JSON.stringify(wholeResponse[format], undefined, 1))
const oddStream = (format: Format): string[] =>
  good[format].map((event) => event.replaceAll(/^(data: )(\{)/gm, (_, data: string) => data + withOddities('{')))

/** Checks responses as the client receives them. */
async function answers({ target, upstream }: CheckContext): Promise<Tally> {
  const reported = new Tally()
  const scene = upstream.play(answerOddly)
  for (const pair of straight(target))
    for (const stream of [false, true]) {
      const more = pair.client === 'chat' && stream ? { more: { stream_options: { include_usage: true } } } : {}
      const answer = await exchange(target, { ...pair, text: scene.marker, stream, ...more })
      const wanted = stream ? oddStream(pair.client).join('') : oddAnswer(pair.client)
      reported.note(`${pair.client}, ${stream ? 'a stream' : 'a response'}`, difference(wanted, answer.text))
    }
  scene.end()
  return reported
}

/** Checks invalid bytes in a value, in a key and outside of both. */
async function invalid({ target, upstream }: CheckContext): Promise<Tally> {
  const reported = new Tally()
  const scene = upstream.play(sendGoodResponse)
  const clients = [...new Map(target.pairs.map((pair) => [pair.client, pair])).values()]
  for (const pair of clients)
    for (const [name, bytes] of Object.entries(noText))
      for (const [place, before, after] of [
        ['a value', '{"x":"', '",'],
        ['a key', '{"', '":1,'],
        ['outside of any text', '{', ' '],
      ] as const) {
        const ask: TargetRequest = { ...pair, text: scene.marker }
        const rest = bodyFor(target, ask).slice(1)
        const body = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after + rest)])
        const calls = scene.calls.length
        const answer = await exchange(target, { ...ask, body })
        reported.note(
          `${pair.client}, ${name} in ${place}`,
          scene.calls.length > calls
            ? 'reached the upstream'
            : answer.status !== 400
              ? `returned status ${answer.status}`
              : readError(pair.client, answer) === undefined
                ? 'not in the dialect'
                : undefined,
        )
      }
  scene.end()
  return reported
}

const poison = '{"polluted":"by-torture"}'

/** Sends poisoned members of objects in requests and responses, over all pairs, translated or not. */
async function pollution({ target, upstream }: CheckContext): Promise<{ attempts: number; complaints: string[] }> {
  const complaints: string[] = []
  let attempts = 0
  const scene = upstream.play(answerOddly)
  const member = `"__proto__":${poison},"constructor":{"prototype":${poison}}`
  for (const pair of target.pairs)
    for (const stream of [false, true]) {
      const ask: TargetRequest = { ...pair, text: scene.marker, stream }
      const clean = bodyFor(target, ask)
      // In every object of the body, and in a list of tools in the format with the most of them.
      const body = withMember(
        clean.replaceAll('{"role"', `{${member},"role"`).replaceAll('{"text"', `{${member},"text"`),
        member,
      )
      // Computed keys, because a literal one would set the prototype itself.
      const headers = { ['__proto__']: 'polluted', constructor: 'polluted' }
      await exchange(target, { ...ask, body, headers })
      await exchange(target, { ...ask, body: withMember(clean, `"metadata":{${member}},"logit_bias":{${member}}`) })
      attempts += 2
    }
  scene.end()
  // Inherited properties would show in an ordinary call, at the upstream or in the response.
  const after = upstream.play(sendGoodResponse)
  for (const pair of target.pairs) {
    const answer = await exchange(target, { ...pair, text: after.marker })
    const seen = `${after.calls.at(-1)?.body.toString('latin1')} ${JSON.stringify(after.calls.at(-1)?.headers)} ${answer.text}`
    if (seen.includes('polluted')) complaints.push(`${pair.client} > ${pair.upstream}: a later call is polluted`)
    if (answer.status !== 200)
      complaints.push(`${pair.client} > ${pair.upstream}: a later call has status ${answer.status}`)
  }
  after.end()
  const names = (await target.local?.stats())?.polluted ?? []
  if (names.length > 0) complaints.push(`every object has inherited ${names.join(', ')}`)
  return { attempts, complaints }
}

/** Content that a gateway would change or lose by parsing and serialising it. */
export const exact: Check = {
  row: 30,
  group: 'Input',
  title: 'Numbers, `__proto__`, duplicates, surrogates, invalid UTF-8',
  promise: 'pass-through JSON byte-exact; `Object.prototype` untouched; invalid UTF-8 400',
  async run(setting) {
    const { same, renamed, twice } = await requests(setting)
    const back = await answers(setting)
    const refused = await invalid(setting)
    const { attempts, complaints } = await pollution(setting)
    const all = [same, renamed, twice, back, refused].flatMap((one) => one.complaints).concat(complaints)
    return {
      held: all.length === 0,
      figure:
        `byte for byte ${same.figure} requests, ${back.figure} responses` +
        `${renamed.total > 0 ? `, ${renamed.figure} except for a new model name` : ''}; ${twice.figure} second names kept back;` +
        `invalid UTF-8 ${refused.figure} refused with 400; Object.prototype ` +
        `${complaints.length === 0 ? 'untouched' : 'touched'} by ${attempts} attempts`,
      notes: tally(all),
    }
  },
}
