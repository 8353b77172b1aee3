import type { Play } from '../../base/raw-upstream.ts'
import { formats } from '../../base/recorded-traffic.ts'
import { good } from '../../base/streams.ts'
import { beginStream, formatOf } from '../../base/upstream-responses.ts'
import type { Pair } from '../../torture/check.ts'
import { exchange, type TargetRequest } from '../../torture/client.ts'
import { allPairs } from '../../torture/local-target.ts'
import { failureDefect, readError, readStream } from '../../torture/read-responses.ts'
import { type Case, type Check, mergeTallies, type RuntimeTarget, tallyOf } from '../check.ts'

/** The upstream sends two words and then nothing until the client has received a heartbeat. */
async function hears({ scriptedUpstream, withShortLimits }: RuntimeTarget, pair: Pair): Promise<string | undefined> {
  let goOn = (): void => {}
  const received = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const scene = scriptedUpstream.play(async (call) => {
    beginStream(call)
    const events = good[formatOf(call)]
    for (const event of events.slice(0, 3)) call.response.write(event)
    await received
    for (const event of events.slice(3)) call.response.write(event)
    call.response.end()
  })
  let text = ''
  let quiet: number | undefined
  const onData = (part: Buffer): void => {
    text += part.toString()
    if (quiet !== undefined && text.length > quiet) goOn()
    // Data in the same turn may belong to the text.
    if (quiet === undefined && readStream(pair.client, text).text === 'one two')
      setTimeout(() => {
        quiet = text.length
      }, 50)
  }
  const answer = await exchange(withShortLimits, { ...pair, text: scene.marker, stream: true }, { onData })
  goOn()
  scene.end()
  const { text: output, successes } = readStream(pair.client, answer.text)
  return output === 'one two three' && successes.length === 1
    ? undefined
    : `the response ended with '${answer.text.slice(-200)}'`
}

/** The upstream is slower than its time limit. */
const givesUp = async (
  { scriptedUpstream, withShortLimits }: RuntimeTarget,
  ask: Omit<TargetRequest, 'text'>,
  play: Play,
): Promise<string | undefined> => {
  const scene = scriptedUpstream.play(play)
  const answer = await exchange(withShortLimits, { ...ask, text: scene.marker })
  scene.end()
  if (ask.stream !== true && answer.status !== 504)
    return `returned status ${answer.status}: ${answer.text.slice(0, 200)}`
  return failureDefect(ask.client, answer)
}

const silent: Play = () => {}
const stalling: Play = (call) => {
  beginStream(call)
  for (const event of good[formatOf(call)].slice(0, 3)) call.response.write(event)
}

/** An oversized body is rejected in the client's dialect without an upstream call. */
async function isTooLarge(
  { scriptedUpstream, withShortLimits }: RuntimeTarget,
  pair: Pair,
): Promise<string | undefined> {
  const before = scriptedUpstream.requests
  const answer = await exchange(withShortLimits, { ...pair, text: 'x'.repeat(200_000) })
  if (answer.status !== 413) return `returned status ${answer.status}: ${answer.broken ?? answer.text.slice(0, 200)}`
  if (scriptedUpstream.requests > before) return 'the upstream was called'
  return readError(pair.client, answer) === undefined ? `not in the dialect: ${answer.text.slice(0, 200)}` : undefined
}

function casesAt(place: RuntimeTarget): Case[] {
  const patient = allPairs.flatMap((pair): Case[] => {
    const name = `${pair.client} from ${pair.upstream}`
    return [
      { name: `heartbeat, ${name}`, ask: () => hears(place, pair) },
      { name: `no response, ${name}`, ask: () => givesUp(place, { ...pair, stream: false }, silent) },
      { name: `no first event, ${name}`, ask: () => givesUp(place, { ...pair, stream: true }, silent) },
      { name: `stalled, ${name}`, ask: () => givesUp(place, { ...pair, stream: true }, stalling) },
    ]
  })
  return patient
}

/** Time limits and size limits. */
export const limits: Check = {
  name: 'limits',
  promise:
    'heartbeats during silence, 504 without a response, an error for a stalled stream, 413 for an oversized body: each in the client’s dialect',
  async run(place) {
    // Cases with timers wait concurrently.
    const waiting = await tallyOf(casesAt(place), 32)
    const large = await tallyOf(
      formats.map((format): Case => {
        const pair = { client: format, upstream: format }
        return { name: `too large, ${format}`, ask: () => isTooLarge(place, pair) }
      }),
      1,
    )
    return mergeTallies(waiting, large)
  },
}
