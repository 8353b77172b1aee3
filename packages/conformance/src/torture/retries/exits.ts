import type { UpstreamCall } from '../../base/raw-upstream.ts'
import { errorEvent, good } from '../../base/streams.ts'
import {
  answerJson,
  beginStream,
  counting,
  failing,
  formatOf,
  resetting,
  whole,
} from '../../base/upstream-responses.ts'

/** The upstream's token counts of one response. */
export interface Counts {
  readonly input: number
  readonly output: number
}

/** Called when a response was sent completely: the upstream's own totals. */
type Charge = (counts: Counts) => void

type Deed = (call: UpstreamCall, counts: Counts, charge: Charge) => void

const well: Deed = (call, counts, charge) => {
  const format = formatOf(call)
  call.response.once('finish', () => charge(counts))
  if (!call.stream) return answerJson(call, 200, counting(JSON.stringify(whole[format]), counts.input, counts.output))
  beginStream(call)
  for (const event of good[format]) call.response.write(counting(event, counts.input, counts.output))
  call.response.end()
}

/** Sends three events and then runs `after`. */
const begun =
  (after: (call: UpstreamCall) => void): Deed =>
  (call) => {
    beginStream(call)
    call.response.write(good[formatOf(call)].slice(0, 3).join(''))
    setTimeout(after, 20, call)
  }

const nothing: Deed = () => {}

/** One way in which a call can end. */
export interface Exit {
  /** Behaviour of the upstream per attempt; the last one repeats. */
  readonly deeds: readonly Deed[]
  readonly stream?: true
  /** One target instead of two. */
  readonly alone?: true
  /** The client disconnects: this many milliseconds after the upstream has the call, or after the first data. */
  readonly leaves?: number | 'reading'
  readonly outcome: 'finished' | 'failed' | 'aborted'
}

const fail = (status: number): Deed => failing(status)

export const exits: Readonly<Record<string, Exit>> = {
  ok: { deeds: [well], outcome: 'finished' },
  'ok, streamed': { deeds: [well], stream: true, outcome: 'finished' },
  retry: { deeds: [fail(500), well], outcome: 'finished' },
  'retry, streamed': { deeds: [fail(503), well], stream: true, alone: true, outcome: 'finished' },
  'reset, then ok': { deeds: [resetting, resetting, well], outcome: 'finished' },
  fallback: { deeds: [nothing, well], outcome: 'finished' },
  error: { deeds: [fail(400)], outcome: 'failed' },
  outage: { deeds: [fail(500)], outcome: 'failed' },
  timeout: { deeds: [nothing], stream: true, alone: true, outcome: 'failed' },
  'aborted before the response': { deeds: [nothing], leaves: 20, outcome: 'aborted' },
  'aborted during a back-off': {
    deeds: [failing(503, { 'retry-after': '1' })],
    alone: true,
    leaves: 20,
    outcome: 'aborted',
  },
  'aborted during a stream': { deeds: [begun(() => {})], stream: true, leaves: 'reading', outcome: 'aborted' },
  cut: { deeds: [begun(({ socket }) => void socket.resetAndDestroy())], stream: true, outcome: 'failed' },
  stalled: { deeds: [begun(() => {})], stream: true, outcome: 'failed' },
  'error event': {
    deeds: [begun((call) => void call.response.end(errorEvent[formatOf(call)]))],
    stream: true,
    outcome: 'failed',
  },
}
