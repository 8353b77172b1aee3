import { Agent } from 'node:http'
import { good } from '../../base/streams.ts'
import { beginStream, formatOf, sleep } from '../../base/upstream-responses.ts'
import type { Check, CheckContext, Pair, Target } from '../check.ts'
import { exchangeTimed } from '../client.ts'
import { ms, percentile } from '../measurements.ts'
import { readStream } from '../read-responses.ts'
import { remoteTarget } from '../remote-target.ts'

/** Milliseconds between words: long enough for each to travel alone. */
const paceMs = 5

/** Times of the words of one response, in milliseconds. */
interface Times {
  /** From sending the request to the first word. */
  readonly first: number
  /** Delay of each later word, from the upstream's write to the client's read. */
  readonly later: readonly number[]
}

const words = ['one', 'one two', 'one two three']

async function timesOf({ upstream }: CheckContext, target: Target, pair: Pair, agent: Agent): Promise<Times> {
  const writtenAt: number[] = []
  const scene = upstream.play(async (call) => {
    beginStream(call)
    const [opening = '', ...rest] = good[formatOf(call)]
    call.response.write(opening)
    for (const event of rest) {
      writtenAt.push(performance.now())
      call.response.write(event)
      await sleep(paceMs)
    }
    call.response.end()
  })
  const { sentAt, pieces } = await exchangeTimed(target, { ...pair, text: scene.marker, stream: true }, { agent })
  scene.end()
  let text = ''
  const seenAt: number[] = []
  for (const piece of pieces) {
    text += piece.text
    const output = readStream(pair.client, text).text
    while (seenAt.length < words.length && output.startsWith(words[seenAt.length] as string)) seenAt.push(piece.at)
  }
  const [first = Number.NaN, ...later] = seenAt
  return { first: first - sentAt, later: later.map((at, place) => at - (writtenAt[place + 1] ?? Number.NaN)) }
}

interface Added extends Pair {
  readonly first: number
  readonly later: number
  readonly seen: number
}

/** Alternates both ways, so that both meet the same load of the machine. */
async function addedBy(setting: CheckContext, direct: Target, pair: Pair, rounds: number): Promise<Added> {
  const agents = [new Agent({ keepAlive: true, maxSockets: 1 }), new Agent({ keepAlive: true, maxSockets: 1 })] as const
  const straight: Times[] = []
  const through: Times[] = []
  // The first rounds open connections and do not count.
  for (let round = -2; round < rounds; round++) {
    const one = await timesOf(setting, direct, { client: pair.upstream, upstream: pair.upstream }, agents[0])
    const other = await timesOf(setting, setting.target, pair, agents[1])
    if (round < 0) continue
    straight.push(one)
    through.push(other)
  }
  for (const agent of agents) agent.destroy()
  const p50 = (times: readonly number[]): number =>
    percentile(
      times.filter((time) => !Number.isNaN(time)),
      0.5,
    )
  const over = (of: (times: Times) => readonly number[]): number => p50(through.flatMap(of)) - p50(straight.flatMap(of))
  return {
    ...pair,
    first: over(({ first }) => [first]),
    later: over(({ later }) => later),
    seen: through.filter(({ first }) => !Number.isNaN(first)).length,
  }
}

const mostMs = 5

/** Additional delay by the gateway. */
export const delay: Check = {
  row: 10,
  group: 'Streams',
  title: 'Added delay',
  promise: 'first token ≤ 5 ms p50 over direct; no sleeps',
  perServer: true,
  async run(setting) {
    const direct = remoteTarget({ url: setting.upstream.origin })
    const rounds = setting.count(100, 5)
    const added: Added[] = []
    for (const pair of setting.target.pairs) added.push(await addedBy(setting, direct, pair, rounds))
    const most = (of: 'first' | 'later'): number => Math.max(...added.map((one) => one[of]))
    const middle = (of: 'first' | 'later'): number =>
      percentile(
        added.map((one) => one[of]),
        0.5,
      )
    const slow = added.filter(({ first, later, seen }) => !(first <= mostMs && later <= mostMs && seen === rounds))
    return {
      held: slow.length === 0,
      late: added.every(({ seen }) => seen === rounds),
      figure:
        `first token ${ms(middle('first'))} p50 over direct (the slowest pair ${ms(most('first'))}), ` +
        `later words ${ms(middle('later'))} (${ms(most('later'))}); ${rounds} responses of each of ${added.length} pairs`,
      notes: slow.map(
        ({ client, upstream, first, later, seen }) =>
          `${client} from ${upstream}: first ${ms(first)}, later ${ms(later)}, ${seen}/${rounds} received`,
      ),
    }
  },
}
