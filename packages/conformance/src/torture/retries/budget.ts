import { formats } from '../../base/recorded-traffic.ts'
import { failWithStatus, sleep } from '../../base/upstream-responses.ts'
import type { Check, CheckContext, Pair, Profile, Target } from '../check.ts'
import { exchange } from '../client.ts'

/** Allowed retries: a share of the calls, with a minimum. */
const share = 0.2
const floor = 3

/** Sends one call every 10 ms to an upstream that is down; counts the retries that reach it. */
async function outage({ upstream }: CheckContext, target: Target, calls: number): Promise<number> {
  const scene = upstream.play(failWithStatus(503))
  const pairs =
    target.local === undefined ? target.pairs : formats.map((client): Pair => ({ client, upstream: 'chat' }))
  const answers: Promise<unknown>[] = []
  for (let number = 0; number < calls; number++) {
    const pair = pairs[number % pairs.length]
    if (pair !== undefined) answers.push(exchange(target, { ...pair, text: `${scene.marker} call ${number}.` }))
    await sleep(10)
  }
  await Promise.all(answers)
  scene.end()
  const numbers = scene.calls.map(({ body }) => /call (\d+)\./.exec(body.toString('latin1'))?.[1])
  return numbers.length - new Set(numbers).size
}

const profiles: Readonly<Record<string, Profile>> = {
  'default settings': { defaults: true },
  'without the breaker': { defaults: true, breaker: false },
}

/** An upstream that is down must not receive three calls for each that it cannot serve. */
export const retryBudget: Check = {
  row: 22,
  group: 'Retries and fallback',
  title: 'Retry budget',
  promise: 'full outage: retries ≤ 20 % of calls (floor 3)',
  async run(setting) {
    const total = setting.count(1000, 150)
    const allowed = Math.max(floor, total * share)
    const figures: string[] = []
    let held = true
    const reported = (name: string, retries: number): void => {
      held &&= retries <= allowed
      figures.push(`${name}: ${retries} retries of ${total} calls (${((retries / total) * 100).toFixed(1)} %)`)
    }
    if (setting.target.local === undefined) reported('full outage', await outage(setting, setting.target, total))
    else
      for (const [name, profile] of Object.entries(profiles)) {
        const target = await setting.fresh(profile)
        if (target !== undefined) reported(name, await outage(setting, target, total))
      }
    // With few calls, the minimum applies.
    const few = await setting.fresh({ defaults: true, breaker: false })
    if (few !== undefined) {
      const retries = await outage(setting, few, 5)
      held &&= retries <= floor
      figures.push(`${retries} retries of 5 calls`)
    }
    return { held, figure: figures.join('; ') }
  },
}
