import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { type ClientFormat, clientFormats, simpleRequest } from '../base/client-formats.ts'
import { readableText } from '../base/frames.ts'
import { requestTo, upstreamKey } from '../base/gateways.ts'
import { type Format, haveRecordings, recordedExchanges } from '../base/recorded-traffic.ts'
import { fuzzGateway } from './gateway.ts'
import { pick } from './json-mutations.ts'
import { internalLeak, streamDefect } from './oracle.ts'
import { choice, playRecipes, rarely, streamRecipes } from './recipes.ts'
import { fuzz, fuzzPatience, longRun, settled, watchProcess, withFacts } from './runs.ts'
import { type StreamRecipe, streamBase, streamBases, streamOf } from './streams.ts'
import { withUnprintableValues } from './unprintable-values.ts'
import { type Play, type PlayRecipe, playOf, sentBytes } from './upstream.ts'

watchProcess()

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** The short run uses no recordings, so that it is the same everywhere. */
const recorded =
  longRun && haveRecordings
    ? recordedExchanges('CORE.tsv')
        .filter(({ stream, answer }) => stream && answer.length < 6000)
        .map(({ format, answer }) => streamBase(format, answer))
    : []
const bases = [...streamBases, ...recorded]
const under = fuzzGateway()

interface Recipe {
  readonly stream: StreamRecipe
  readonly play: PlayRecipe
  readonly client: number
  /** Number of chunks after which the client disconnects; null: never. */
  readonly leaves: number | null
  /** Gemini streams may be one JSON array. */
  readonly array: boolean
}

const recipes: fc.Arbitrary<Recipe> = fc.record({
  stream: streamRecipes,
  play: playRecipes(8),
  client: choice,
  leaves: rarely(fc.nat(6), null, 8),
  array: rarely(fc.constant(true), false, 8),
})

const requests = Object.fromEntries(
  clientFormats.map((format) => [format, JSON.stringify(simpleRequest(format, true))]),
) as Record<ClientFormat, string>

function requestFor(client: ClientFormat, upstream: Format, array: boolean): Request {
  const body = requests[client].replace('"recorded"', `"${upstream}-model"`)
  const request = requestTo(client, body, {}, { model: `${upstream}-model`, stream: true })
  return array ? new Request(request.url.replace('?alt=sse', ''), request) : request
}

/** Returns the elements of an array as stream events, without parsing: elements nested too deeply must pass too. */
function eventsOf(text: string): string | undefined {
  const trimmed = text.trim()
  if (!trimmed.startsWith('[') || !trimmed.endsWith(']')) return undefined
  const elements = trimmed.slice(1, -1).trim()
  return elements
    .split(',\r\n')
    .map((element) => `data: ${element.replaceAll('\n', '\ndata: ')}\n\n`)
    .join('')
}

interface Came {
  readonly status: number
  readonly bytes: Uint8Array
  readonly text: string
  readonly name: string
}

async function ask(request: Request, leaves: number | null): Promise<Came> {
  const response = await under.gateway.fetch(request)
  const { status } = response
  const parts: Uint8Array[] = []
  if (leaves === null) parts.push(new Uint8Array(await response.arrayBuffer()))
  else if (response.body !== null) {
    const reader = response.body.getReader()
    for (let read = 0; read < leaves; read++) {
      const { done, value } = await reader.read()
      if (done) break
      parts.push(value)
    }
    await reader.cancel()
  }
  const text = readableText(Buffer.concat(parts), response.headers.get('content-type'))
  return { status, bytes: Buffer.from(text), text, name: response.headers.get('x-amzn-errortype') ?? '' }
}

function judge(client: ClientFormat, upstream: Format, play: Play, came: Came, array: boolean): string | undefined {
  const { status } = play
  const reported = { ...came }
  if (array && came.status === 200) {
    const events = eventsOf(came.text)
    if (events === undefined) return 'the array is not closed'
    reported.text = events
    reported.bytes = Buffer.from(events)
  }
  const wrong = streamDefect(client, upstream, sentBytes(play), reported, status >= 400 && status < 500)
  return (
    wrong ??
    (status === 401 && came.status !== 200 && came.status < 500 ? `an upstream's 401 became ${came.status}` : undefined)
  )
}

function tryStream({ stream, play, client: place, leaves, array: asArray }: Recipe): Promise<string | undefined> {
  const base = pick(bases, stream.base)
  const client = pick(clientFormats, place)
  const array = asArray && client === 'gemini'
  return tryPlay(client, base.format, playOf(streamOf(base, stream), play, 'text/event-stream'), leaves, array)
}

async function tryPlay(
  client: ClientFormat,
  upstream: Format,
  play: Play,
  leaves: number | null,
  array: boolean,
): Promise<string | undefined> {
  under.begin(play)
  const came = await settled(ask(requestFor(client, upstream, array), leaves))
  const complaint =
    (leaves === null ? judge(client, upstream, play, came, array) : undefined) ??
    internalLeak(came.text, [upstreamKey, 'upstream.test', '10.0.0.7']) ??
    under.accountingDefect(true)
  const { bytes, ...how } = play
  return withFacts(
    complaint && `${client} from ${upstream}: ${complaint}`,
    JSON.stringify(how),
    decoder.decode(bytes),
    `${came.status} ${came.text}`,
  )
}

/** A stream without mutations. */
const still = { events: [], within: [], bytes: [], layout: 0 }
const calm = { head: [], cuts: 0, ending: 0 }

beforeAll(async () => {
  for (let base = 0; base < bases.length; base++)
    for (let client = 0; client < clientFormats.length; client++)
      await tryStream({ stream: { ...still, base }, play: calm, client, leaves: null, array: false })
}, 60_000)

test(
  'ends fuzzed streams in success if the upstream succeeded, or else in one error',
  () => fuzz('streams', recipes, tryStream, 1500),
  fuzzPatience,
)

/** Yields the stream with an object without a primitive form in place of each value of each event. */
function* withWordlessEvents(stream: string): Generator<{ body: Uint8Array; place: string }> {
  const lines = stream.split('\n')
  for (const [at, line] of lines.entries()) {
    const data = line.startsWith('data: {') ? line.slice('data: '.length) : ''
    if (data === '') continue
    for (const { body, place } of withUnprintableValues(encoder.encode(data))) {
      const spoilt = [...lines.slice(0, at), `data: ${decoder.decode(body)}`, ...lines.slice(at + 1)].join('\n')
      yield { body: encoder.encode(spoilt), place: `line ${at}, ${place}` }
    }
  }
}

test('handles an object without a primitive form at any place of a stream without an exception', async () => {
  const found: string[] = []
  let nth = 0
  // Each place is tested with two of the clients, in rotation.
  for (const base of streamBases)
    for (const { body, place } of withWordlessEvents(decoder.decode(streamOf(base, { ...still, base: 0 }))))
      for (const client of [pick(clientFormats, nth), pick(clientFormats, nth++ + 2)]) {
        const wrong = await tryPlay(client, base.format, playOf(body, calm, 'text/event-stream'), null, false)
        if (wrong !== undefined) found.push(`${place}: ${wrong}`)
      }
  expect(found).toEqual([])
}, 240_000)
