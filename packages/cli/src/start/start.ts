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
  const serving = await serve(world, flags)
  const reload = inTurn(serving)
  const file = values.watch === true ? findFile(world.cwd, flags.config) : undefined
  if (file !== undefined) watchFile(file, { interval: lookMs }, () => void reload())
  process.on('SIGHUP', () => void reload())
  endWith(serving, world, () => {
    if (file !== undefined) unwatchFile(file)
  })
}

/** Two reloads at once would have the slower one win. */
function inTurn(serving: Serving): () => Promise<void> {
  let last = Promise.resolve()
  return () => {
    last = last.then(() => serving.reload())
    return last
  }
}

/** A terminal's Ctrl-C can reach a process twice at once: from the terminal, and from npm. */
const twiceMs = 500

function endWith(serving: Serving, world: World, before: () => void): void {
  let since: number | undefined
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      if (since !== undefined) {
        if (performance.now() - since > twiceMs) process.exit(1)
        return
      }
      since = performance.now()
      before()
      world.out(`${signal}: answering the running calls to their end; once more stops at once`)
      serving.stop().then(() => process.exit(0))
    })
}
