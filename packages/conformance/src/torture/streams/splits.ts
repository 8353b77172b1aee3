import fc from 'fast-check'
import type { ClientFormat } from '../../base/client-formats.ts'
import { readRecording } from '../../base/content/recording.ts'
import {
  type Exchange,
  type Format,
  formats,
  haveRecordings,
  recordedExchanges,
  whyNoRecordings,
} from '../../base/recorded-traffic.ts'
import { good } from '../../base/streams.ts'
import { withoutTimes } from '../../base/times.ts'
import { type Cuts, cut } from '../../base/upstream-fetch.ts'
import { beginStream } from '../../base/upstream-responses.ts'
import type { Check, CheckContext } from '../check.ts'
import { exchange, type HttpResponse } from '../client.ts'
import { inParallel, tally } from '../measurements.ts'
import { readStream } from '../read-responses.ts'

/** An upstream's stream and its format. */
interface Stream {
  readonly name: string
  readonly format: Format
  readonly text: string
}

/** One way to deliver a stream. */
interface Served {
  readonly stream: Stream
  readonly client: ClientFormat
  readonly how: 'in two parts' | 'byte by byte' | 'with other line ends'
  readonly name: string
  readonly text: string
  readonly cuts: Cuts
}

/** Larger streams are not sent byte by byte. */
const mostBytes = 20_000
const width = 8

/** "one two three" with characters of two, three and four bytes, and one that ends lines in JavaScript. */
const shortStreams: readonly Stream[] = formats.map((format) => ({
  name: `the short ${format} stream`,
  format,
  text: good[format].join('').replaceAll(' two', ' zw\u00f6lf \u20ac \u{1f600}\u2028'),
}))

/** Returns recorded streams of one complete response. */
const wholeStreams = (): Stream[] =>
  recordedExchanges()
    .filter(
      (one: Exchange) =>
        one.stream &&
        one.method === 'POST' &&
        !one.features.has('stream_error') &&
        !one.features.has('concatenated_streams') &&
        Buffer.byteLength(one.answer) <= mostBytes &&
        readStream(one.format, one.answer).successes.length > 0 &&
        readRecording(one) !== undefined,
    )
    .map(({ path, format, answer }) => ({ name: path, format, text: answer }))

const variantsOf = (stream: string): Record<string, string> => {
  const lines = stream.replaceAll('\r\n', '\n')
  return {
    CRLF: lines.replaceAll('\n', '\r\n'),
    CR: lines.replaceAll('\n', '\r'),
    BOM: `\uFEFF${lines}`,
    comments: lines.replaceAll('\n\n', '\n\n: keep-alive\n\n'),
    'ids and retries': lines.replaceAll('\n\n', '\nid: 7\nretry: 100\n\n'),
  }
}

const otherLines = (stream: Stream, client: ClientFormat, cuts: Cuts): Served[] =>
  Object.entries(variantsOf(stream.text)).map(([name, text]) => ({
    stream,
    client,
    how: 'with other line ends',
    name,
    text,
    cuts,
  }))

const splitAt = (stream: Stream, client: ClientFormat, at: number): Served => ({
  stream,
  client,
  how: 'in two parts',
  name: `split at ${at}`,
  text: stream.text,
  cuts: [at],
})

const byteByByte = (stream: Stream, client: ClientFormat): Served => ({
  stream,
  client,
  how: 'byte by byte',
  name: 'byte by byte',
  text: stream.text,
  cuts: 1,
})

/** Returns split positions, the same in every run. */
const positions = (bytes: number, count: number, seed: number): number[] =>
  fc.sample(fc.integer({ min: 1, max: bytes - 1 }), { numRuns: count, seed })

/** Returns the clients of a stream: its own format's, and one or all of the others. */
function clientsOf({ target, short }: CheckContext, { format }: Stream, place: number, all: boolean): ClientFormat[] {
  const clients = target.pairs.filter((pair) => pair.upstream === format).map((pair) => pair.client)
  const others = clients.filter((client) => client !== format)
  const other = others[place % others.length]
  if (all && !short) return clients
  return [...clients.filter((client) => client === format), ...(other === undefined ? [] : [other])]
}

function casesOf(setting: CheckContext, recorded: readonly Stream[]): Served[] {
  const cases: Served[] = []
  for (const [place, stream] of shortStreams.entries())
    for (const client of clientsOf(setting, stream, place, true)) {
      const bytes = Buffer.byteLength(stream.text)
      const step = setting.count(1, 16)
      for (let at = 1; at < bytes; at += step) cases.push(splitAt(stream, client, at))
      cases.push(byteByByte(stream, client), ...otherLines(stream, client, 1), ...otherLines(stream, client, 1000))
    }
  for (const [place, stream] of recorded.entries())
    for (const client of clientsOf(setting, stream, place, false)) {
      cases.push(byteByByte(stream, client), ...otherLines(stream, client, place % 4 === 0 ? 1 : 700))
      for (const at of positions(Buffer.byteLength(stream.text), setting.count(8, 2), place))
        cases.push(splitAt(stream, client, at))
    }
  return cases
}

/** Matches ids by their keys; generated ids are long. They also occur in other places, such as a signature. */
const longIds = /"(?:(?:\w+_)?id|responseId|toolUseId)":\s*"([^"]{8,})"/g

/** Removes ids and times, which a gateway generates for each response if the client's format requires them. */
function settled(text: string): string {
  let plain = withoutTimes(text)
  const ids = new Set([...plain.matchAll(longIds)].map(([, id = '']) => id))
  for (const [place, id] of [...ids].entries()) plain = plain.replaceAll(id, `#${place}`)
  return plain
}

const ask = async (
  { target, upstream }: CheckContext,
  { stream, client }: Served,
  text: string,
  cuts: Cuts,
): Promise<HttpResponse> => {
  const bytes = Buffer.from(text)
  const scene = upstream.play((call) => {
    beginStream(call)
    // Each part is a chunk of HTTP, and is read as one however TCP packs it.
    for (const part of cut(bytes, cuts)) call.response.write(part)
    call.response.end()
  })
  const answer = await exchange(target, {
    client,
    upstream: stream.format,
    text: scene.marker,
    stream: true,
    ...(client === 'chat' ? { more: { stream_options: { include_usage: true } } } : {}),
  })
  scene.end()
  return answer
}

/** Bytes after the terminal event need not be read. */
const mostBehind = 200
const isPassedOn = (came: string, sent: string): boolean =>
  sent.trimEnd().startsWith(came.trimEnd()) && sent.trimEnd().length - came.length <= mostBehind

const strangers = (text: string): number => text.split('\uFFFD').length - 1

/** Returns the defect of a response, compared with the same stream in one piece with plain line ends. */
function wrongWith({ stream, client, text }: Served, answer: HttpResponse, whole: HttpResponse): string | undefined {
  if (answer.status !== whole.status) return `status ${answer.status}, but ${whole.status} in one piece`
  if (answer.broken !== undefined) return `it broke: ${answer.broken}`
  if (strangers(answer.text) > strangers(text)) return 'U+FFFD'
  if (client === stream.format) return isPassedOn(answer.text, text) ? undefined : 'not the upstream’s bytes'
  return settled(answer.text) === settled(whole.text) ? undefined : 'another result than in one piece'
}

/**
 * Streams in every split and spelling, over sockets. `streams.test.ts` runs every recorded stream for every client in
 * process; here a large part of it runs over HTTP, the same part in every run.
 */
export const splits: Check = {
  row: 3,
  group: 'Streams',
  title: 'Every fixture at every byte split, 1-byte writes, CRLF/CR/BOM/comments',
  promise: 'output byte-identical, 0 U+FFFD, 100 % of splits',
  async run(setting) {
    const all = haveRecordings ? wholeStreams() : []
    const recorded = setting.short ? all.filter((_, place) => place % 16 === 0) : all
    const cases = casesOf(setting, recorded)
    const wholes = new Map<string, Promise<HttpResponse>>()
    const wholeOf = (served: Served): Promise<HttpResponse> => {
      const { stream, client } = served
      const key = `${client} ${stream.name}`
      const known = wholes.get(key) ?? ask(setting, served, stream.text.replaceAll('\r\n', '\n'), mostBytes)
      wholes.set(key, known)
      return known
    }
    const complaints: string[] = []
    const counts: Record<string, number> = {}
    await inParallel(cases, width, async (served) => {
      const [whole, answer] = [await wholeOf(served), await ask(setting, served, served.text, served.cuts)]
      const wrong = wrongWith(served, answer, whole)
      counts[served.how] = (counts[served.how] ?? 0) + 1
      if (wrong !== undefined)
        complaints.push(
          `${served.client} from ${served.stream.format}, ${served.name}: ${wrong} (${served.stream.name})`,
        )
    })
    const kinds = Object.entries(counts).map(([how, count]) => `${count} ${how}`)
    return {
      held: complaints.length === 0,
      figure:
        `${cases.length - complaints.length}/${cases.length} identical (${kinds.join(', ')}; ` +
        `${shortStreams.length} short and ${recorded.length} recorded streams), ` +
        `${complaints.filter((complaint) => complaint.includes('U+FFFD')).length} with U+FFFD`,
      notes: [...(haveRecordings ? [] : [whyNoRecordings]), ...tally(complaints)],
    }
  },
}
