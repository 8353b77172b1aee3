import { type Format, formats } from '../../base/recorded-traffic.ts'
import { sleep } from '../../base/upstream-responses.ts'
import type { Check, Finished, LocalGateway, Pair, Target } from '../check.ts'
import { exchange, send, type TargetRequest } from '../client.ts'
import { holdsWithin, inParallel, tally } from '../measurements.ts'
import { type Counts, type Exit, exits } from './exits.ts'

/** Long enough for a machine that is busy with the other calls. */
const limits = { firstByteMs: 2000, idleMs: 2000 }

const other = (format: Format): Format => formats[(formats.indexOf(format) + 1) % formats.length] ?? format

/** Different counts for each call, so that errors cannot cancel out. */
const countsOf = (id: number): Counts => ({ input: 1 + ((id * 7919) % 997), output: 1 + ((id * 104_729) % 1009) })

interface Job {
  readonly id: number
  readonly name: string
  readonly exit: Exit
  readonly pair: Pair
  readonly model: string
}

const add = (sum: Counts, more: Counts): Counts => ({ input: sum.input + more.input, output: sum.output + more.output })

/** Sends the call and simulates its client; resolves when the client is done. */
async function act(target: Target, { exit, pair, model }: Job, text: string, arrived: Promise<void>): Promise<void> {
  const { disconnects } = exit
  const ask: TargetRequest = { ...pair, model, text, stream: exit.stream ?? false }
  if (disconnects === undefined) {
    await exchange(target, ask)
    return
  }
  const outgoing = send(target, ask)
  const read = new Promise<void>((resolve) => {
    outgoing.once('response', (incoming) => {
      incoming.on('error', () => {})
      incoming.once('data', () => resolve())
    })
    outgoing.once('close', () => resolve())
  })
  if (disconnects === 'reading') await read
  else {
    await arrived
    await sleep(disconnects)
  }
  outgoing.destroy()
}

/** Returns all onFinish events, once no more arrive. */
async function booksOf(own: LocalGateway, expected: number): Promise<Finished[]> {
  const events: Finished[] = []
  await holdsWithin(async () => {
    events.push(...(await own.finished()))
    return events.length >= expected
  }, 10_000)
  // Duplicate reports would arrive now.
  await sleep(500)
  events.push(...(await own.finished()))
  return events
}

/** Compares every kind of outcome with the onFinish events that billing relies on. */
export const billing: Check = {
  row: 25,
  group: 'Retries and fallback',
  title: 'Billing hook',
  promise:
    'exactly one onFinish per request on every outcome (ok, abort, error, timeout, retry): 10,000/10,000, sums equal the mock’s ledger',
  perServer: true,
  async run({ target: { local, name }, upstream, count, fresh }) {
    if (local === undefined) return { skipped: `onFinish of ${name} is not visible from outside` }
    const target = await fresh({
      limits,
      retry: { budgetFloor: 1_000_000, backoffMs: 20 },
      models: Object.fromEntries(
        formats.flatMap((format) => [
          [`two-${format}/*`, [format, other(format)]],
          [`one-${format}/*`, format],
        ]),
      ),
    })
    if (target === undefined) throw new Error('the gateway could not be started')
    const total = count(10_000, 240)
    const names = Object.keys(exits)
    const jobs = Array.from({ length: total }, (_, id): Job => {
      const name = names[id % names.length] ?? ''
      const exit = exits[name] as Exit
      const pair = target.pairs[Math.floor(id / names.length) % target.pairs.length] as Pair
      return { id, name, exit, pair, model: `${exit.alone ? 'one' : 'two'}-${pair.upstream}/${id}` }
    })

    let ledger: Counts = { input: 0, output: 0 }
    let answered = 0
    const attempts = new Map<number, number>()
    const arrivals = jobs.map(() => {
      let resolve = (): void => {}
      const arrived = new Promise<void>((done) => {
        resolve = done
      })
      return { arrived, resolve }
    })
    const scene = upstream.play((call) => {
      const id = Number(/call (\d+)\./.exec(call.body.toString('latin1'))?.[1])
      const attempt = attempts.get(id) ?? 0
      attempts.set(id, attempt + 1)
      arrivals[id]?.resolve()
      const deeds = jobs[id]?.exit.behaviours ?? []
      deeds[Math.min(attempt, deeds.length - 1)]?.(call, countsOf(id), (counts) => {
        answered++
        ledger = add(ledger, counts)
      })
    })
    await inParallel(jobs, 200, (job) =>
      act(target, job, `${scene.marker} call ${job.id}.`, arrivals[job.id]?.arrived ?? Promise.resolve()),
    )
    const events = await booksOf(target.local, total)
    scene.end()

    const reported = new Map<string, Finished[]>()
    for (const one of events) reported.set(one.model ?? '', [...(reported.get(one.model ?? '') ?? []), one])
    const complaints: string[] = []
    let once = 0
    let billed: Counts = { input: 0, output: 0 }
    let finished = 0
    for (const { name: exitName, exit, pair, model } of jobs) {
      const of = reported.get(model) ?? []
      const what = `${exitName}, ${pair.client} from ${pair.upstream}`
      if (of.length === 1) once++
      else complaints.push(`${what}: reported ${of.length} times`)
      for (const { outcome, inputTokens, outputTokens } of of) {
        if (outcome !== exit.outcome) complaints.push(`${what}: ${outcome}, not ${exit.outcome}`)
        if (outcome !== 'finished') continue
        finished++
        billed = add(billed, { input: inputTokens, output: outputTokens })
      }
    }
    if (events.length > total) complaints.push(`${events.length - total} more reports than calls`)
    const same = billed.input === ledger.input && billed.output === ledger.output && finished === answered
    return {
      held: complaints.length === 0 && once === total && same,
      figure: `${once}/${total} reported once (${names.length} kinds of outcomes); billed ${finished} responses, ${billed.input} + ${billed.output} tokens, the mock's ledger has ${answered} with ${ledger.input} + ${ledger.output}`,
      notes: tally(complaints),
    }
  },
}
