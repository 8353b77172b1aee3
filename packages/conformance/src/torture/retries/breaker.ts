import { type Play, startUpstream, type Upstream } from '../../base/raw-upstream.ts'
import {
  failWithStatus,
  neverRespond,
  resetConnection,
  sendGoodResponse,
  sleep,
} from '../../base/upstream-responses.ts'
import type { Check, CheckContext, Outcome, Pair, Target } from '../check.ts'
import { exchange } from '../client.ts'
import { ms, tally } from '../measurements.ts'

/** Ways in which an upstream is down. */
const deaths: Readonly<Record<string, Play>> = {
  'answers 500': failWithStatus(500),
  'resets connections': resetConnection,
  'never responds': neverRespond,
}

const restMs = 5000
/** Pause between calls: long enough that the breaker can open before twenty calls are sent. */
const paceMs = 100
/** Tolerance between the times of sending and arrival, especially for a call in flight when the breaker opens. */
const clockMs = 100
const mostCalls = 20
const mostBackMs = 10_000

interface Course {
  readonly name: string
  /** Calls that reached the dead upstream before it was skipped. */
  readonly opened: number
  /** Milliseconds between later calls that reached it. */
  readonly gaps: readonly number[]
  /** Milliseconds from its recovery until it receives calls again; undefined if it never does. */
  readonly backMs: number | undefined
  readonly calls: number
  readonly complaints: readonly string[]
}

/** A connection that breaks while the upstream is down. */
interface Mortal {
  readonly name: string
  readonly play: Play
  readonly upstream: Upstream
}

async function watch(
  { upstream }: CheckContext,
  target: Target,
  { mortal, model, deadMs }: { mortal: Mortal; model: string; deadMs: number },
): Promise<Course> {
  const { name, play } = mortal
  let dead = true
  const reached: { at: number; well: boolean }[] = []
  const scene = upstream.play(sendGoodResponse)
  const end = mortal.upstream.playAt('/', async (call, incoming) => {
    for await (const _ of incoming) {
      // To its end: what breaks off before is no call.
    }
    reached.push({ at: performance.now(), well: !dead })
    return dead ? play(call) : sendGoodResponse(call)
  })
  const pairs: readonly Pair[] = target.pairs.filter(({ upstream: to }) => to === 'chat')
  const complaints: string[] = []
  const calls: Promise<void>[] = []
  const load = async (isOver: () => boolean): Promise<void> => {
    while (!isOver()) {
      const pair = pairs[calls.length % pairs.length] as Pair
      const ask = { ...pair, model, text: scene.marker }
      calls.push(
        exchange(target, ask).then(({ status, broken }) => {
          if (status !== 200) complaints.push(`${name}: a client received ${broken ?? status}`)
        }),
      )
      await sleep(paceMs)
    }
  }
  const begun = performance.now()
  await load(() => performance.now() - begun > deadMs)
  dead = false
  const revived = performance.now()
  const wellAgain = (): number[] => reached.filter(({ well }) => well).map(({ at }) => at)
  await load(() => wellAgain().length > 20 || performance.now() - revived > mostBackMs + restMs)
  await Promise.all(calls)
  scene.end()
  end()

  const times = reached.filter(({ well }) => !well).map(({ at }) => at)
  const first = wellAgain()
  // The successful probe belongs to the calls that come one at a time.
  if (first[0] !== undefined) times.push(first[0])
  const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0))
  const opened = gaps.findIndex((gap) => gap > restMs / 2) + 1
  return {
    name,
    opened: opened === 0 ? times.length : opened,
    gaps: opened === 0 ? [] : gaps.slice(opened - 1),
    backMs: first[1] === undefined ? undefined : first[1] - revived,
    calls: calls.length,
    complaints,
  }
}

/** A route whose first target fails and recovers, in real time. */
export const breaker: Check = {
  row: 23,
  group: 'Retries and fallback',
  title: 'Breaker',
  promise: 'dead upstream skipped after ≤ 20 calls, probe ≤ 1 per 5 s, recovers ≤ 10 s',
  async run(setting) {
    const mortals: readonly Mortal[] = await Promise.all(
      Object.entries(deaths).map(async ([name, play]) => ({ name, play, upstream: await startUpstream() })),
    )
    try {
      const target = await setting.fresh({
        defaults: true,
        limits: { firstByteMs: 500 },
        upstreams: Object.fromEntries(
          mortals.map(({ upstream: { origin } }, place) => [`mortal-${place}`, { format: 'chat', baseURL: origin }]),
        ),
        models: Object.fromEntries(mortals.map((_, place) => [`route-${place}`, [`mortal-${place}`, 'chat']])),
      })
      if (target === undefined)
        return {
          skipped: `${setting.target.name} needs a route with two targets, which only its owner can configure`,
        }
      const deadMs = setting.count(21_500, 3500)
      return judged(
        await Promise.all(
          mortals.map((mortal, place) => watch(setting, target, { mortal, model: `route-${place}`, deadMs })),
        ),
      )
    } finally {
      await Promise.all(mortals.map(({ upstream }) => upstream.close()))
    }
  },
}

function judged(courses: readonly Course[]): Outcome {
  const complaints = courses.flatMap((course) => course.complaints)
  const held = courses.every(
    ({ opened, gaps, backMs }) =>
      opened <= mostCalls &&
      gaps.length > 0 &&
      Math.min(...gaps) >= restMs - clockMs &&
      backMs !== undefined &&
      backMs <= mostBackMs,
  )
  return {
    held: held && complaints.length === 0,
    figure: courses
      .map(
        ({ name, opened, gaps, backMs, calls }) =>
          `one that ${name}: skipped after ${opened} calls, ${gaps.length} probes ≥ ${ms(Math.min(...gaps))} apart, back after ${ms(backMs ?? Number.NaN)}, ${calls} client calls succeeded`,
      )
      .join('; '),
    notes: tally(complaints),
  }
}
