import { Agent } from 'node:http'
import type { Play, UpstreamCall } from '../../base/raw-upstream.ts'
import { formats } from '../../base/recorded-traffic.ts'
import { sendGoodResponse, sleep } from '../../base/upstream-responses.ts'
import type { CheckContext, Pair, Profile } from '../check.ts'
import { exchange, type TargetRequest } from '../client.ts'
import { completenessDefect } from '../read-responses.ts'

export interface Reload {
  readonly reloads: number
  readonly calls: number
  readonly failed: number
  readonly complaints: readonly string[]
}

/** Number of concurrent clients. */
const clients = 12
/** Milliseconds that each configuration is active. */
const forceMs = 40

const keyOf = (turn: number): string => `upstream-key-of-turn-${turn}-7d21`

/** Searches all headers, because each format has its own. */
const hasKey = ({ headers }: UpstreamCall, key: string): boolean => JSON.stringify(headers).includes(key)

/** Returns a new configuration with different keys, limits and model names each time. */
const profileOf = (origin: string, turn: number): Profile => ({
  upstreams: Object.fromEntries(formats.map((format) => [format, { format, baseURL: origin, apiKey: keyOf(turn) }])),
  models: { [`only-in-turn-${turn}`]: 'chat' },
  limits: { heartbeatMs: 10_000 + turn },
})

/** Sends good responses after a delay, so that calls are in flight when the configuration changes. */
const soon: Play = async (call) => {
  await sleep(Math.random() * 2 * forceMs)
  sendGoodResponse(call)
}

/** Reloads the configuration repeatedly while clients send calls, and checks each time that the new one is active. */
export async function reloadUnderLoad({ upstream, target: { pairs }, fresh, count }: CheckContext): Promise<Reload> {
  const target = await fresh(profileOf(upstream.origin, 0))
  if (target === undefined) return { reloads: 0, calls: 0, failed: 0, complaints: ['it cannot be configured'] }
  const reloads = count(200, 12)
  const complaints: string[] = []
  const scene = upstream.play(soon)
  const agent = new Agent({ keepAlive: true })
  let calls = 0
  let failed = 0
  let over = false
  const ask = async (request: TargetRequest): Promise<void> => {
    const wrong = completenessDefect(request, await exchange(target, request, { agent }))
    calls++
    if (wrong === undefined) return
    failed++
    complaints.push(
      `${request.client} from ${request.upstream}${request.stream === true ? ', streamed' : ''}: ${wrong}`,
    )
  }
  const client = async (first: number): Promise<void> => {
    for (let at = first; !over; at += clients)
      await ask({ ...(pairs[at % pairs.length] as Pair), text: scene.marker, stream: at % 2 === 0 })
  }
  const calling = Array.from({ length: clients }, (_, first) => client(first))
  for (let turn = 1; turn <= reloads; turn++) {
    await sleep(forceMs)
    await target.local.reconfigure(profileOf(upstream.origin, turn))
    const probe = upstream.play(sendGoodResponse)
    await ask({ client: 'messages', upstream: 'chat', model: `only-in-turn-${turn}`, text: probe.marker })
    if (probe.calls[0] !== undefined && !hasKey(probe.calls[0], keyOf(turn)))
      complaints.push('a call after the reload used the previous key')
    probe.end()
  }
  over = true
  await Promise.all(calling)
  agent.destroy()
  scene.end()
  return { reloads, calls, failed, complaints }
}
