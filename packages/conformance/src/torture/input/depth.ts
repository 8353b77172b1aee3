import { Agent } from 'node:http'
import { type ClientFormat, statusIn } from '../../base/client-formats.ts'
import { isObject, parseJson } from '../../base/json.ts'
import type { Format } from '../../base/recorded-traffic.ts'
import { good } from '../../base/streams.ts'
import { beginStream, sendGoodResponse, sendJson, sleep, wholeResponse } from '../../base/upstream-responses.ts'
import type { Check, CheckContext, Pair, Target } from '../check.ts'
import { bodyFor, exchange, type HttpResponse, headersFor, type TargetRequest } from '../client.ts'
import { ms, tally } from '../measurements.ts'
import { failureDefect, readError, readStream } from '../read-responses.ts'
import { callEvents, calling, deepen, isText, type Nest, otherRequests, requestPlaces } from './depth-places.ts'
import { headOf, uploadSlowly } from './slow-upload.ts'
import { retryWhileSlow } from './watch-process.ts'

/** Milliseconds of the promise. */
const within = 20
const tooDeep = [200, 10_000, 100_000] as const
/** Depths that must pass. Ten is the depth of ordinary tool schemas. */
const fine = [10, 64, 128] as const
/** A response of at most this many levels may be translated. */
const carried = 1000

interface Came {
  readonly wrong: string | undefined
  /** Milliseconds until the gateway's response began; NaN if not measured. */
  readonly ms: number
}
interface Case {
  readonly name: string
  /** Group of cases in the figure. */
  readonly kind: keyof typeof kinds
  run(agent: Agent): Promise<Came>
}
const kinds = {
  requests: 'requests rejected',
  texts: 'with deep JSON in a text accepted or rejected',
  answers: 'responses reported as an error',
  streams: 'streams ended with one error',
  passing: 'responses and streams passed through unchanged',
  fine: 'of up to 128 levels passed',
} as const

/** What reading an error needs of a response. */
type ErrorReply = Pick<HttpResponse, 'status' | 'text'> & Partial<Pick<HttpResponse, 'headers'>>

const nestNames = ['objects', 'lists'] as const satisfies readonly Nest[]
const notInDialect = (format: ClientFormat, answer: ErrorReply): string | undefined =>
  readError(format, answer) === undefined
    ? `${answer.status} not in the dialect: ${answer.text.slice(0, 120)}`
    : undefined
const refused = (format: ClientFormat, status: number, answer: ErrorReply): string | undefined =>
  answer.status === status
    ? notInDialect(format, answer)
    : `status ${answer.status} instead of ${status}: ${answer.text.slice(0, 120)}`

/** Returns requests of one pair. */
function requestCases({ target, upstream }: CheckContext, pair: Pair): Case[] {
  const { client } = pair
  return Object.entries(requestPlaces).flatMap(([place, fieldsAt]) =>
    nestNames.flatMap((way) => {
      const nest = place === 'tool schema' && way === 'objects' ? 'schemas' : way
      const make = (levels: number): Case => {
        const passes = levels <= 128
        const written = isText(JSON.stringify(fieldsAt(client, '')))
        return {
          name: `${client} for ${pair.upstream}: ${levels} levels of ${nest} in ${place}`,
          kind: passes ? 'fine' : written ? 'texts' : 'requests',
          async run(agent) {
            const scene = upstream.play(sendGoodResponse)
            const ask: TargetRequest = { ...pair, text: scene.marker }
            const body = deepen(bodyFor(target, { ...ask, more: fieldsAt(client, scene.marker) }), nest, levels)
            const answer = await exchange(target, { ...ask, body }, { agent })
            const called = scene.calls.length
            scene.end()
            if (passes || (written && answer.status === 200))
              return {
                wrong:
                  answer.status === 200 ? undefined : `returned status ${answer.status}: ${answer.text.slice(0, 200)}`,
                ms: Number.NaN,
              }
            return {
              wrong: refused(client, 400, answer) ?? (called > 0 ? `${called} calls upstream` : undefined),
              ms: answer.headMs,
            }
          },
        }
      }
      // Places for JSON of any depth; their contents are invalid at every depth.
      const isLegal = place === 'tool schema' ? way === 'objects' : place.startsWith('tool ')
      return [...(isLegal ? fine : []), ...tooDeep].map(make)
    }),
  )
}

/** Returns requests of other operations, and some with unclosed levels. */
function otherCases({ target, upstream }: CheckContext): Case[] {
  const cases = otherRequests.flatMap(({ name, format, path, body }) =>
    tooDeep.flatMap((levels) =>
      nestNames.map((nest) => ({
        name: `${name}: ${levels} levels of ${nest}`,
        ...{ format, path },
        text: (model: string) => deepen(JSON.stringify(body(model)), nest, levels),
      })),
    ),
  )
  const open = otherRequests.map(({ name, format, path }) => ({
    name: `${name}: 100,000 unclosed lists`,
    ...{ format, path },
    text: (model: string) => `{"model":"${model}","input":${'['.repeat(100_000)}`,
  }))
  return [...cases, ...open].map(({ name, format, path, text }) => ({
    name,
    kind: 'requests',
    async run() {
      const model = target.model(format)
      const bytes = Buffer.from(text(model))
      const headers = { ...headersFor(target, { client: format, upstream: format, text: '' }), connection: 'close' }
      const head = headOf(target, path(model), { ...headers, 'content-length': String(bytes.length) })
      const before = upstream.requests
      const { status, raw, answerMs } = await uploadSlowly(target, ['mark', Buffer.concat([Buffer.from(head), bytes])])
      const called = upstream.requests - before
      const answer = { status, text: raw.slice(raw.indexOf('\r\n\r\n') + 4) }
      return {
        wrong: refused(format, 400, answer) ?? (called > 0 ? `${called} calls upstream` : undefined),
        ms: answerMs,
      }
    },
  }))
}

/** Unstreamed responses of an upstream: a tool call, or an unknown member. */
const answers: Readonly<Record<string, (format: Format) => string>> = {
  'a call': (format) => JSON.stringify({ ...wholeResponse[format], ...calling[format] }),
  'an unknown member': (format) => JSON.stringify({ x_deep: '@deep@', ...wholeResponse[format] }),
}
/** Streams of an upstream, some of which continue correctly after the nested event. */
const streams: Readonly<Record<string, (format: Format) => readonly string[]>> = {
  'a call': (format) => good[format].toSpliced(3, 0, callEvents[format]),
  'an unknown member': (format) =>
    good[format].map((event, place) => (place === 2 ? event.replace('data: {', 'data: {"x_deep":"@deep@",') : event)),
}

/** Returns responses for one pair, unstreamed and streamed. */
function answerCases({ target, upstream }: CheckContext, pair: Pair): Case[] {
  const straight = pair.client === pair.upstream
  const makeAll = (stream: boolean, what: string, nest: Nest, levels: number): Case => {
    const pieces = stream ? (streams[what]?.(pair.upstream) ?? []) : [answers[what]?.(pair.upstream) ?? '']
    const written = isText(pieces.join(''))
    const passes = levels <= 128
    return {
      name: `${pair.client} from ${pair.upstream}: ${stream ? 'stream' : 'response'} with ${levels} levels of ${nest} in ${what}`,
      kind: passes ? 'fine' : straight ? 'passing' : written ? 'texts' : stream ? 'streams' : 'answers',
      async run(agent) {
        const sent = pieces.map((piece) => deepen(piece, nest, levels))
        const nested = sent.filter((piece, place) => piece !== pieces[place])
        let begun = Number.NaN
        const scene = upstream.play(async (call) => {
          if (stream) beginStream(call)
          for (const piece of stream ? sent : []) {
            if (nested.includes(piece)) {
              // Lets earlier data pass, and lazy loading finish.
              if (!passes) await sleep(5)
              begun = performance.now()
            }
            call.response.write(piece)
          }
          if (stream) call.response.end()
          else {
            begun = performance.now()
            sendJson(call, 200, sent.join(''))
          }
        })
        const answer = await exchange(target, { ...pair, text: scene.marker, stream }, { agent })
        const took = performance.now() - begun
        scene.end()
        const isWhole = stream
          ? answer.status === 200 &&
            readStream(pair.client, answer.text).errors.length === 0 &&
            endsWell(pair.client, answer)
          : answer.status === 200 && isObject(parseJson(answer.text))
        const asItWas = straight && nested.every((piece) => answer.text.includes(piece.trim()))
        // A delivered response is not a rejection, and has no time limit here.
        if (isWhole && (passes || written || levels <= carried || asItWas)) return { wrong: undefined, ms: Number.NaN }
        if (passes) return { wrong: `returned status ${answer.status}: ${answer.text.slice(-200)}`, ms: Number.NaN }
        const wrong =
          stream && answer.status === 200
            ? failureDefect(pair.client, answer)
            : refused(pair.client, statusIn(pair.client, 502), answer)
        return { wrong, ms: took }
      },
    }
  }
  return [false, true].flatMap((stream) =>
    Object.keys(answers).flatMap((what) =>
      nestNames.flatMap((nest) => [...fine, ...tooDeep].map((levels) => makeAll(stream, what, nest, levels))),
    ),
  )
}

const endsWell = (format: ClientFormat, { text }: HttpResponse): boolean =>
  readStream(format, text).successes.length > 0

async function stillThere(target: Target, pair: Pair): Promise<boolean> {
  return (await exchange(target, { ...pair, text: 'still there?' })).status === 200
}

/**
 * Nested JSON from clients and upstreams must be rejected before code that walks it overflows. Text such as a tool
 * call's arguments in some formats is not parsed and adds no levels. Pass-through responses stay unchanged. Responses
 * that exceed the depth of requests, but not a safe depth, are translated.
 */
export const depth: Check = {
  row: 27,
  group: 'Input',
  title: 'Depth 200+, 10 k, 100 k; in known and unknown fields; responses too',
  promise: '400 (502 from upstream) < 20 ms, never 500',
  async run(setting) {
    const { target, count } = setting
    const agent = new Agent({ keepAlive: true })
    const step = count(1, 5)
    const cases = [
      ...target.pairs.flatMap((pair) => requestCases(setting, pair)),
      ...otherCases(setting),
      ...target.pairs.flatMap((pair) => answerCases(setting, pair)),
    ].filter((_, place) => place % step === 0)
    const complaints: string[] = []
    const counts = new Map<Case['kind'], { total: number; held: number; slowest: number }>()
    let errors = 0
    for (const { name, kind, run } of cases) {
      const { wrong, ms: took } = await retryWhileSlow(
        () => run(agent),
        (came) => came.wrong !== undefined || !(came.ms > within),
      )
      const all = counts.get(kind) ?? { total: 0, held: 0, slowest: 0 }
      counts.set(kind, all)
      all.total++
      if (!Number.isNaN(took)) all.slowest = Math.max(all.slowest, took)
      if (wrong?.startsWith('returned status 500') || wrong?.startsWith('500')) errors++
      const complaint = wrong ?? (took > within ? `took ${ms(took)}` : undefined)
      if (complaint === undefined) all.held++
      else complaints.push(`${name}: ${complaint}`)
    }
    agent.destroy()
    for (const pair of target.pairs)
      if (!(await stillThere(target, pair))) complaints.push(`${pair.client}: the gateway is gone`)
    const reported = [...counts].map(
      ([kind, { total, held, slowest }]) =>
        `${held}/${total} ${kinds[kind]}${slowest === 0 ? '' : ` (≤ ${ms(slowest)})`}`,
    )
    return {
      held: complaints.length === 0,
      figure: `${reported.join(', ')}; ${errors} × 500`,
      notes: tally(complaints),
    }
  },
}
