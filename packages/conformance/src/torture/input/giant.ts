import type { UpstreamCall } from '../../base/raw-upstream.ts'
import type { Format } from '../../base/recorded-traffic.ts'
import { good } from '../../base/streams.ts'
import { beginStream, formatOf, sendGoodResponse, sleep } from '../../base/upstream-responses.ts'
import type { Check, CheckContext, Pair, Target } from '../check.ts'
import { bodyFor, exchange } from '../client.ts'
import { mb, ms, tally } from '../measurements.ts'
import { failureDefect, readStream } from '../read-responses.ts'
import { type ObservedEffects, observeDuring, retryWhileSlow, withLimits } from './watch-process.ts'

const mib = 1024 * 1024

/**
 * Milliseconds of the promise per 16 MB that the client receives: some formats repeat a whole text up to five times.
 */
const giantWithin = 300
const othersWithin = 50
const sizes = [4 * mib, 8 * mib, 16 * mib] as const

/** Fillings of 16 MB as JSON, and the decoded text of one repetition. */
const stuffs: Readonly<Record<string, (size: number) => string>> = {
  letters: (size) => 'a'.repeat(size),
  escapes: (size) => '\\n\\"'.repeat(size / 4),
  'two-byte letters': (size) => 'é'.repeat(size / 2),
}

/**
 * Returns the good stream with a giant second word at its first occurrence; some formats repeat the whole text at the
 * end.
 */
function giantEvents(format: Format, giant: string): readonly string[] {
  const first = good[format].findIndex((event) => event.includes(' two'))
  return good[format].map((event, place) => (place === first ? event.replace(' two', () => giant) : event))
}

/** Resolves when there is room for more, or the connection is gone. */
const room = ({ response }: UpstreamCall): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.on('drain', done).on('close', done)
  })

/** Ways to send the giant: at once, in pieces as small as a slow network's, or as one event of many lines. */
const manners: Readonly<Record<string, (call: UpstreamCall, event: string) => Promise<void>>> = {
  async whole(call, event) {
    call.response.write(event)
  },
  async 'in pieces of 1 kB'(call, event) {
    const bytes = Buffer.from(event)
    for (let at = 0; at < bytes.length; at += 1024)
      if (!call.response.write(bytes.subarray(at, at + 1024))) await room(call)
  },
}

interface Timed {
  readonly tookMs: number
  /** How often the received data contains the giant, by its size; 1 for a request. */
  readonly times: number
  /** Complaint about the received data. */
  readonly wrong: string | undefined
}

type Run = (target: Target) => Promise<Timed>

/** Measures a stream with a giant event: from its first byte until the client has received everything. */
const giantAnswer =
  ({ upstream }: CheckContext, pair: Pair, stuff: string, manner: string, size: number): Run =>
  async (target) => {
    let begun = Number.NaN
    const giant = (stuffs[stuff] as (size: number) => string)(size)
    const events = giantEvents(pair.upstream, giant)
    const length = (JSON.parse(`"${giant}"`) as string).length
    const scene = upstream.play(async (call) => {
      beginStream(call)
      // Starts after the head, when lazy modules are loaded.
      for (const event of events)
        if (!event.includes(giant)) call.response.write(event)
        else {
          await sleep(30)
          begun = performance.now()
          await manners[manner]?.(call, event)
        }
      call.response.end()
    })
    const startedAt = performance.now()
    const answer = await exchange(target, { ...pair, text: scene.marker, stream: true })
    const tookMs = startedAt + answer.endMs - begun
    scene.end()
    const { successes, text } = readStream(pair.client, answer.text)
    const wrong =
      answer.status !== 200
        ? `returned status ${answer.status}`
        : successes.length === 0
          ? `no success at the end: ${answer.text.slice(-200)}`
          : text.length < length
            ? `${text.length} of ${length} characters were received`
            : undefined
    return { tookMs, times: Math.max(1, Math.round(Buffer.byteLength(answer.text) / size)), wrong }
  }

/** Measures a request with a giant: from its first byte until the upstream has received everything. */
const giantRequest =
  ({ upstream }: CheckContext, pair: Pair, stuff: string, size: number): Run =>
  async (target) => {
    const scene = upstream.play(sendGoodResponse)
    const giant = (stuffs[stuff] as (size: number) => string)(size)
    const body = bodyFor(target, { ...pair, text: scene.marker }).replace(scene.marker, () => scene.marker + giant)
    const bytes = Buffer.from(body)
    const begun = performance.now()
    const { status } = await exchange(target, { ...pair, text: scene.marker, body: bytes })
    const call = scene.calls[0]
    scene.end()
    const wrong =
      status !== 200 || call === undefined
        ? `returned status ${status}`
        : call.body.length < size
          ? `${call.body.length} of ${bytes.length} bytes reached the upstream`
          : undefined
    return { tookMs: (call?.at ?? Number.NaN) - begun, times: 1, wrong }
  }

/** Endless data of an upstream: after three valid events, or instead of a response. */
const endless: Readonly<Record<string, { readonly stream: boolean; readonly open: string; readonly piece: string }>> = {
  'a data line': { stream: true, open: 'data: {"x":"', piece: 'a' },
  'a comment': { stream: true, open: ': ', piece: 'a' },
  'a name of an event': { stream: true, open: 'event: ', piece: 'a' },
  'a line without a colon': { stream: true, open: '', piece: 'a' },
  'an event of many lines': { stream: true, open: '', piece: 'data: aaaaaaaa\n' },
  'an event of empty lines of data': { stream: true, open: '', piece: 'data:\n' },
  'a JSON response': { stream: false, open: '{"x":"', piece: 'a' },
}

/** Size limit of one event here, and the maximum that is sent: more, because line ends do not count. */
const eventBytes = 4 * mib
const mostBytes = 64 * mib
/** For gateways whose limit is unknown. */
const foreignBytes = 24 * mib

interface Cut {
  readonly wrong: string | undefined
  /** Bytes that the upstream could send before the disconnect. */
  readonly sentBytes: number
}

async function sendEndlessly({ upstream }: CheckContext, target: Target, pair: Pair, what: string): Promise<Cut> {
  const { stream, open, piece } = endless[what] as (typeof endless)[string]
  const block = Buffer.from(piece.repeat(Math.ceil((64 * 1024) / piece.length)))
  const most = target.local === undefined ? foreignBytes : mostBytes
  let sentBytes = 0
  let left = false
  const scene = upstream.play(async (call) => {
    const { response } = call
    response.on('close', () => {
      left = true
    })
    if (stream) beginStream(call)
    else response.writeHead(200, { 'content-type': 'application/json' })
    if (stream) for (const event of good[formatOf(call)].slice(0, 3)) response.write(event)
    response.write(open)
    while (!left && sentBytes < most) {
      sentBytes += block.length
      if (!response.write(block)) await room(call)
    }
    response.end()
  })
  const answer = await exchange(target, { ...pair, text: scene.marker, stream })
  await sleep(20)
  scene.end()
  const wrong = left
    ? answer.status === 200 && !stream
      ? 'returned status 200'
      : failureDefect(pair.client, answer)
    : `not cut off within ${mb(most)}`
  return { wrong, sentBytes }
}

/** The same case at each size, and the delay of other clients. */
interface Series {
  readonly times: readonly number[]
  /** How often the client received the largest giant. */
  readonly repetitions: number
  readonly wrong: string | undefined
  readonly noticed: ObservedEffects
}

async function series(setting: CheckContext, makeRun: (size: number) => Run): Promise<Series> {
  const { target, upstream } = setting
  const { result, noticed } = await observeDuring(target, upstream, async () => {
    const times: number[] = []
    let reported = 1
    let wrong: string | undefined
    for (const size of sizes) {
      const timed = await makeRun(size)(target)
      times.push(timed.tookMs)
      reported = timed.times
      wrong ??= timed.wrong
    }
    return { times, repetitions: reported, wrong }
  })
  return { ...result, noticed }
}

/** Returns how much longer another client waited than directly at the upstream, which waits for this kit as well. */
const beyondDirect = ({ worstMs, directMs }: ObservedEffects): number => Math.max(0, worstMs - directMs)

/** Returns true if twice the size takes at most twice the time, with a tolerance of the same again. */
const isLinear = ([small = 0, , large = 0]: readonly number[]): boolean => large <= Math.max(small, 10) * 4 * 2

/**
 * One event, line or text of 16 MB from upstreams and clients must take at most linear time and 300 ms per 16 MB that
 * the client receives, beyond the time of the same data directly from the upstream, which is this kit's own share.
 * Endless data must be cut off at the limit. While a piece of 16 MB is parsed, other calls on the same thread wait:
 * this is reported as a limit.
 */
export const giant: Check = {
  row: 31,
  group: 'Input',
  title: 'Giant event 16 MB ok, endless line',
  promise: 'linear (16 MB < 300 ms); cut at cap + error; others ≤ 50 ms',
  async run(setting) {
    const { target, upstream, short } = setting
    const complaints: string[] = []
    const slow: string[] = []
    const cases: { name: string; pair: Pair; makeRun: (pair: Pair, size: number) => Run }[] = []
    const pairs = short
      ? target.pairs.filter(({ client, upstream: to }) => client === 'chat' || to === 'chat').slice(0, 3)
      : target.pairs
    pairs.forEach((pair, place) => {
      for (const [at, stuff] of Object.keys(stuffs).entries()) {
        // Rotates the fillings in the short form, and combines all in the full form.
        if (short && at !== place % 3) continue
        const what = `${pair.client} from ${pair.upstream}, ${stuff}`
        for (const manner of Object.keys(manners).slice(0, short ? 1 : 2))
          cases.push({
            name: `${what}, ${manner}`,
            pair,
            makeRun: (gateway, size) => giantAnswer(setting, gateway, stuff, manner, size),
          })
        cases.push({
          name: `${what}, a request`,
          pair,
          makeRun: (gateway, size) => giantRequest(setting, gateway, stuff, size),
        })
      }
    })
    let slowest = 0
    let slowestDirect = 0
    let worst = 0
    let worstByGiants = 0
    let linear = 0
    for (const { name, pair, makeRun } of cases) {
      const beside = { client: pair.upstream, upstream: pair.upstream } as const
      const runAlone = makeRun(beside, sizes[2])
      const straight = { ...target, origin: upstream.origin }
      const alone = [await runAlone(straight), await runAlone(straight)] as const
      const aloneWrong = alone[0].wrong ?? alone[1].wrong
      if (aloneWrong !== undefined) complaints.push(`${name}: directly from the upstream: ${aloneWrong}`)
      const aloneMs = Math.min(alone[0].tookMs, alone[1].tookMs)
      slowestDirect = Math.max(slowestDirect, aloneMs)
      const complaintOf = ({ times, repetitions, wrong }: Series): string | undefined => {
        if (wrong !== undefined) return wrong
        // This kit, too, takes five times as long to receive repeated data.
        const large = (times.at(-1) ?? Number.NaN) - aloneMs * repetitions
        const withinMs = giantWithin * repetitions
        if (!isLinear(times)) return `${times.map(ms).join(', ')} for 4, 8, 16 MB`
        return large > withinMs ? `16 MB take ${ms(large)} longer than directly (${ms(withinMs)})` : undefined
      }
      // Other load only adds to a time: the best attempt counts, for each size.
      let best: readonly number[] = sizes.map(() => Number.POSITIVE_INFINITY)
      const tryOnce = async (): Promise<Series> => {
        const tried = await series(setting, (size) => makeRun(pair, size))
        best = tried.times.map((time, place) => Math.min(time, best[place] as number))
        return { ...tried, times: best }
      }
      const outcome = await retryWhileSlow(
        tryOnce,
        (tried) =>
          tried.wrong !== undefined ||
          (complaintOf(tried) === undefined && beyondDirect(tried.noticed) <= othersWithin),
      )
      const complaint = complaintOf(outcome)
      if (complaint !== undefined) (outcome.wrong === undefined ? slow : complaints).push(`${name}: ${complaint}`)
      if (isLinear(outcome.times)) linear++
      slowest = Math.max(slowest, outcome.times.at(-1) ?? 0)
      worstByGiants = Math.max(worstByGiants, beyondDirect(outcome.noticed))
    }

    const capped = await withLimits(setting, { answerBytes: eventBytes })
    let cut = 0
    let total = 0
    let mostSent = 0
    for (const [place, pair] of pairs.entries())
      for (const [at, what] of Object.keys(endless).entries()) {
        // Each of them once in the short form.
        if (short && at % pairs.length !== place) continue
        total++
        const { result, noticed } = await retryWhileSlow(
          () => observeDuring(capped, upstream, () => sendEndlessly(setting, capped, pair, what)),
          ({ result, noticed }) => result.wrong !== undefined || beyondDirect(noticed) <= othersWithin,
        )
        const name = `${pair.client} from ${pair.upstream}, endless ${what}`
        if (result.wrong === undefined) cut++
        else complaints.push(`${name}: ${result.wrong}`)
        mostSent = Math.max(mostSent, result.sentBytes)
        worst = Math.max(worst, beyondDirect(noticed))
      }
    return {
      held: complaints.length === 0 && slow.length === 0,
      late: complaints.length === 0,
      figure:
        `16 MB in ${ms(slowest)} at most (direct ${ms(slowestDirect)}), ${linear}/${cases.length} linear; ${cut}/${total} endless ones cut off with one error` +
        `${capped.local === undefined ? '' : ` (limit ${mb(eventBytes)}, ${mb(mostSent)} sent)`}`,
      notes: tally([...complaints, ...slow]),
      ...(Math.max(worst, worstByGiants) <= othersWithin
        ? {}
        : {
            limit: `others wait up to ${ms(worstByGiants)} longer while 16 MB in one piece are parsed, since JSON.parse and TextDecoder process it in one go, and up to ${ms(worst)} while endless lines arrive, since libuv delivers up to 2 MB of one connection in a row; Node has one thread for all (limits.answerBytes and limits.bodyBytes bound the pieces)`,
          }),
    }
  },
}
