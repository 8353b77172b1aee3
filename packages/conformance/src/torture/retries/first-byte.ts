import type { UpstreamCall } from '../../base/raw-upstream.ts'
import { type Format, formats } from '../../base/recorded-traffic.ts'
import { errorEvent, malformed } from '../../base/streams.ts'
import { beginStream, eventsWithWords, formatOf, resultWithin } from '../../base/upstream-responses.ts'
import type { Check, CheckContext, Pair, Target } from '../check.ts'
import { decodedText, send } from '../client.ts'
import { inParallel, tally } from '../measurements.ts'
import { readStream } from '../read-responses.ts'

/** Ways in which a started stream breaks. */
const breaks: Readonly<Record<string, (call: UpstreamCall, next: string) => void>> = {
  'a reset': ({ socket }) => void socket.resetAndDestroy(),
  'an end of file': ({ socket }) => void socket.end(),
  'an end without a finish event': ({ response }) => void response.end(),
  'an end within an event': ({ response }, next) => void response.end(next.slice(0, next.length / 2)),
  'an error event': (call) => void call.response.end(errorEvent[formatOf(call)]),
  'a malformed event': (call) => void call.response.end(malformed[formatOf(call)]),
}

/** Returns text that is unique to an attempt. */
const wordsOf = (attempt: number) => ({ one: `one${attempt}`, two: `two${attempt}`, three: `three${attempt}` })
const textOf = (attempt: number): string => `one${attempt} two${attempt} three${attempt}`

/** Attempts from the second on succeed. */
function answerAgain(call: UpstreamCall): void {
  beginStream(call)
  call.response.end(eventsWithWords(formatOf(call), wordsOf(call.number)).join(''))
}

interface Told {
  readonly calls: number
  readonly text: string
  /** True if the client had received data before the break. */
  readonly begun: boolean
}

/** Runs one stream whose first attempt sends some events, waits until the client has received data, and breaks. */
async function breakOnce(
  target: Target,
  { upstream }: Pick<CheckContext, 'upstream'>,
  { pair, model, events, how }: { pair: Pair; model: string; events: number; how: string },
): Promise<Told> {
  let begun = false
  let received = (): void => {}
  const first = new Promise<void>((resolve) => {
    received = resolve
  })
  const scene = upstream.play(async (call) => {
    if (call.number > 1) return answerAgain(call)
    const text = eventsWithWords(formatOf(call), wordsOf(1))
    if (events > 0) {
      beginStream(call)
      call.response.write(text.slice(0, events).join(''))
      await resultWithin(3000, first)
    }
    breaks[how]?.(call, text[events] ?? '')
  })
  const text = await new Promise<string>((resolve) => {
    const parts: Buffer[] = []
    let type: string | undefined
    const done = (): void => {
      clearTimeout(timer)
      const { text, defect } = decodedText(Buffer.concat(parts), type)
      resolve(defect ?? readStream(pair.client, text).text)
    }
    const timer = setTimeout(done, 5000)
    const outgoing = send(target, { ...pair, model, stream: true, text: scene.marker })
    outgoing.on('error', done)
    outgoing.on('response', (incoming) => {
      type = incoming.headers['content-type']
      incoming.on('data', (part: Buffer) => {
        parts.push(part)
        if (incoming.statusCode !== 200) return
        begun = true
        received()
      })
      incoming.on('error', done)
      incoming.on('end', done)
    })
  })
  scene.end()
  return { calls: scene.calls.length, text, begun }
}

const next = (format: Format): Format => formats[(formats.indexOf(format) + 1) % formats.length] ?? format

/** Streams that break after the client received data, although attempts and another target are left. */
export const noRetryAfterFirstByte: Check = {
  row: 19,
  group: 'Retries and fallback',
  title: 'No retry after first client byte',
  promise: '0 of 1,000; text is a prefix of one attempt',
  async run(setting) {
    const fresh = await setting.fresh({
      retry: { budgetFloor: 1_000_000, backoffMs: 1 },
      models: Object.fromEntries(formats.map((format) => [`two-${format}`, [format, next(format)]])),
    })
    const target = fresh ?? setting.target
    const names = Object.keys(breaks)
    const total = setting.count(1000, 200)
    const jobs = Array.from({ length: total }, (_, place) => {
      const pair = target.pairs[place % target.pairs.length] as Pair
      const round = Math.floor(place / target.pairs.length)
      const model = fresh === undefined ? target.model(pair.upstream) : `two-${pair.upstream}`
      return { pair, model, how: names[(place + round) % names.length] ?? '', events: 2 + (round % 3) }
    })
    const complaints: string[] = []
    let again = 0
    let mixed = 0
    let begun = 0
    await inParallel(jobs, 16, async (job) => {
      const reported = await breakOnce(target, setting, job)
      const what = `${job.how} after ${job.events} events, ${job.pair.client} from ${job.pair.upstream}`
      if (reported.begun) begun++
      if (reported.begun && reported.calls > 1) {
        again++
        complaints.push(`${what}: ${reported.calls} calls upstream`)
      }
      if (
        !Array.from({ length: reported.calls }, (_, at) => textOf(at + 1)).some((text) =>
          text.startsWith(reported.text),
        )
      ) {
        mixed++
        complaints.push(`${what}: the client received '${reported.text}'`)
      }
    })
    // Control: the gateway retries if no output has been sent.
    const controls = await inParallel(target.pairs, 4, (pair) => {
      const model = fresh === undefined ? target.model(pair.upstream) : `two-${pair.upstream}`
      return breakOnce(target, setting, { pair, model, events: 0, how: 'a reset' })
    })
    const retried = controls.filter(({ calls, text }) => calls > 1 && text === textOf(calls)).length
    return {
      held: again === 0 && mixed === 0 && begun === total && (fresh === undefined || retried === controls.length),
      figure: `${again} of ${begun} tried again, ${mixed} mixed texts (broken before the first event: ${retried}/${controls.length} tried again)`,
      notes: tally(complaints),
    }
  },
}
