import type { StreamReading } from '../../base/client-events.ts'
import type { ClientFormat } from '../../base/client-formats.ts'
import { listOf, objectOf, parseJson, textOf } from '../../base/json.ts'
import type { UpstreamCall } from '../../base/raw-upstream.ts'
import type { Format } from '../../base/recorded-traffic.ts'
import { beginStream, sleep } from '../../base/upstream-responses.ts'
import type { Check, CheckContext, Pair } from '../check.ts'
import { exchange, type HttpResponse } from '../client.ts'
import { inParallel, tally } from '../measurements.ts'
import { readStream } from '../read-responses.ts'
import { type Mutated, mutatedStreams } from './mutations.ts'

/** Parses like the most lenient client: with every kind of line end, and without a byte order mark. */
const read = (format: ClientFormat, text: string): StreamReading =>
  readStream(format, text.replace(/^\uFEFF/, '').replaceAll(/\r\n?/g, '\n'))

async function play(call: UpstreamCall, { bytes, end }: Mutated): Promise<void> {
  beginStream(call)
  if (bytes.length > 0) call.response.write(bytes)
  if (end === 'well') call.response.end()
  else if (end === 'within') call.socket.end()
  else {
    await sleep(3)
    call.socket.resetAndDestroy()
  }
}

type Verdict = 'false success' | 'success behind an error' | 'no ending'

/** An upstream may end its own format's stream with a failure event, which its clients know. */
const hasFailed = (format: ClientFormat, text: string): boolean =>
  format === 'responses' && /"type": ?"response\.failed"/.test(text)

/**
 * Chat Completions are complete without `[DONE]` if the body ends correctly after a finish reason
 * (docs/decisions/0005).
 */
const isCompleteWithoutMarker = (upstream: Format, { end }: Mutated, { events }: StreamReading): boolean =>
  upstream === 'chat' &&
  end === 'well' &&
  events.some(({ data }) =>
    listOf(objectOf(parseJson(data)).choices).some((choice) => textOf(objectOf(choice).finish_reason) !== ''),
  )

/** Returns the defect of a response, given the upstream's own stream. */
function judge({ client, upstream }: Pair, mutated: Mutated, answer: HttpResponse): Verdict | undefined {
  const text = read(upstream, mutated.bytes.toString('utf8'))
  const withoutMarker = isCompleteWithoutMarker(upstream, mutated, text)
  const { successes, errors } = read(client, answer.text)
  if (answer.status === 200 && successes.length > 0) {
    if (text.successes.length === 0 && !withoutMarker) return 'false success'
    return errors.some((error) => error < (successes[0] as number)) ? 'success behind an error' : undefined
  }
  const reported =
    answer.status >= 400 || answer.broken !== undefined || errors.length > 0 || hasFailed(client, answer.text)
  // Nothing is added to a pass-through stream.
  return reported || (withoutMarker && client === upstream) ? undefined : 'no ending'
}

async function ask(
  { target, upstream }: CheckContext,
  pair: Pair,
  stream: Mutated,
  withinMs: number,
): Promise<HttpResponse> {
  const scene = upstream.play((call) => play(call, stream))
  const answer = await exchange(target, { ...pair, text: scene.marker, stream: true }, { withinMs })
  scene.end()
  return answer
}

/** Streams that were cut, reordered, overwritten and mixed with parts of other streams. */
export const honesty: Check = {
  row: 7,
  group: 'Streams',
  title: 'Success marker honesty',
  promise:
    '`[DONE]`/`message_stop`/`response.completed`/finishReason only if the upstream had its own; 0 false of 10,000 fuzzed streams',
  async run(setting) {
    const { pairs } = setting.target
    const each = Math.ceil(setting.count(10_000, 800) / pairs.length)
    const jobs = pairs.flatMap((pair, place) =>
      mutatedStreams(pair.upstream, each, 42 + place).map((stream) => ({ pair, stream })),
    )
    const complaints: string[] = []
    const counts = { 'false success': 0, 'success behind an error': 0, 'no ending': 0 }
    let unfinished = 0
    let hung = 0
    await inParallel(jobs, 8, async ({ pair, stream }) => {
      // After many hanging clients, the wait becomes shorter.
      const withinMs = hung < 16 ? 5000 : 200
      const answer = await ask(setting, pair, stream, withinMs)
      if (answer.endMs >= withinMs) hung++
      if (read(pair.upstream, stream.bytes.toString('utf8')).successes.length === 0) unfinished++
      const verdict = judge(pair, stream, answer)
      if (verdict === undefined) return
      counts[verdict]++
      const end = JSON.stringify(stream.bytes.toString('utf8').slice(-160))
      complaints.push(`${pair.client} from ${pair.upstream}: ${verdict}, the upstream ended ${stream.end} with ${end}`)
    })
    return {
      held: complaints.length === 0,
      figure:
        `${counts['false success']} false of ${jobs.length} fuzzed streams, ${counts['success behind an error']} behind an error; ` +
        `${unfinished} had no marker of their own, ${counts['no ending']} ended in neither an error nor success, ${hung} hung`,
      notes: tally(complaints),
    }
  },
}
