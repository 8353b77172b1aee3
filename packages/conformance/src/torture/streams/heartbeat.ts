import { blocksOf } from '../../base/client-events.ts'
import type { ClientFormat } from '../../base/client-formats.ts'
import { eventData } from '../../base/content/content.ts'
import { listOf, objectOf, parseJson, textOf } from '../../base/json.ts'
import { good } from '../../base/streams.ts'
import { beginStream, formatOf, sleep } from '../../base/upstream-responses.ts'
import type { Check, CheckContext, Pair, Target } from '../check.ts'
import { exchangeTimed, type Piece } from '../client.ts'
import { tally } from '../measurements.ts'
import { readStream } from '../read-responses.ts'
import { sendWithOfficialSdk } from './send-with-sdk.ts'

/** Start of the silence: before any data, not even a head, or within the response. */
const silences = { 'from the start': 0, 'mid-stream': 3 } as const
type Silence = keyof typeof silences

interface Case {
  readonly pair: Pair
  readonly silence: Silence
}

interface Terms {
  readonly silentMs: number
  /** Longest time without data for a client. */
  readonly everyMs: number
  /** Time until the response must have started; before that, an error could still have a status. */
  readonly openMs: number
}

/** Tolerance of timers, on both sides. */
const slackMs = 100
/** Some clients give up after 60 s without a head; clients.md requires a response before 30 to 45 s. */
const full: Terms = { silentMs: 60_000, everyMs: 15_000, openMs: 45_000 }
/** Shortened times, if the gateway can be configured. */
const little: Terms = { silentMs: 2000, everyMs: 400, openMs: 600 }

/** A Responses stream may begin before there is any output. */
const openings = ['response.created', 'response.queued', 'response.in_progress']

const isComment = (block: string): boolean => block.split('\n').every((line) => line.startsWith(':'))

/**
 * The forms of heartbeats that all clients of a format accept (clients.md), by the block between blank lines. Before
 * the response has begun, a chunk has no id, and no event may precede the first one.
 */
const forms: Readonly<Record<ClientFormat, (block: string, id: string, begun: boolean) => boolean>> = {
  chat(block, id, begun) {
    if (!begun && isComment(block)) return true
    const chunk = objectOf(parseJson(eventData(block)[0] ?? ''))
    const deltas = listOf(chunk.choices).map((choice) => objectOf(objectOf(choice).delta))
    return (
      chunk.id === id && deltas.every(({ content = '', ...rest }) => content === '' && Object.keys(rest).length === 0)
    )
  },
  messages: (block) => /^event: ping\ndata: *\{"type": ?"ping"\}$/.test(block),
  gemini(block) {
    if (block === '') return true
    const { candidates, usageMetadata } = objectOf(parseJson(eventData(block)[0] ?? ''))
    const parts = listOf(candidates).flatMap((one) => listOf(objectOf(objectOf(one).content).parts).map(objectOf))
    return (candidates !== undefined || usageMetadata !== undefined) && parts.every(({ text }) => text === '')
  },
  responses(block, _, begun) {
    if (isComment(block)) return true
    const { type } = objectOf(parseJson(eventData(block)[0] ?? ''))
    return !begun && openings.includes(textOf(type))
  },
  // White space in front of the next line, which the client's JSON parser skips. An empty line is a warning in its log.
  ollama(line) {
    if (/^ +$/.test(line)) return true
    const { done, message } = objectOf(parseJson(line))
    return done === false && objectOf(message).content === ''
  },
  // AWS's SDKs skip events of an unknown type.
  converse(block, _, begun) {
    if (block === 'event: ping\ndata: {}') return true
    if (!begun && block === 'event: messageStart\ndata: {"role":"assistant"}') return true
    const { delta } = objectOf(parseJson(eventData(block)[0] ?? ''))
    return block.startsWith('event: contentBlockDelta\n') && objectOf(delta).text === ''
  },
}

const firstId = (text: string): string => /"id":\s*"([^"]*)"/.exec(text)?.[1] ?? ''

/** Heartbeats that one client received while its upstream was silent. */
interface Heard {
  readonly gaps: readonly number[]
  readonly opened: number
  readonly beats: number
  readonly complaints: readonly string[]
}

async function listen(setting: CheckContext, target: Target, { pair, silence }: Case, terms: Terms): Promise<Heard> {
  let [from, to] = [0, 0]
  const scene = setting.upstream.play(async (call) => {
    const events = good[formatOf(call)]
    const text = silences[silence]
    if (text > 0) beginStream(call)
    for (const event of events.slice(0, text)) call.response.write(event)
    from = performance.now()
    await sleep(terms.silentMs)
    to = performance.now()
    if (text === 0) beginStream(call)
    for (const event of events.slice(text)) call.response.write(event)
    call.response.end()
  })
  const withinMs = terms.silentMs + 20_000
  const ask = { ...pair, text: scene.marker, stream: true }
  const { status, headAt, pieces, broken } = await exchangeTimed(target, ask, { withinMs })
  scene.end()

  const complaints: string[] = []
  if (status !== 200 || broken !== undefined) complaints.push(`${status}, ${broken ?? 'whole'}`)
  const text = pieces.map((piece) => piece.text).join('')
  const { text: output, successes } = readStream(pair.client, text)
  if (output !== 'one two three' || successes.length !== 1)
    complaints.push(`at the end '${output}' and ${successes.length} claims of success`)
  const begun = silences[silence] > 0
  const beats = beatsAmong(pair.client, pieces, begun ? 'one two' : '', to)
  for (const block of blocksOf(pair.client, beats.map((piece) => piece.text).join('')))
    if (!forms[pair.client](block, firstId(text), begun))
      complaints.push(`not a heartbeat that its clients accept: ${JSON.stringify(block.slice(0, 200))}`)
  // Until the response starts, a client waits for the head.
  const opened = begun ? from : Math.min(to, headAt)
  const moments = [opened, ...beats.map(({ at }) => at), to]
  const gaps = moments.slice(1).map((at, place) => at - (moments[place] as number))
  return { gaps, opened: opened - from, beats: beats.length, complaints }
}

/** Returns the heartbeats after this text, before the upstream continued. */
function beatsAmong(client: ClientFormat, pieces: readonly Piece[], behind: string, before: number): Piece[] {
  let text = ''
  let quiet = behind === ''
  return pieces.filter((piece) => {
    const beat = quiet && piece.at < before
    text += piece.text
    quiet ||= readStream(client, text).text === behind
    return beat
  })
}

/** Checks that an official client survives the silence and reads the whole response. */
async function sitOut(
  setting: CheckContext,
  target: Target,
  { pair, silence }: Case,
  terms: Terms,
): Promise<readonly string[]> {
  const scene = setting.upstream.play(async (call) => {
    const events = good[formatOf(call)]
    const text = silences[silence]
    if (text > 0) beginStream(call)
    for (const event of events.slice(0, text)) call.response.write(event)
    // This suite sets the SDKs' timeout to a minute: they receive a few heartbeats, and the rest in time.
    await sleep(Math.min(terms.silentMs, 50_000))
    if (text === 0) beginStream(call)
    for (const event of events.slice(text)) call.response.write(event)
    call.response.end()
  })
  try {
    const { text } = await sendWithOfficialSdk(target, { ...pair, text: scene.marker, stream: true })
    return text === 'one two three' ? [] : [`the official SDK returned '${text}'`]
  } catch (error) {
    return [`the official SDK threw: ${error instanceof Error ? error.message : String(error)}`]
  } finally {
    scene.end()
  }
}

const seconds = (value: number): string =>
  value < 10_000 ? `${value.toFixed(0)} ms` : `${(value / 1000).toFixed(1)} s`

/** A minute of silence: waiting clients must receive signs of life. */
export const heartbeat: Check = {
  row: 9,
  group: 'Streams',
  title: 'Heartbeat',
  promise:
    'silent upstream 60 s: client gets a heartbeat in the form its format’s clients accept (clients.md) every ≤ 15 s',
  async run(setting) {
    const { short } = setting
    const terms = short ? little : full
    const target = short
      ? await setting.fresh({ limits: { heartbeatMs: little.everyMs, holdMs: little.openMs } })
      : setting.target
    if (target === undefined)
      return { skipped: 'its heartbeat interval is unknown: the full form listens for a minute' }
    const cases = target.pairs.flatMap((pair) =>
      (Object.keys(silences) as Silence[]).map((silence): Case => ({ pair, silence })),
    )
    const [heard, official] = await Promise.all([
      Promise.all(cases.map((one) => listen(setting, target, one, terms))),
      Promise.all(cases.map((one) => sitOut(setting, target, one, terms))),
    ])
    const complaints: string[] = []
    for (const [place, { pair, silence }] of cases.entries()) {
      const { gaps, opened, complaints: found } = heard[place] as Heard
      const latest = Math.max(...gaps)
      const wrong = [...found]
      if (latest > terms.everyMs + slackMs) wrong.push(`nothing for ${seconds(latest)}`)
      if (opened > terms.openMs + slackMs) wrong.push(`no head for ${seconds(opened)}`)
      wrong.push(...(official[place] ?? []))
      complaints.push(...wrong.map((what) => `${pair.client} from ${pair.upstream}, silent ${silence}: ${what}`))
    }
    const longest = (all: readonly Heard[]): number => Math.max(...all.flatMap(({ gaps }) => gaps))
    const opened = Math.max(...heard.map((one) => one.opened))
    const beats = heard.reduce((all, one) => all + one.beats, 0)
    return {
      held: complaints.length === 0,
      figure:
        `${cases.length} streams silent for ${seconds(terms.silentMs)}: ${beats} heartbeats, at most ${seconds(longest(heard))} apart` +
        `(a late response starts after ${seconds(opened)});` +
        `${official.filter((wrong) => wrong.length === 0).length}/${official.length} official SDKs read the whole response`,
      notes: tally(complaints),
    }
  },
}
