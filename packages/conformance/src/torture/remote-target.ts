import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { portkeyHeaders, startPortkey } from '@modelgate/bench/peers'
import { type Format, formats } from '../base/recorded-traffic.ts'
import type { Pair, Target } from './check.ts'

/** Access to a gateway that was started by others. */
export interface RemoteTargetOptions {
  readonly url: string
  /** Sent as a bearer token, in addition to `headers`. */
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Default: every client format with every upstream format. */
  readonly pairs?: readonly Pair[]
  /** Models by upstream format. Default: `chat-model`, `messages-model`, …. */
  readonly models?: Readonly<Partial<Record<Format, string>>>
  readonly pid?: number
}

/** Creates a target for a running gateway that uses the kit's upstream. */
export const remoteTarget = ({ url, token, headers = {}, pairs, models = {}, pid }: RemoteTargetOptions): Target => ({
  name: url,
  origin: url.replace(/\/+$/, ''),
  pairs: pairs ?? formats.flatMap((client) => formats.map((upstream) => ({ client, upstream }))),
  model: (upstream) => models[upstream] ?? `${upstream}-model`,
  headers: () => ({ ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers }),
  pid,
  log: () => '',
  local: undefined,
  stop: async () => {},
})

/** Each format with itself. */
const straight = formats.map((format) => ({ client: format, upstream: format }))

/** Starts the smallest proxy: `node:http` in front, an undici `Pool` behind. */
async function startBare(upstreamOrigin: string): Promise<Target> {
  const file = fileURLToPath(import.meta.resolve('@modelgate/bench/bare-proxy'))
  const child = fork(file, [upstreamOrigin], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  const { port } = await new Promise<{ port: number }>((resolve, reject) => {
    child.once('message', (message) => resolve(message as { port: number }))
    child.once('exit', (code) => reject(new Error(`the bare proxy exited with ${code}`)))
  })
  return {
    ...remoteTarget({ url: `http://127.0.0.1:${port}`, pairs: straight }),
    name: 'bare proxy',
    pid: child.pid,
    async stop() {
      child.kill('SIGKILL')
    },
  }
}

/** @throws Error if npm does not have it */
async function startPeer(upstreamOrigin: string): Promise<Target> {
  const started = await startPortkey(undefined)
  if (started === undefined) throw new Error('Portkey did not start')
  const providers: Readonly<Record<string, { provider: string; host: string }>> = {
    chat: { provider: 'openai', host: `${upstreamOrigin}/v1` },
    messages: { provider: 'anthropic', host: `${upstreamOrigin}/v1` },
  }
  return {
    ...remoteTarget({
      url: `http://127.0.0.1:${started.port}`,
      pairs: [
        { client: 'chat', upstream: 'chat' },
        { client: 'chat', upstream: 'messages' },
        { client: 'messages', upstream: 'messages' },
      ],
    }),
    name: 'Portkey 1.15.2',
    headers({ upstream }) {
      const { provider = '', host = '' } = providers[upstream] ?? {}
      return { ...portkeyHeaders(provider, host), authorization: 'Bearer upstream-key' }
    },
    stop: started.stop,
  }
}

/** Other gateways that can be started here for comparison. */
export const otherGateways: Readonly<Record<string, (upstreamOrigin: string) => Promise<Target>>> = {
  bare: startBare,
  portkey: startPeer,
}
