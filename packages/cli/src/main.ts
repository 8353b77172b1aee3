import { version } from '../package.json'
import { commands, overview } from './commands.ts'
import type { CommandContext } from './terminal/command-context.ts'
import { didYouMean } from './terminal/did-you-mean.ts'
import { problemsOf, UsageError } from './terminal/errors.ts'

/**
 * Runs the command of a command line.
 *
 * @returns the exit code, or undefined while a server runs. Never rejects: each problem is printed on one line
 */
export async function main(args: string[], context: CommandContext): Promise<number | undefined> {
  try {
    return await run(args, context)
  } catch (error) {
    const isUsageError = error instanceof UsageError
    for (const problem of problemsOf(error)) context.err(`modelgate: ${problem}`)
    if (isUsageError)
      context.err(`Run '${context.command} ${error.topic === '' ? '' : `${error.topic} `}--help' for usage.`)
    return isUsageError ? 2 : 1
  }
}

async function run(args: string[], context: CommandContext): Promise<number | undefined> {
  const [first] = args
  if (first === '--version' || first === '-v' || first === 'version') return print(context, version)
  if (first === 'help' && args[1] === undefined) return print(context, overview)
  if (first === '--help' || first === '-h') return print(context, overview)
  const asksHelp = first === 'help' || args.some((arg) => arg === '--help' || arg === '-h')
  // Flags without a command belong to `start`.
  const named = first === 'help' ? args[1] : first?.startsWith('-') === false ? first : undefined
  const name = named ?? 'start'
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined)
    throw new UsageError(`Unknown command '${name}'. ${didYouMean(name, Object.keys(commands))}`)
  if (asksHelp) return print(context, command.help)
  const run = await command.load()
  return run(named === undefined ? args : args.slice(1), context)
}

function print(context: CommandContext, text: string): number {
  context.out(text)
  return 0
}
