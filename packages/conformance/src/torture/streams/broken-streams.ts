import type { Play } from '../../base/raw-upstream.ts'
import { resultWithin } from '../../base/upstream-responses.ts'
import type { CheckContext, Pair } from '../check.ts'
import { exchange, type HttpResponse } from '../client.ts'
import { inParallel, tally } from '../measurements.ts'
import { failureDefect } from '../read-responses.ts'
import { sendWithOfficialSdk } from './send-with-sdk.ts'

/** One way for a response to break. */
export interface Break {
  readonly name: string
  readonly stream: boolean
  readonly play: Play
  /** Returns a further defect, in addition to the general rules. */
  wrong?(pair: Pair, answer: HttpResponse): string | undefined
}

export interface Breaking {
  readonly total: number
  readonly reported: number
  /** Number of official clients that sent a call, and of those that threw, by client format. */
  readonly threw: Readonly<Record<string, { total: number; threw: number }>>
  readonly notes: readonly string[]
}

const width = 8
/** A break that is not reported by then hangs, and is not repeated for the pair. */
const patienceMs = 5000

/**
 * Breaks every pair's response in each way.
 *
 * @param rounds repetitions per pair and break, checked byte by byte
 * @param official repetitions with the official SDK of each format
 */
export async function breakAll(
  setting: CheckContext,
  breaks: readonly Break[],
  { rounds, official }: { rounds: number; official: number },
): Promise<Breaking> {
  const { pairs } = setting.target
  const cases = pairs.flatMap((pair) => breaks.map((way): Case => ({ pair, way })))
  const hanging = new Set<Case>()
  const complaints: string[] = []
  const complain = ({ pair, way }: Case, wrong: string): void =>
    void complaints.push(`${pair.client} from ${pair.upstream}, ${way.name}: ${wrong}`)

  let reported = 0
  const asks = Array.from({ length: rounds }, () => cases).flat()
  await inParallel(asks, width, async (one) => {
    const wrong = hanging.has(one) ? 'it hangs' : await wrongWith(setting, one, hanging)
    if (wrong === undefined) reported++
    else complain(one, wrong)
  })

  const threw: Record<string, { total: number; threw: number }> = {}
  for (const client of new Set(pairs.map((pair) => pair.client))) {
    const ofClient = cases.filter(({ pair }) => pair.client === client)
    const count = { total: official, threw: 0 }
    threw[client] = count
    const jobs = Array.from({ length: official }, (_, at) => ofClient[at % ofClient.length] as Case)
    await inParallel(jobs, width, async (one) => {
      const wrong = hanging.has(one) ? 'it hangs' : await unthrown(setting, one, hanging)
      if (wrong === undefined) count.threw++
      else complain(one, `the official SDK: ${wrong}`)
    })
  }
  return { total: asks.length, reported, threw, notes: tally(complaints) }
}

interface Case {
  readonly pair: Pair
  readonly way: Break
}

async function wrongWith(
  { target, upstream }: CheckContext,
  one: Case,
  hanging: Set<Case>,
): Promise<string | undefined> {
  const { pair, way } = one
  const scene = upstream.play(way.play)
  const ask = { ...pair, text: scene.marker, stream: way.stream }
  const answer = await exchange(target, ask, { withinMs: patienceMs })
  scene.end()
  if (answer.endMs >= patienceMs) hanging.add(one)
  return failureDefect(pair.client, answer) ?? way.wrong?.(pair, answer)
}

async function unthrown(
  { target, upstream }: CheckContext,
  one: Case,
  hanging: Set<Case>,
): Promise<string | undefined> {
  const { pair, way } = one
  const scene = upstream.play(way.play)
  const outcome = sendWithOfficialSdk(target, { ...pair, text: scene.marker, stream: way.stream }).then(
    () => 'it returned a response',
    () => 'it threw',
  )
  const end = await resultWithin(patienceMs, outcome)
  scene.end()
  if (end === undefined) hanging.add(one)
  return end === 'it threw' ? undefined : (end ?? 'it hangs')
}
/** Formats the result for the table. */
export const throwsOf = ({ threw }: Breaking): string =>
  Object.entries(threw)
    .map(([client, { total, threw: count }]) => `${client} ${count}/${total}`)
    .join(', ')

export const heldOf = ({ total, reported, threw }: Breaking): boolean =>
  reported === total && Object.values(threw).every((one) => one.threw === one.total)
