import cluster from 'node:cluster'
import { unwatchFile, watchFile } from 'node:fs'
import { findFile } from '../config/load-file.ts'
import { flag, readArgs, rejectExtraArguments, text, textOf } from '../terminal/args.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { serve } from './serve.ts'
import type { Serving } from './serving.ts'

/** Interval of polling a watched file. Editors replace files, which file system events miss. */
const pollMs = 300

/** Runs `modelgate start`: serves until a signal arrives. */
export async function start(args: string[], context: CommandContext): Promise<void> {
  const { values, positionals: words } = readArgs(
    args,
    { config: text, port: text, host: text, workers: text, watch: flag, log: text, 'log-level': text, capture: text },
    'start',
  )
  rejectExtraArguments(words, 'start')
  const flags = {
    config: textOf(values.config),
    port: textOf(values.port),
    host: textOf(values.host),
    log: textOf(values.log),
    logLevel: textOf(values['log-level']),
    capture: textOf(values.capture),
    workers: textOf(values.workers),
  }
  if (cluster.isWorker && context.env.MODELGATE_WORKER !== undefined)
    return (await import('../workers/worker.ts')).runWorker(context, flags)
  const file = values.watch === true ? findFile(context.cwd, flags.config) : undefined
  const serving = serve(context, flags)
  // Added before the server is ready: a signal or a change can arrive as soon as the banner is printed.
  const removeListeners = addListeners(serving, file)
  try {
    await serving
  } catch (error) {
    removeListeners()
    throw error
  }
}

/** Within this time a second signal is a duplicate: Ctrl-C reaches a process from the terminal and from npm. */
const duplicateSignalMs = 500

/** Reloads on SIGHUP and when the file changes; shuts down on SIGTERM and SIGINT. Returns a function that removes the listeners. */
function addListeners(serving: Promise<Serving>, file: string | undefined): () => void {
  let signalledAt: number | undefined
  // The caller of `serve` reports a failed start.
  const reload = (): void => void serving.then((server) => server.reload()).catch(() => {})
  const end = (signal: NodeJS.Signals): void => {
    if (signalledAt !== undefined) {
      if (performance.now() - signalledAt > duplicateSignalMs) process.exit(1)
      return
    }
    signalledAt = performance.now()
    const again = signal === 'SIGINT' ? 'press Ctrl-C again' : 'send it again'
    serving
      .then((server) => server.stop(`${signal} received`, again))
      .then(
        () => process.exit(0),
        () => process.exit(1),
      )
  }
  const listeners = { SIGHUP: reload, SIGTERM: end, SIGINT: end } as const
  const signals = Object.keys(listeners) as (keyof typeof listeners)[]
  for (const signal of signals) process.on(signal, listeners[signal])
  if (file !== undefined) watchFile(file, { interval: pollMs, persistent: false }, reload)
  return () => {
    if (file !== undefined) unwatchFile(file, reload)
    for (const signal of signals) process.off(signal, listeners[signal])
  }
}
