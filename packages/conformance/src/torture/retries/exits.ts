import type { UpstreamCall } from '../../base/raw-upstream.ts'
import { errorEvent, good } from '../../base/streams.ts'
import {
  beginStream,
  failWithStatus,
  formatOf,
  resetConnection,
  sendJson,
  wholeResponse,
  withTokenCounts,
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
  if (!call.stream)
    return sendJson(call, 200, withTokenCounts(JSON.stringify(wholeResponse[format]), counts.input, counts.output))
  beginStream(call)
  for (const event of good[format]) call.response.write(withTokenCounts(event, counts.input, counts.output))
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
  readonly behaviours: readonly Deed[]
  readonly stream?: true
  /** One target instead of two. */
  readonly alone?: true
  /** The client disconnects: this many milliseconds after the upstream has the call, or after the first data. */
  readonly disconnects?: number | 'reading'
  readonly outcome: 'finished' | 'failed' | 'aborted'
}

const fail = (status: number): Deed => failWithStatus(status)

export const exits: Readonly<Record<string, Exit>> = {
  ok: { behaviours: [well], outcome: 'finished' },
  'ok, streamed': { behaviours: [well], stream: true, outcome: 'finished' },
  retry: { behaviours: [fail(500), well], outcome: 'finished' },
  'retry, streamed': { behaviours: [fail(503), well], stream: true, alone: true, outcome: 'finished' },
  'reset, then ok': { behaviours: [resetConnection, resetConnection, well], outcome: 'finished' },
  fallback: { behaviours: [nothing, well], outcome: 'finished' },
  error: { behaviours: [fail(400)], outcome: 'failed' },
  outage: { behaviours: [fail(500)], outcome: 'failed' },
  timeout: { behaviours: [nothing], stream: true, alone: true, outcome: 'failed' },
  'aborted before the response': { behaviours: [nothing], disconnects: 20, outcome: 'aborted' },
  'aborted during a back-off': {
    behaviours: [failWithStatus(503, { 'retry-after': '1' })],
    alone: true,
    disconnects: 20,
    outcome: 'aborted',
  },
  'aborted during a stream': {
    behaviours: [begun(() => {})],
    stream: true,
    disconnects: 'reading',
    outcome: 'aborted',
  },
  cut: { behaviours: [begun(({ socket }) => void socket.resetAndDestroy())], stream: true, outcome: 'failed' },
  stalled: { behaviours: [begun(() => {})], stream: true, outcome: 'failed' },
  'error event': {
    behaviours: [begun((call) => void call.response.end(errorEvent[formatOf(call)]))],
    stream: true,
    outcome: 'failed',
  },
}
