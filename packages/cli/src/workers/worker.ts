import type { CallFacts, RecentBodies, RecentCall } from '@modelgate/console'
import type { Cooldown } from '@modelgate/core'
import { leasedStorage } from '@modelgate/tokens'
import { demoAt } from '../config/demo.ts'
import type { SharedParts } from '../config/server-resources.ts'
import type { Flags } from '../config/settings.ts'
import { serveShared } from '../start/serve.ts'
import type { Serving } from '../start/serving.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { problemsOf } from '../terminal/errors.ts'
import { createChannel, type Port } from './channel.ts'
import { createSharedHealth, remoteResponses } from './shared-state.ts'
import { remoteLedger, remoteStorage } from './shared-storage.ts'
import type { Welcome } from './welcome.ts'

/** Signals that reach a worker from the terminal, together with its primary process, which then sends a message. */
const ignoredSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Runs a worker of `modelgate start` until its primary process ends it. */
export async function runWorker(context: CommandContext, flags: Flags): Promise<void> {
  for (const signal of ignoredSignals) process.on(signal, () => {})
  // Without the primary process nothing counts the calls.
  process.on('disconnect', () => process.exit(0))
  let receiveCall: (call: RecentCall) => void = () => {}
  let readBodies: (requestId: string) => RecentBodies | undefined = () => undefined
  let readFacts: (requestId: string) => CallFacts | undefined = () => undefined
  let serving: Promise<Serving> | undefined
  const running = (): Promise<Serving> => serving ?? Promise.reject(new Error('the worker has not started yet'))
  const channel = createChannel(processPort(), {
    reload: async () => (await running()).reload(),
    stop: async (reason: string, hint: string) => (await running()).stop(reason, hint),
    cooldown: (id: string, cooldown: Cooldown | undefined) => health.receive(id, cooldown),
    recentCall: (call: RecentCall) => receiveCall(call),
    facts: (requestId: string) => readFacts(requestId),
    bodies: (requestId: string) => readBodies(requestId),
  })
  const health = createSharedHealth((id, cooldown) => channel.notify('cooldown', id, cooldown))
  const welcome = await channel.call<Welcome>('join')
  for (const [id, cooldown] of welcome.cooldowns) health.receive(id, cooldown)
  const shared: SharedParts = {
    ...welcome,
    tokens: {
      storage: welcome.hasStorage ? leasedStorage(remoteStorage(channel), { processes: welcome.workers }) : undefined,
      ledger: welcome.ledger === undefined ? undefined : remoteLedger(channel, welcome.ledger.canRead),
      responses: remoteResponses(channel),
    },
    health: health.state,
    peers: {
      publish(call) {
        if (!channel.isBehind) channel.notify('recentCall', call)
      },
      subscribe(receive) {
        receiveCall = receive
      },
      findFacts: (requestId) => channel.call('facts', requestId),
      findBodies: (requestId) => channel.call('bodies', requestId),
      provide(find) {
        readFacts = find.facts
        readBodies = find.bodies
      },
    },
    async demo() {
      if (welcome.demo === undefined) throw new Error('restart the server to run the demo')
      return demoAt(welcome.demo)
    },
  }
  try {
    serving = serveShared({ ...context, out: (text) => channel.notify('out', text) }, flags, shared)
    await channel.call('listening', (await serving).port)
  } catch (error) {
    await channel.call('failed', problemsOf(error))
  }
}

/** The connection to the primary process. */
const processPort = (): Port => ({
  // The callback also takes errors of a connection that is already closed.
  send: (message, sent) => void process.send?.(message, undefined, undefined, sent),
  receive: (listener) => void process.on('message', listener),
})
