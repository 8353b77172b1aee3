import { fork } from 'node:child_process'
import { Agent } from 'node:http'
import { setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { UpstreamCall } from '../../base/raw-upstream.ts'
import { good } from '../../base/streams.ts'
import { beginStream, formatOf, sendGoodResponse, sleep } from '../../base/upstream-responses.ts'
import type { CheckContext, Target } from '../check.ts'
import { exchange, headersFor } from '../client.ts'
import { retryWhileSlow } from '../input/watch-process.ts'
import { holdsWithin, ms, percentile } from '../measurements.ts'
import type { Orders, Way } from './hostile-client.ts'

/** These act once and hold their connections. */
const holding: ReadonlySet<Way> = new Set(['slow readers', 'slow writers'])

const ways: readonly Way[] = ['huge bodies', 'slow readers', 'slow writers', 'a flood of 4xx', 'connections that leave']

interface Hostile {
  /** Returns the number of completed actions. */
  readonly done: () => number
  stop(): Promise<void>
}

function unleash(orders: Orders): Hostile {
  // Both are bundled into one folder.
  const file = fileURLToPath(new URL('./secrets/hostile-client.mjs', import.meta.url))
  const child = fork(file, [JSON.stringify(orders)], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  const over = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  // Simulates another machine's client: the gateway has priority on the CPU.
  if (child.pid !== undefined) setPriority(child.pid, 10)
  let done = 0
  child.on('message', (count: number) => {
    done = count
  })
  return {
    done: () => done,
    async stop() {
      child.kill('SIGKILL')
      await over
    },
  }
}

/** Milliseconds between events: the effect under test is a client that does not read, not the amount of data. */
const everyMs = 100

/** Sends an endless stream with backpressure. */
function streamOn(received: UpstreamCall): void {
  beginStream(received)
  const { response } = received
  const [first = '', delta = ''] = good[formatOf(received)]
  response.write(first)
  const event = delta.replace('one', 'word '.repeat(200))
  const timer = setInterval(() => {
    if (!response.writableNeedDrain) response.write(event)
  }, everyMs)
  response.once('close', () => clearInterval(timer))
}

interface Times {
  readonly through: number
  readonly straight: number
  readonly failed: number
}

/**
 * Measures the p99 of other clients' small calls, and of the same calls directly to the upstream, which is the
 * machine's own share.
 */
async function measure({ upstream }: CheckContext, target: Target, calls: number): Promise<Times> {
  const [pair] = target.pairs
  if (pair === undefined) throw new Error('the target serves no pair')
  const scene = upstream.play(sendGoodResponse)
  const agents = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true })] as const
  const direct: Target = { ...target, origin: upstream.origin }
  const beside = { client: pair.upstream, upstream: pair.upstream } as const
  let failed = 0
  const clients = (to: Target, callPair: typeof pair, agent: Agent): Promise<number[]> =>
    Promise.all(
      Array.from({ length: 4 }, async () => {
        const times: number[] = []
        for (let number = 0; number < calls / 4; number++) {
          const { status, endMs } = await exchange(to, { ...callPair, text: scene.marker }, { agent })
          if (status !== 200) failed++
          times.push(endMs)
          await sleep(5)
        }
        return times
      }),
    ).then((all) => all.flat())
  const [through, straight] = await Promise.all([clients(target, pair, agents[0]), clients(direct, beside, agents[1])])
  scene.end()
  for (const agent of agents) agent.destroy()
  return { through: percentile(through, 0.99), straight: percentile(straight, 0.99), failed }
}

export interface HostileEffect {
  readonly way: Way
  /** Number of hostile actions during the measurement. */
  readonly acts: number
  /** Milliseconds by which the others' p99 rose, without the slowdown of the machine itself. */
  readonly raise: number
  readonly machine: number
  readonly failed: number
}

/**
 * Measures the effect of each kind of hostile client on others. @param enemy the same gateway with the hostile client's
 * own token
 */
export async function tryHostile(
  setting: CheckContext,
  target: Target,
  enemy: Target,
): Promise<readonly HostileEffect[]> {
  const calls = setting.count(2000, 200)
  const pair = { client: 'chat', upstream: 'chat' } as const
  const endless = setting.upstream.play(streamOn)
  const harms: HostileEffect[] = []
  await measure(setting, target, 100)
  let calm = await measure(setting, target, calls)
  let spoilt = false
  for (const way of ways)
    harms.push(
      await retryWhileSlow(
        async () => {
          if (spoilt) calm = await measure(setting, target, calls)
          const hostile = unleash({
            origin: target.origin,
            way,
            headers: headersFor(enemy, { ...pair, text: '' }),
            model: target.model('chat'),
            endless: endless.marker,
          })
          // Clients that hold connections never complete an action.
          if (!holding.has(way)) await holdsWithin(() => hostile.done() > 0, 10_000)
          else await sleep(300)
          const before = hostile.done()
          const attacked = await measure(setting, target, calls)
          const acts = hostile.done() - before
          await hostile.stop()
          await sleep(300)
          const machine = Math.max(0, attacked.straight - calm.straight)
          return { way, acts, raise: attacked.through - calm.through - machine, machine, failed: attacked.failed }
        },
        ({ raise, failed }) => {
          spoilt = raise > mostRaiseMs || failed > 0
          return !spoilt
        },
      ),
    )
  endless.end()
  return harms
}

export const mostRaiseMs = 50

/**
 * Allowed delay by 31 MB bodies, four at a time without a pause, on two CPUs shared with this kit. More means that the
 * gateway blocks the event loop.
 */
export const mostRaiseByHugeMs = 1000

export const worstOf = (harms: readonly HostileEffect[]): string =>
  harms
    .map(({ way, acts, raise, machine }) => {
      const times = holding.has(way) ? '' : `${acts} times, `
      return `${way} ${ms(Math.max(0, raise))} (${times}machine ${ms(machine)})`
    })
    .join(', ')
