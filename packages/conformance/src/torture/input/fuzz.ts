import { Agent, request } from 'node:http'
import fc from 'fast-check'
import type { UpstreamCall } from '../../base/raw-upstream.ts'
import { sleep } from '../../base/upstream-responses.ts'
import { pick } from '../../fuzz/json-mutations.ts'
import { choice, playRecipes, requestRecipes, streamRecipes } from '../../fuzz/recipes.ts'
import { type FuzzRequest, type RequestRecipe, requestBases, requestOf } from '../../fuzz/requests.ts'
import { streamBases, streamOf } from '../../fuzz/streams.ts'
import { type Play, playOf } from '../../fuzz/upstream.ts'
import type { Check, CheckContext, Pair, Target } from '../check.ts'
import { exchange } from '../client.ts'
import { inParallel, tally } from '../measurements.ts'

/** Milliseconds that count as a hang. */
const hangMs = 1000
const patienceMs = 2000
const width = 8
const batch = 500
const seed = 20261121

interface Came {
  /** 0 without a response. */
  readonly status: number
  readonly ms: number
}

/** One attempt; never rejects. */
type Try = (agent: Agent | false) => Promise<Came>

/** Number of attempts: a busy machine is sometimes slow, but a hang repeats. */
const tries = 3

/** Returns the defect in the target's behaviour, or undefined. */
async function wrong(what: string, attempt: Try, agent: Agent): Promise<string | undefined> {
  const fault = ({ status, ms }: Came): string | undefined => {
    if (status === 500) return `500 (${what})`
    if (status === 0) return `no response (${what})`
    return ms > hangMs ? `no end within ${hangMs} ms (${what})` : undefined
  }
  let found = fault(await attempt(agent))
  // Retries use a new connection, independent of others.
  for (let again = 1; again < tries && found !== undefined && !found.startsWith('500'); again++)
    found = fault(await attempt(false))
  return found
}

const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/

/** Returns an attempt that sends a request over HTTP. */
const sending =
  (target: Target, { path, query, headers, body, dialect, upstream }: FuzzRequest): Try =>
  (agent) =>
    new Promise((resolve) => {
      const begun = performance.now()
      const finish = (status: number): void => {
        clearTimeout(timer)
        resolve({ status, ms: performance.now() - begun })
      }
      const pair = { client: dialect, upstream } as Pair
      const sent = Object.entries({ ...target.headers(pair), ...headers }).filter(([, value]) =>
        headerValue.test(value),
      )
      const where = `${path}${query === '' ? '' : `?${query}`}`.replace(/[^\x21-\x7e]/g, encodeURIComponent)
      const outgoing = request(`${target.origin}${where}`, { method: 'POST', agent, headers: Object.fromEntries(sent) })
      const timer = setTimeout(() => outgoing.destroy(new Error('no end')), patienceMs)
      let status = 0
      outgoing.on('error', () => finish(status))
      outgoing.on('response', (incoming) => {
        status = incoming.statusCode ?? 0
        incoming.on('error', () => finish(status))
        incoming.on('end', () => finish(status))
        incoming.resume()
      })
      outgoing.end(body)
    })

/** A requested embedding of this size would exhaust the fake provider's memory. */
const hugeVector = /imension\w*"\s*:\s*(\d{5,}|\d[\d.]*[eE])/
const decoder = new TextDecoder()

function requestTries({
  target,
}: CheckContext): (at: number, recipe: RequestRecipe) => { what: string; attempt: Try } | undefined {
  const own = target.local !== undefined
  const served = (base: { dialect: string; upstream: string; generates: boolean }): boolean =>
    target.pairs.some(
      ({ client, upstream }) => upstream === base.upstream && (client === base.dialect || !base.generates),
    )
  const bases = requestBases((upstream) => target.model(upstream as Pair['upstream']), own).filter(served)
  return (_, recipe) => {
    const request = requestOf(bases, recipe)
    return hugeVector.test(decoder.decode(request.body))
      ? undefined
      : {
          what: `${request.path.slice(0, 60)} for ${request.upstream}: ${JSON.stringify(recipe)}`,
          attempt: sending(target, request),
        }
  }
}

/** Delivers a scripted response over a socket, like `fetch` in process. */
async function playTo(
  { response, socket }: UpstreamCall,
  { status, headers, bytes, piece, ending }: Play,
): Promise<void> {
  if (typeof ending === 'object' && ending.when !== 'body') {
    socket.destroy()
    return
  }
  const promised = headers.find(([name]) => name === 'content-length')?.[1]
  // A client that announced more than it sends closes the connection. Other checks cover the gateway's time limits.
  if (Number(promised) > bytes.length) response.shouldKeepAlive = false
  response.writeHead(status, headers.flat())
  // Hundreds of chunks, each with a delay, would only be slow.
  const size = piece === 0 ? Math.max(1, bytes.length) : Math.max(piece, Math.ceil(bytes.length / 20))
  for (let at = 0; at < bytes.length; at += size) {
    response.write(bytes.subarray(at, at + size))
    if (at % (5 * size) === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  if (ending === 'end') response.end()
  else socket.resetAndDestroy()
}

const streams = fc.record({ stream: streamRecipes, play: playRecipes(8), pair: choice })

/** Fuzzing over HTTP. Millions of runs happen in process, in `fuzz/*.test.ts`: over HTTP they would take hours. */
export const fuzz: Check = {
  row: 29,
  group: 'Limits and bad input',
  title: 'Fuzz',
  promise: '10⁶ mutated requests + 10⁶ mutated upstream streams: 0 crashes, 0 hangs > 1 s, 0 × 500',
  async run(setting) {
    const { target, upstream, count } = setting
    const agent = new Agent({ keepAlive: true, maxSockets: width })
    const faults: string[] = []
    let crashes = 0
    const standing = async (): Promise<boolean> => {
      const [pair] = target.pairs
      if (pair === undefined) return true
      for (let round = 0; round < tries; round++) {
        const { status } = await exchange(target, { ...pair, text: 'still there?' }, { withinMs: patienceMs })
        if (status === 200) return true
        await sleep(1000)
      }
      return false
    }
    /** Runs batches of values, and checks after each whether the target is still alive. */
    const tryAll = async <T>(
      values: fc.Arbitrary<T>,
      wanted: number,
      tryOf: (at: number, value: T) => { what: string; attempt: Try } | undefined,
    ): Promise<number> => {
      let done = 0
      for (let from = 0; from < wanted && crashes === 0; from += batch) {
        const drawn = fc.sample(values, { seed: seed + from, numRuns: Math.min(batch, wanted - from) })
        await inParallel(drawn, width, async (value, place) => {
          const one = tryOf(from + place, value)
          if (one === undefined) return
          const found = await wrong(one.what, one.attempt, agent)
          if (found !== undefined) faults.push(found)
        })
        done += drawn.length
        if (!(await standing())) crashes++
      }
      return done
    }

    const requests = await tryAll(requestRecipes, count(100_000, 2000), requestTries(setting))
    const plays = new Map<number, Play>()
    const scene = upstream.play((call) => {
      const number = Number(/fuzz-(\d+)-/.exec(call.body.toString('latin1'))?.[1])
      const play = plays.get(number)
      if (play === undefined) throw new Error('no script is set')
      return playTo(call, play)
    })
    const answered = await tryAll(streams, count(100_000, 2000), (at, { stream, play, pair: which }) => {
      const pair = pick(target.pairs, which)
      const bases = streamBases.filter(({ format }) => format === pair.upstream)
      const reported = playOf(streamOf(pick(bases, stream.base), stream), play, 'text/event-stream')
      // Other checks cover time limits for data that never arrives.
      plays.set(
        at,
        reported.ending === 'hang' || reported.ending === 'no response' ? { ...reported, ending: 'end' } : reported,
      )
      const text = `${scene.marker} fuzz-${at}-`
      return {
        what: `${pair.client} from ${pair.upstream}: ${JSON.stringify({ stream, play })}`,
        attempt: async (own) => {
          const { status, endMs } = await exchange(
            target,
            { ...pair, text, stream: true },
            { agent: own, withinMs: patienceMs },
          )
          return { status, ms: endMs }
        },
      }
    })
    scene.end()
    agent.destroy()

    const kinds = (start: string): number => faults.filter((fault) => fault.startsWith(start)).length
    const [hangs, breaks, errors] = [kinds('no end'), kinds('no response'), kinds('500')]
    return {
      held: crashes + hangs + breaks + errors === 0,
      figure:
        `${requests} requests + ${answered} streams over HTTP: ${crashes} crashes, ${hangs} hangs > 1 s,` +
        `${breaks} without a response, ${errors} × 500 (seed ${seed}; more runs in process: fuzz/*.test.ts)`,
      notes: tally(faults.map((fault) => fault.slice(0, 400))),
    }
  },
}
