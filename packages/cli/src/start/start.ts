import { unwatchFile, watchFile } from 'node:fs'
import { flag, noWords, readArgs, text, textOf } from '../args.ts'
import { findFile } from '../config/load-file.ts'
import type { World } from '../world.ts'
import { type Serving, serve } from './serve.ts'

/** How often a watched file is looked at: editors replace files, which finer means lose sight of. */
const lookMs = 300

/** `modelgate start`: serves until a signal comes. */
export async function start(args: string[], world: World): Promise<void> {
  const { values, words } = readArgs(args, { config: text, port: text, host: text, watch: flag }, 'start')
  noWords(words, 'start')
  const flags = { config: textOf(values.config), port: textOf(values.port), host: textOf(values.host) }
  const file = values.watch === true ? findFile(world.cwd, flags.config) : undefined
  const serving = serve(world, flags)
  // From the beginning: a signal, or a change, may come as soon as the server is heard of.
  const forget = listenFor(serving, file, world)
  try {
    await serving
  } catch (error) {
    forget()
    throw error
  }
}

/** A terminal's Ctrl-C can reach a process twice at once: from the terminal, and from npm. */
const twiceMs = 500

/** Reloads at SIGHUP and when the file changes, ends at SIGTERM and SIGINT. @returns what takes the listeners away */
function listenFor(serving: Promise<Serving>, file: string | undefined, world: World): () => void {
  let since: number | undefined
  // A start that fails is told by itself.
  const reload = (): void => void serving.then((server) => server.reload()).catch(() => {})
  const end = (signal: NodeJS.Signals): void => {
    if (since !== undefined) {
      if (performance.now() - since > twiceMs) process.exit(1)
      return
    }
    since = performance.now()
    world.out(`${signal}: answering the running calls to their end; once more stops at once`)
    serving
      .then((server) => server.stop())
      .then(
        () => process.exit(0),
        () => process.exit(1),
      )
  }
  const listeners = { SIGHUP: reload, SIGTERM: end, SIGINT: end } as const
  const signals = Object.keys(listeners) as (keyof typeof listeners)[]
  for (const signal of signals) process.on(signal, listeners[signal])
  if (file !== undefined) watchFile(file, { interval: lookMs, persistent: false }, reload)
  return () => {
    if (file !== undefined) unwatchFile(file, reload)
    for (const signal of signals) process.off(signal, listeners[signal])
  }
}
