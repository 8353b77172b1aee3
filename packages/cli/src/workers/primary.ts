import type { Serializable } from 'node:child_process'
import cluster, { type Worker } from 'node:cluster'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { RecentCall } from '@modelgate/console'
import { type Cooldown, memoryResponseStore } from '@modelgate/core'
import type { Settings } from '../config/settings.ts'
import { banner } from '../start/banner.ts'
import { type Serving, timedStop } from '../start/serving.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { ConfigurationError, problemsOf } from '../terminal/errors.ts'
import { type Channel, createChannel, type Functions, type Port } from './channel.ts'
import { createRestartDelay, type RestartDelay } from './restart-delay.ts'
import { createSharedHealth, responseFunctions } from './shared-state.ts'
import { serveLedger, storageFunctions } from './shared-storage.ts'
import type { Welcome } from './welcome.ts'

// The primary process starts the workers, replaces those that end, and holds what they share: tokens with their counts, the ledger,
// stored responses and cooldowns. It serves no calls itself. docs/decisions/0059 states why.

/** A running worker. */
interface RunningWorker {
  readonly number: number
  readonly process: Worker
  readonly channel: Channel
  /** The port that it listens on. Rejects if it cannot start. */
  readonly listening: Promise<number>
}

/** Starts the workers, and prints the address once all of them listen. Rejects with an Error whose message is meant for the user. */
export async function servePrimary(context: CommandContext, settings: Settings): Promise<Serving> {
  if (!cluster.isPrimary)
    throw new Error('--workers cannot be used in a worker of another cluster, such as that of PM2: start one process.')
  const { resources } = settings
  const { log, tokens } = resources
  const workers = new Map<number, RunningWorker>()
  const delays = new Map<number, RestartDelay>()
  const output = heldOutput(context)
  const shared = await shareResources(settings)
  let state: 'starting' | 'running' | 'stopping' = 'starting'

  const tellOthers = (number: number, name: string, ...args: unknown[]): void => {
    for (const worker of workers.values()) if (worker.number !== number) worker.channel.notify(name, ...args)
  }
  /** Returns the first result that is not undefined. */
  const askOthers = async (number: number, name: string, ...args: unknown[]): Promise<unknown> => {
    const others = [...workers.values()].filter((worker) => worker.number !== number)
    const ask = ({ channel }: RunningWorker): Promise<unknown> => channel.call(name, ...args).catch(() => undefined)
    const answers = await Promise.all(others.map((worker) => Promise.race([ask(worker), later(askMs)])))
    return answers.find((answer) => answer !== undefined)
  }
  const start = (number: number): RunningWorker => {
    const startedAt = performance.now()
    // `cluster` starts it with the command line of this process.
    const child = cluster.fork({ MODELGATE_WORKER: String(number) })
    const ledger = tokens.ledger === undefined ? undefined : serveLedger(tokens.ledger)
    let channel: Channel | undefined
    const listening = new Promise<number>((resolve, reject) => {
      channel = createChannel(portOf(child), {
        ...shared.functions,
        ...ledger?.functions,
        listening: resolve,
        failed: (problems: readonly string[]) => reject(new ConfigurationError(problems)),
        out: output.write,
        cooldown(id: string, cooldown: Cooldown | undefined) {
          shared.receiveCooldown(id, cooldown)
          tellOthers(number, 'cooldown', id, cooldown)
        },
        recentCall(call: RecentCall) {
          // A worker that reads too slowly can do without them.
          for (const { number: other, channel } of workers.values())
            if (other !== number && !channel.isBehind) channel.notify('recentCall', call)
        },
        facts: (requestId: string) => askOthers(number, 'facts', requestId),
        bodies: (requestId: string) => askOthers(number, 'bodies', requestId),
      })
      child.once('exit', (code, signal) =>
        reject(new Error(`Worker ${number} ended before it listened (${endOf(code, signal)}).`)),
      )
    })
    const worker: RunningWorker = { number, process: child, channel: channel as unknown as Channel, listening }
    workers.set(number, worker)
    child.once('exit', (code, signal) => {
      worker.channel.end(new Error(`worker ${number} has ended`))
      workers.delete(number)
      ledger?.end()
      if (state === 'running') replace(number, performance.now() - startedAt, endOf(code, signal))
    })
    return worker
  }
  const replace = (number: number, ranMs: number, end: string): void => {
    const delay = delays.get(number) ?? createRestartDelay()
    delays.set(number, delay)
    const delayMs = delay.after(ranMs)
    const when = delayMs === 0 ? 'now' : `in ${delayMs / 1000} s`
    log.plugin.logger.error(`Worker ${number} ended unexpectedly (${end}): another one starts ${when}`, {
      event: 'worker-ended',
      worker: number,
      delayMs,
    })
    log.plugin.flush()
    setTimeout(() => {
      if (state === 'running') restart(number)
    }, delayMs)
  }
  const restart = (number: number): void => {
    const worker = start(number)
    worker.listening.catch((error: unknown) => {
      if (state !== 'running') return
      const problems = problemsOf(error)
      log.plugin.logger.error(`Worker ${number} cannot start: ${problems.join('; ')}`, {
        event: 'worker-failed',
        problems,
      })
      log.plugin.flush()
      // Its end starts the next one.
      worker.process.process.kill('SIGKILL')
    })
  }
  const end = async (): Promise<void> => {
    state = 'stopping'
    await Promise.all([...workers.values()].map(({ process }) => endProcess(process)))
    await resources.close()
  }

  let port: number
  try {
    tokens.storage?.check?.()
    cluster.setupPrimary({ serialization: 'advanced' })
    // The first one finds what is wrong with the configuration, so that the others do not repeat it.
    port = await start(1).listening
    const rest = Array.from({ length: settings.workers - 1 }, (_, at) => start(at + 2))
    await Promise.all(rest.map(({ listening }) => listening))
  } catch (error) {
    await end()
    throw error
  }
  state = 'running'
  // One of them may have ended while the others started.
  for (let number = 1; number <= settings.workers; number++) if (!workers.has(number)) restart(number)
  context.out(banner(settings, port, context))
  log.release()
  output.release()
  let reloads = Promise.resolve(true)
  const reloadOnce = async (): Promise<boolean> => {
    // One after the other. If the first one rejects the configuration, the others keep theirs.
    for (const { number, process, channel } of [...workers.values()].sort((a, b) => a.number - b.number)) {
      const isActive = await Promise.race([channel.call<boolean>('reload').catch(() => true), later(reloadMs)])
      if (isActive === false) return false
      if (isActive === undefined) {
        log.plugin.logger.error(`Worker ${number} did not reload within ${reloadMs / 1000} s and is replaced`, {
          event: 'worker-hangs',
          worker: number,
        })
        process.process.kill('SIGKILL')
      }
    }
    return true
  }
  return {
    port,
    reload() {
      reloads = reloads.then(reloadOnce)
      return reloads
    },
    stop: (reason = 'Server stopped', hint = 'press Ctrl-C again') =>
      timedStop(settings, async () => {
        state = 'stopping'
        // A worker that ends meanwhile has nothing left to complete.
        await Promise.all(
          [...workers.values()].map(({ channel }) =>
            Promise.race([channel.call('stop', reason, hint).catch(() => {}), later(stopMs)]),
          ),
        )
        await end()
      }),
  }
}

/** Returns the functions that every worker may call, and takes over cooldowns for workers that start later. */
async function shareResources({ resources, workers }: Settings): Promise<{
  readonly functions: Functions
  receiveCooldown(id: string, cooldown: Cooldown | undefined): void
}> {
  const { storage, ledger } = resources.tokens
  const health = createSharedHealth(() => {})
  const demo = (await resources.openDemo)?.address
  const compactionSecret = randomBytes(32).toString('base64url')
  return {
    functions: {
      ...(storage === undefined ? {} : storageFunctions(storage)),
      ...responseFunctions(memoryResponseStore()),
      join: (): Welcome => ({
        generatedToken: resources.generatedToken,
        generatedAdminToken: resources.generatedAdminToken,
        compactionSecret,
        workers,
        hasStorage: storage !== undefined,
        ledger: ledger === undefined ? undefined : { canRead: ledger.read !== undefined },
        demo,
        cooldowns: health.entries(),
      }),
    },
    receiveCooldown: health.receive,
  }
}

/** Holds lines of workers back until the startup message is printed. */
function heldOutput({ out }: CommandContext): { write(text: string): void; release(): void } {
  let held: string[] | undefined = []
  return {
    write(text) {
      if (held === undefined) out(text)
      else held.push(text)
    },
    release() {
      const lines = held ?? []
      held = undefined
      for (const line of lines) out(line)
    },
  }
}

const portOf = (child: Worker): Port => ({
  // The callback also takes errors of a worker that has just ended.
  send: (message, sent) => void child.process.send?.(message as Serializable, undefined, undefined, sent),
  receive: (listener) => void child.on('message', listener),
})

const endOf = (code: number | null, signal: string | null): string => signal ?? `exit code ${code}`

/** Time that other workers have to find what a page shows. */
const askMs = 1000
/** Time that a worker has to complete its calls: longer than its own limit for that. A worker that hangs is killed after it. */
const stopMs = 70_000
/** Time that a worker has to reload the configuration. */
const reloadMs = 30_000

const later = (ms: number): Promise<undefined> =>
  new Promise((resolve) => {
    setTimeout(() => resolve(undefined), ms).unref()
  })

/** Time that a worker has to exit once it has nothing left to do. */
const exitMs = 2000

/** A worker exits when its connection ends. */
async function endProcess(child: Worker): Promise<void> {
  if (child.isDead()) return
  const ended = once(child, 'exit')
  const deadline = setTimeout(() => child.process.kill('SIGKILL'), exitMs)
  if (child.isConnected()) child.process.disconnect()
  await ended
  clearTimeout(deadline)
}
