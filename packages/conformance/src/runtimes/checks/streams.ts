import type { ClientRequest } from 'node:http'
import type { UpstreamCall } from '../../base/raw-upstream.ts'
import { type Format, formats } from '../../base/recorded-traffic.ts'
import { good } from '../../base/streams.ts'
import { beginStream, formatOf, resultWithin } from '../../base/upstream-responses.ts'
import type { Pair, Target } from '../../torture/check.ts'
import { exchange, send } from '../../torture/client.ts'
import { allPairs } from '../../torture/local-target.ts'
import { holdsWithin } from '../../torture/measurements.ts'
import { readStream } from '../../torture/read-responses.ts'
import { disconnectOne, type Moment, moments } from '../../torture/streams/disconnects.ts'
import { type Case, type Check, mergeTallies, type RuntimeTarget, tallyOf } from '../check.ts'

const pairName = ({ client, upstream }: Pair): string => `${client} from ${upstream}`
const patienceMs = 20_000

/** A promise with its resolver. */
function gate(): { readonly opened: Promise<true>; open(): void } {
  let open = (): void => {}
  const opened = new Promise<true>((resolve) => {
    open = () => resolve(true)
  })
  return { opened, open }
}

/** The upstream holds back each word until the client has received the previous one. */
async function isLive({ scriptedUpstream, strict }: RuntimeTarget, pair: Pair): Promise<string | undefined> {
  const words = ['one', ' two', ' three']
  const gates = words.map(gate)
  const scene = scriptedUpstream.play(async (call) => {
    beginStream(call)
    const events = good[formatOf(call)]
    const [first = '', ...rest] = events
    call.response.write(first)
    for (const [at, event] of rest.entries()) {
      // Waits after each word until the client has received it.
      call.response.write(event)
      await gates[at]?.opened
    }
    call.response.end()
  })
  let text = ''
  const onData = (part: Buffer): void => {
    text += part.toString()
    const output = readStream(pair.client, text).text
    for (const [at] of words.entries()) if (output.startsWith(words.slice(0, at + 1).join(''))) gates[at]?.open()
  }
  const answer = await exchange(strict, { ...pair, text: scene.marker, stream: true }, { onData, withinMs: patienceMs })
  scene.end()
  const { text: received, successes } = readStream(pair.client, answer.text)
  if (answer.status !== 200) return `returned status ${answer.status}: ${answer.text.slice(0, 200)}`
  if (answer.broken !== undefined) return `after '${received}': ${answer.broken}`
  return received === words.join('') && successes.length === 1 ? undefined : `it returned '${received}'`
}

/** Streams arrive word by word. */
export const live: Check = {
  name: 'live',
  promise: 'the client receives each word of a stream while the upstream holds back the next, each pair of formats',
  run: (place) =>
    tallyOf(
      allPairs.map((pair): Case => ({ name: pairName(pair), ask: () => isLive(place, pair) })),
      4,
    ),
}

/** workerd notices a half-closed connection only when it writes, but a reset at once. */
const seesResetsOnly = ({ pin }: RuntimeTarget): boolean => pin.program === 'on-workerd.js'

const outcomesAt = async ({ origin }: RuntimeTarget): Promise<Record<string, number>> =>
  (await fetch(`${origin}/host/more/outcomes`)).json() as Promise<Record<string, number>>

/** A client disconnect aborts the upstream call. */
export const disconnects: Check = {
  name: 'disconnects',
  promise: 'a client disconnect aborts the upstream call at any moment, each pair of formats; `onFinish` is called',
  async run(place) {
    const { strict, withShortHeartbeat, scriptedUpstream: upstream } = place
    const open: UpstreamCall[] = []
    const leaves = (target: Target, moment: Moment, how: string, hangUp?: (outgoing: ClientRequest) => void): Case[] =>
      allPairs.map((pair) => ({
        name: `${moment.name}, ${how}${pairName(pair)}`,
        async ask() {
          const left = await disconnectOne({ target, upstream }, moment, pair, open, hangUp)
          return typeof left === 'string' ? left : undefined
        },
      }))
    const cases = seesResetsOnly(place)
      ? moments.flatMap((moment) => [
          ...leaves(strict, moment, 'by a reset,', (outgoing) => outgoing.socket?.resetAndDestroy()),
          // Heartbeats exist only in streams.
          ...(moment.stream ? leaves(withShortHeartbeat, moment, 'noticed by a heartbeat,') : []),
        ])
      : moments.flatMap((moment) => leaves(strict, moment, ''))
    const before = (await outcomesAt(place)).aborted ?? 0
    const reported: Case = {
      name: 'onFinish',
      async ask() {
        const aborted = async (): Promise<number> => ((await outcomesAt(place)).aborted ?? 0) - before
        if (await holdsWithin(async () => (await aborted()) === cases.length, patienceMs)) return undefined
        return `onFinish reported ${await aborted()} of ${cases.length} aborted calls`
      },
    }
    const tally = await tallyOf(cases, 8)
    const after = await tallyOf([reported])
    for (const call of open) call.socket.destroy()
    return mergeTallies(tally, after)
  },
}

/** More than socket and runtime buffers hold, but less than an unthrottled upstream would send. */
const enoughBytes = 48 * 1024 * 1024
const filler = 'x'.repeat(1000)

/** Sends words as long as they are accepted. */
async function standsStill({ scriptedUpstream, strict }: RuntimeTarget, pair: Pair): Promise<string | undefined> {
  let sent = 0
  const scene = scriptedUpstream.play((call) => {
    beginStream(call)
    const [opening = '', word = ''] = good[formatOf(call)]
    const delta = word.replace('"one"', `"${filler}"`)
    call.response.write(opening)
    const pour = (): void => {
      while (!call.response.destroyed && sent <= enoughBytes) {
        sent += delta.length
        if (!call.response.write(delta)) return
      }
    }
    call.response.on('drain', pour)
    pour()
  })
  const outgoing = send(strict, { ...pair, text: scene.marker, stream: true })
  try {
    const answered = new Promise<true>((resolve) => void outgoing.once('response', () => resolve(true)))
    if ((await resultWithin(patienceMs, answered)) === undefined) return 'no response'
    let before = -1
    for (let still = 0; still < 3 && sent <= enoughBytes; ) {
      await new Promise((resolve) => setTimeout(resolve, 100))
      still = sent === before ? still + 1 : 0
      before = sent
    }
    if (sent > enoughBytes) return `${sent} bytes were accepted for a client that does not read`
    const call = await scene.arrived()
    outgoing.destroy()
    return (await resultWithin(patienceMs, call.closed)) === undefined ? 'the upstream call was not aborted' : undefined
  } finally {
    outgoing.destroy()
    scene.end()
  }
}

const nextOf = (at: number): Format => formats[(at + 1) % formats.length] as Format

/** A client that does not read must not fill the gateway's memory. */
export const pace: Check = {
  name: 'pace',
  promise: 'a client that does not read pauses the upstream, each format on either side (with --full each pair)',
  run(place) {
    const pairs = place.full ? allPairs : formats.map((client, at) => ({ client, upstream: nextOf(at) }))
    return tallyOf(
      pairs.map((pair): Case => ({ name: pairName(pair), ask: () => standsStill(place, pair) })),
      4,
    )
  },
}
