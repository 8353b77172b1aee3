import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { clientFormats } from '../base/client-formats.ts'
import { formats } from '../base/recorded-traffic.ts'
import {
  callers,
  type Finished,
  type GatewayRoute,
  type LocalGateway,
  type Profile,
  type Stats,
  type Target,
} from './check.ts'

/** Every shared format as a client's with every upstream format. */
export const allPairs = formats.flatMap((client) => formats.map((upstream) => ({ client, upstream })))

/** The same with the formats that only clients have: hosts with routes of their own may own these paths. */
const allClientPairs = clientFormats.flatMap((client) => formats.map((upstream) => ({ client, upstream })))

/** Time in milliseconds until a host is killed: the drain's 30 s plus a margin. */
const closeWithinMs = 40_000

/**
 * Starts a gateway in its own process.
 *
 * @param server one of `hosts`
 * @throws Error if it does not start
 */
export async function startLocalTarget(
  server: string,
  upstreamOrigin: string,
  profile: Profile = {},
): Promise<Target & { readonly local: LocalGateway }> {
  // Both are bundled into one folder.
  const file = fileURLToPath(new URL('./gateway-process.mjs', import.meta.url))
  const child = fork(file, [server, upstreamOrigin, JSON.stringify(profile)], {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let written = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      // Keeps only the latest output: a gateway that floods its log must not flood this process.
      written = (written + text).slice(-4_000_000)
    })
  const ended = new Promise<number | string>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'unknown'))
  })
  const gone = ended.then((how): never => {
    throw new Error(`the gateway's process exited (${how}): ${written.slice(-2000)}`)
  })
  gone.catch(() => {})

  const waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>()
  let lastId = 0
  const ask = <T>(what: string, argument?: unknown): Promise<T> => {
    const id = ++lastId
    const answer = new Promise<unknown>((resolve, reject) => waiting.set(id, { resolve, reject }))
    child.send({ id, ask: what, argument })
    return Promise.race([answer, gone]) as Promise<T>
  }
  const ready = new Promise<{ origin: string }>((resolve) => {
    child.on('message', (message: { id?: number; result?: unknown; error?: string; origin?: string }) => {
      if (message.origin !== undefined) return resolve({ origin: message.origin })
      const waiter = waiting.get(message.id ?? 0)
      waiting.delete(message.id ?? 0)
      if (message.error !== undefined) waiter?.reject(new Error(message.error))
      else waiter?.resolve(message.result)
    })
  })
  const { origin } = await Promise.race([ready, gone])

  const own: LocalGateway = {
    server,
    stats: () => ask<Stats>('stats'),
    finished: () => ask<readonly Finished[]>('finished'),
    reconfigure: (next) => ask<void>('reconfigure', next),
    issue: (token) => ask<{ id: string; secret: string }>('issue', token),
    revoke: (id) => ask<void>('revoke', id),
    spans: () => ask<string>('spans'),
    stepClock: (ms) => ask<void>('stepClock', ms),
    routes: () => ask<readonly GatewayRoute[]>('routes'),
    async close() {
      child.kill('SIGTERM')
      const giveUp = setTimeout(() => child.kill('SIGKILL'), closeWithinMs)
      const how = await ended
      clearTimeout(giveUp)
      return how
    },
  }
  return {
    name: server,
    origin,
    pairs: server === 'node' ? allClientPairs : allPairs,
    model: (upstream) => `${upstream}-model`,
    headers: () => ({ authorization: `Bearer ${callers.alice}` }),
    pid: child.pid,
    log: () => written,
    local: own,
    async stop() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
