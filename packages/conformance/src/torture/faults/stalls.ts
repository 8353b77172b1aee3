import type { UpstreamCall } from '../../base/raw-upstream.ts'
import { good } from '../../base/streams.ts'
import { beginStream, formatOf, wholeResponse } from '../../base/upstream-responses.ts'
import { type Check, type PairVariant, variantName, variantsOf } from '../check.ts'
import { exchange } from '../client.ts'
import { inParallel, tally } from '../measurements.ts'
import { failureDefect, readError } from '../read-responses.ts'
import { readDocumentedErrors } from './documented-errors.ts'
import { inTime, limitMs, patienceMs, stillWaiting, timeOthers, whenEnded } from './time-limits.ts'

/** Position at which a response stalls: sent bytes of all bytes. */
interface Stall {
  readonly name: string
  readonly stream: boolean
  play(call: UpstreamCall): void
}

const beginWhole = (call: UpstreamCall, chars: (length: number) => number): void => {
  const text = JSON.stringify(wholeResponse[formatOf(call)])
  call.response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  call.response.flushHeaders()
  call.response.write(text.slice(0, chars(text.length)))
}

const stalls: readonly Stall[] = [
  {
    name: 'after an event',
    stream: true,
    play(call) {
      beginStream(call)
      for (const event of good[formatOf(call)].slice(0, 3)) call.response.write(event)
    },
  },
  {
    name: 'within an event',
    stream: true,
    play(call) {
      beginStream(call)
      const [first = '', second = '', third = ''] = good[formatOf(call)]
      call.response.write(first + second + third.slice(0, third.length / 2))
    },
  },
  {
    name: 'before its last event',
    stream: true,
    play(call) {
      beginStream(call)
      for (const event of good[formatOf(call)].slice(0, -1)) call.response.write(event)
    },
  },
  { name: 'within the JSON', stream: false, play: (call) => beginWhole(call, (length) => length / 2) },
  { name: 'before the last brace', stream: false, play: (call) => beginWhole(call, (length) => length - 1) },
  { name: 'after the head', stream: false, play: (call) => beginWhole(call, () => 0) },
]

/** A response that stalls in the middle while its connection stays open. */
export const stalled: Check = {
  row: 12,
  group: 'Faults',
  title: 'Stall mid-stream / mid-JSON',
  promise: 'error event / 502 at the idle limit ±100 ms',
  perServer: true,
  async run(setting) {
    const { upstream, short } = setting
    const fresh = await setting.fresh({ limits: { idleMs: limitMs } })
    const target = fresh ?? setting.target
    const every = variantsOf(target).flatMap((way) =>
      stalls.filter(({ stream }) => stream === way.stream).map((stall) => ({ way, stall })),
    )
    const cases = short ? every.filter((_, place) => place % 3 === 0) : [...every, ...every, ...every]
    if (fresh !== undefined) for (const way of variantsOf(target)) await exchange(target, { ...way, text: 'Hello' })
    // Clients of Converse get another status for this than for other faults of an upstream.
    const tellings = readDocumentedErrors().kinds.upstream_idle_timeout?.tellings
    const others = timeOthers(target)
    const answers = await inParallel(cases, 8, async ({ way, stall }) => {
      let stalledAt = Number.NaN
      const scene = upstream.play((call) => {
        stall.play(call)
        stalledAt = performance.now()
      })
      const begun = performance.now()
      const withinMs = fresh === undefined ? patienceMs : limitMs * 8
      const answer = await exchange(target, { ...way, text: scene.marker }, { withinMs })
      scene.end()
      return { way, stall, answer, ms: begun + answer.endMs - stalledAt }
    })
    const { text: meanwhile } = await others()
    const waiting = answers.filter(({ answer }) => answer.broken?.startsWith('no end within'))
    if (fresh === undefined && waiting.length > 0) return stillWaiting(target, waiting.length, answers.length)
    const wrong = ({
      way,
      answer,
    }: {
      way: PairVariant
      answer: (typeof answers)[number]['answer']
    }): string | undefined => {
      if (way.stream) return failureDefect(way.client, answer)
      if (answer.status !== tellings?.[way.client].status) return `returned status ${answer.status || answer.broken}`
      return readError(way.client, answer) === undefined ? 'not in the dialect' : undefined
    }
    const complaints = answers.flatMap((one) => {
      const complaint = wrong(one)
      return complaint === undefined ? [] : [`${one.stall.name}, ${variantName(one.way)}: ${complaint}`]
    })
    const times = answers.map((one) => one.ms)
    return {
      held: complaints.length === 0 && (fresh === undefined || inTime(times) === times.length),
      late: complaints.length === 0,
      figure: `${answers.length - complaints.length}/${answers.length} ended in an error${
        fresh === undefined ? '' : `, ${inTime(times)}/${times.length} in time: ${whenEnded(times)}`
      }`,
      notes: [...tally(complaints), meanwhile],
    }
  },
}
