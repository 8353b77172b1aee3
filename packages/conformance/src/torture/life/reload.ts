import { Agent } from 'node:http'
import type { Play, UpstreamCall } from '../../base/raw-upstream.ts'
import { formats } from '../../base/recorded-traffic.ts'
import { answerWell, sleep } from '../../base/upstream-responses.ts'
import type { Pair, Profile, Setting } from '../check.ts'
import { type Ask, exchange } from '../client.ts'
import { notWhole } from '../read-responses.ts'

export interface Reload {
  readonly reloads: number
  readonly calls: number
  readonly failed: number
  readonly complaints: readonly string[]
}

/** How many clients call all the time. */
const clients = 12
/** How long a configuration is in force. */
const forceMs = 40

const keyOf = (turn: number): string => `upstream-key-of-turn-${turn}-7d21`

/** Whichever header the format has for it. */
const hasKey = ({ headers }: UpstreamCall, key: string): boolean => JSON.stringify(headers).includes(key)

/** Everything made anew, and something different each time: the keys, a limit, a model's name. */
const profileOf = (origin: string, turn: number): Profile => ({
  upstreams: Object.fromEntries(formats.map((format) => [format, { format, baseURL: origin, apiKey: keyOf(turn) }])),
  models: { [`only-in-turn-${turn}`]: 'chat' },
  limits: { heartbeatMs: 10_000 + turn },
})

/** Good answers, some time later: calls are to be on their way when the configuration changes. */
const soon: Play = async (call) => {
  await sleep(Math.random() * 2 * forceMs)
  answerWell(call)
}

/** Puts one configuration after the other in place while clients call, and asks each time whether the new one is in force. */
export async function reloadUnderLoad({ upstream, target: { pairs }, fresh, count }: Setting): Promise<Reload> {
  const target = await fresh(profileOf(upstream.origin, 0))
  if (target === undefined) return { reloads: 0, calls: 0, failed: 0, complaints: ['it cannot be configured'] }
  const reloads = count(200, 12)
  const complaints: string[] = []
  const scene = upstream.play(soon)
  const agent = new Agent({ keepAlive: true })
  let calls = 0
  let failed = 0
  let over = false
  const ask = async (asked: Ask): Promise<void> => {
    const wrong = notWhole(asked, await exchange(target, asked, { agent }))
    calls++
    if (wrong === undefined) return
    failed++
    complaints.push(`${asked.client} from ${asked.upstream}${asked.stream === true ? ', streamed' : ''}: ${wrong}`)
  }
  const client = async (first: number): Promise<void> => {
    for (let at = first; !over; at += clients)
      await ask({ ...(pairs[at % pairs.length] as Pair), text: scene.marker, stream: at % 2 === 0 })
  }
  const calling = Array.from({ length: clients }, (_, first) => client(first))
  for (let turn = 1; turn <= reloads; turn++) {
    await sleep(forceMs)
    await target.own.reconfigure(profileOf(upstream.origin, turn))
    const probe = upstream.play(answerWell)
    await ask({ client: 'messages', upstream: 'chat', model: `only-in-turn-${turn}`, text: probe.marker })
    if (probe.calls[0] !== undefined && !hasKey(probe.calls[0], keyOf(turn)))
      complaints.push('a call after the change had the key from before it')
    probe.end()
  }
  over = true
  await Promise.all(calling)
  agent.destroy()
  scene.end()
  return { reloads, calls, failed, complaints }
}
