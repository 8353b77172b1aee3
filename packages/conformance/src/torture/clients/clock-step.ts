import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Play, Upstream, UpstreamCall } from '../../base/raw-upstream.ts'
import { good } from '../../base/streams.ts'
import { beginStream, formatOf, sendGoodResponse, sleep } from '../../base/upstream-responses.ts'
import type { Check, CheckContext, LocalGateway, Pair, Profile, Target } from '../check.ts'
import { exchange, type HttpResponse } from '../client.ts'
import { tally } from '../measurements.ts'

type Gateway = Target & { readonly local: LocalGateway }

/** A gateway whose clock will be stepped. */
interface Stepping {
  readonly gateway: Gateway
  readonly upstream: Upstream
  /** A token without limits. */
  readonly headers: Readonly<Record<string, string>>
  /** Resolves when the clock has been stepped. */
  readonly stepped: Promise<unknown>
}

/** Clock steps: forwards by more than every limit of a running call, and backwards by more than all of them. */
const steps = [301_000, -3_600_000]
/** Milliseconds from the start of the cases to the clock step. */
const stepAtMs = 600
/** Shortened time limits, measured from the start of a call. */
const limitMs = 2000
const heartbeatMs = 250
/** Tolerance for timers on a busy machine. A limit affected by the step ends at once, or never. */
const slackMs = 1800

const profile: Profile = {
  steppable: true,
  defaults: true,
  // Reports a failure instead of waiting for the cooldown. Each model sets the time limits of its targets.
  retry: { attempts: 1, maxWaitMs: 1 },
  breaker: { failures: 2, restMs: limitMs },
  limits: { heartbeatMs, idleMs: limitMs, holdMs: 100 },
  models: {
    'total-model': { upstream: 'messages', limits: { totalMs: limitMs } },
    'first-model': { upstream: 'gemini', limits: { firstByteMs: limitMs } },
    'breaker-model': { upstream: 'responses', model: 'fails' },
    'cooldown-model': { upstream: 'responses', model: 'is-limited' },
  },
}

interface Case {
  readonly name: string
  /** Runs across the step; resolves to the defects. */
  run(stepping: Stepping): Promise<readonly string[]>
}

/** Sends one streamed call to an upstream with this script. */
async function stream(
  { gateway, upstream, headers }: Stepping,
  play: Play,
  pair: Pair = { client: 'chat', upstream: 'chat' },
  model = gateway.model(pair.upstream),
): Promise<HttpResponse> {
  const scene = upstream.play(play)
  try {
    const ask = { ...pair, text: scene.marker, stream: true, model, headers }
    return await exchange(gateway, ask, { withinMs: 3 * limitMs })
  } finally {
    for (const call of scene.calls) call.socket.destroy()
    scene.end()
  }
}

/** Sends an event at intervals until the time or the connection ends. */
async function talk(call: UpstreamCall, forMs: number): Promise<void> {
  const events = good[formatOf(call)]
  beginStream(call)
  call.response.write(events[0])
  for (const until = performance.now() + forMs; performance.now() < until && !call.response.destroyed; ) {
    call.response.write(events[1])
    await sleep(100)
  }
  if (call.response.destroyed) return
  for (const event of events.slice(2)) call.response.write(event)
  call.response.end()
}

const began = (call: UpstreamCall): void => {
  beginStream(call)
  call.response.write(good[formatOf(call)][0])
}

/** Checks that a duration equals the limit, regardless of the clock. */
const within = (what: string, took: number, due = limitMs): string[] =>
  took >= due - 50 && took <= due + slackMs ? [] : [`${what} after ${Math.round(took)} ms instead of ${due} ms`]

const isLimited = ({ status }: HttpResponse): boolean => status === 429 || status === 503

/** Fails once, then tries again right after the step and until the cooldown ends. */
async function rest({ gateway, upstream, headers, stepped }: Stepping, model: string, fail: Play, failures: number) {
  let isFailing = true
  const scene = upstream.play((call) => (isFailing ? fail(call) : sendGoodResponse(call)))
  const ask = () =>
    exchange(gateway, { client: 'responses', upstream: 'responses', text: scene.marker, model, headers })
  try {
    for (let n = 0; n < failures; n++) await ask()
    const begun = performance.now()
    isFailing = false
    await stepped
    const complaints: string[] = []
    let answer = await ask()
    if (!isLimited(answer)) complaints.push('the step ended the cooldown')
    while (isLimited(answer) && performance.now() - begun < 3 * limitMs) {
      await sleep(50)
      answer = await ask()
    }
    return [...complaints, ...within('the cooldown ended', performance.now() - begun)]
  } finally {
    scene.end()
  }
}

/** An exhausted limit must not be renewed by the step, and must be renewed in time. */
async function window({ gateway, upstream, stepped }: Stepping): Promise<readonly string[]> {
  const { secret } = await gateway.local.issue({ limits: [{ requests: 2, window: limitMs / 1000 }] })
  const scene = upstream.play(sendGoodResponse)
  const headers = { authorization: `Bearer ${secret}` }
  const ask = async () =>
    (await exchange(gateway, { client: 'chat', upstream: 'chat', text: scene.marker, headers })).status
  try {
    // As late as possible: the previous window fades with time.
    await sleep(stepAtMs / 2)
    const begun = performance.now()
    const first = [await ask(), await ask(), await ask()]
    const complaints = first.join() === '200,200,429' ? [] : [`before: ${first}`]
    await stepped
    let status = await ask()
    // Half of the window may have passed when the next one began.
    if (status !== 429 && performance.now() - begun < limitMs / 2) complaints.push('the step renewed the limit')
    while (status === 429 && performance.now() - begun < 4 * limitMs) {
      await sleep(50)
      status = await ask()
    }
    const took = performance.now() - begun
    if (took > 2 * limitMs + slackMs) complaints.push(`the limit was renewed after ${Math.round(took)} ms`)
    return complaints
  } finally {
    scene.end()
  }
}

const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): Play =>
  ({ response }) =>
    void response.writeHead(code, { 'content-type': 'application/json', ...headers }).end('{}')

const cases: readonly Case[] = [
  {
    name: 'a running stream',
    async run(stepping) {
      const { status, broken, text } = await stream(stepping, (call) => talk(call, 2 * limitMs))
      return status === 200 && broken === undefined && text.includes('[DONE]') ? [] : [`${status}, ${broken ?? 'cut'}`]
    },
  },
  {
    name: 'a silent stream',
    async run(stepping) {
      const { text, endMs } = await stream(stepping, began)
      const blocks = text.split('\n\n').filter((block) => block !== '').length
      // The first event and the error are not heartbeats, and the last heartbeat may not be due yet.
      const due = Math.floor(limitMs / heartbeatMs) - 2
      const complaints = within('idleMs', endMs)
      if (blocks - 2 < due) complaints.push(`${blocks - 2} heartbeats of ${due}`)
      if (!text.includes('upstream_idle_timeout')) complaints.push('no upstream_idle_timeout')
      return complaints
    },
  },
  {
    name: 'totalMs of a stream',
    async run(stepping) {
      const pair = { client: 'messages', upstream: 'messages' } as const
      return within(
        'the stream ended',
        (await stream(stepping, (call) => talk(call, 4 * limitMs), pair, 'total-model')).endMs,
      )
    },
  },
  {
    name: 'firstByteMs',
    async run(stepping) {
      const pair = { client: 'gemini', upstream: 'gemini' } as const
      return within('the stream ended', (await stream(stepping, () => {}, pair, 'first-model')).endMs)
    },
  },
  { name: 'the breaker', run: (stepping) => rest(stepping, 'breaker-model', status(500), 2) },
  {
    name: 'a cooldown',
    run: (stepping) => rest(stepping, 'cooldown-model', status(429, { 'retry-after': String(limitMs / 1000) }), 1),
  },
  { name: "a token's window", run: window },
]

/** Runs all cases in one gateway and steps its clock while they run. */
async function over(setting: CheckContext, stepMs: number): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'modelgate-torture-'))
  try {
    const gateway = await setting.fresh({ ...profile, tokens: { folder } })
    if (gateway === undefined) throw new Error('this gateway cannot be configured')
    const { secret } = await gateway.local.issue({})
    const stepping: Stepping = {
      gateway,
      upstream: setting.upstream,
      headers: { authorization: `Bearer ${secret}` },
      stepped: sleep(stepAtMs).then(() => gateway.local.stepClock(stepMs)),
    }
    const found = await Promise.all(
      cases.map(async ({ name, run }) => (await run(stepping)).map((what) => `${stepMs / 1000} s, ${name}: ${what}`)),
    )
    await gateway.stop()
    return found.flat()
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

export const clockStep: Check = {
  row: 49,
  group: 'Clients',
  title: 'clock step',
  promise:
    "A step of the system clock, forwards or backwards, ends no stream, stops no heartbeat and no time limit, and neither ends nor prolongs a circuit breaker's open state, a cooldown or a rate limit's window",
  async run(setting) {
    if (setting.target.local === undefined) return { skipped: 'its clock cannot be set from outside' }
    const complaints: string[] = []
    for (const stepMs of steps) complaints.push(...(await over(setting, stepMs)))
    const total = steps.length * cases.length
    const failed = new Set(complaints.map((what) => what.split(': ', 1)[0])).size
    return {
      held: failed === 0,
      // Each case compares a duration with a limit.
      late: true,
      figure: `${total - failed}/${total} on time (${cases.length} kinds, clock stepped by ${steps.map((ms) => `${ms / 1000} s`).join(' and ')})`,
      notes: tally(complaints),
    }
  },
}
