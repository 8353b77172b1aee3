import { version } from '../package.json'
import { commands, overview } from './commands.ts'
import { problemsOf, UsageError } from './errors.ts'
import { didYouMean } from './near.ts'
import type { World } from './world.ts'

/**
 * Runs the command of a command line.
 *
 * @returns the exit code, or undefined for a server that goes on serving. Never rejects: each problem is printed in one line.
 */
export async function main(args: string[], world: World): Promise<number | undefined> {
  try {
    return await run(args, world)
  } catch (error) {
    const wrong = error instanceof UsageError
    for (const problem of problemsOf(error)) world.err(`modelgate: ${problem}`)
    if (wrong) world.err(`${world.command} ${error.topic === '' ? '' : `${error.topic} `}--help tells what can be said`)
    return wrong ? 2 : 1
  }
}

async function run(args: string[], world: World): Promise<number | undefined> {
  const [first] = args
  if (first === '--version' || first === '-v' || first === 'version') return said(world, version)
  if (first === 'help' && args[1] === undefined) return said(world, overview)
  if (first === '--help' || first === '-h') return said(world, overview)
  const asksHelp = first === 'help' || args.some((arg) => arg === '--help' || arg === '-h')
  // A flag alone is a flag of the server's.
  const named = first === 'help' ? args[1] : first?.startsWith('-') === false ? first : undefined
  const name = named ?? 'start'
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined)
    throw new UsageError(`there is no command '${name}'${didYouMean(name, Object.keys(commands))}`)
  if (asksHelp) return said(world, command.help)
  const run = await command.load()
  return run(named === undefined ? args : args.slice(1), world)
}

function said(world: World, text: string): number {
  world.out(text)
  return 0
}
