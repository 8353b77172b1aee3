import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { GatewayError, type Logger } from '@modelgate/core'
import { keepsIssuedTokens } from '../config/access.ts'
import { readEnvFile } from '../config/env-file.ts'
import { type LoadedFile, loadFile } from '../config/load-file.ts'
import { locationsOf, openTokens, type StorageLocations } from '../config/token-storage.ts'
import { flag, readArgs, text, textOf } from '../terminal/args.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { didYouMean } from '../terminal/did-you-mean.ts'
import { FlagOrEnvironmentError, inFile, messageOf, UsageError } from '../terminal/errors.ts'
import { ownerCommands, type TokenCommand, tokenCommands } from './commands.ts'
import { ownersHelp, tokensHelp } from './help.ts'

/** A group of sub-commands that read and change the storage of tokens. */
interface CommandGroup {
  readonly topic: 'tokens' | 'owners'
  readonly commands: Readonly<Record<string, TokenCommand>>
  readonly help: string
  /** Text of an error for a command without its argument. */
  readonly argument: (name: string) => string
}

/** Runs `modelgate tokens`: issues, lists and revokes tokens. A running server applies changes within one second. */
export const tokens = (args: string[], context: CommandContext): Promise<number> =>
  runGroup(args, context, {
    topic: 'tokens',
    commands: tokenCommands,
    help: tokensHelp,
    argument: (name) => `the id of a token: ${name} tok_…`,
  })

/** Runs `modelgate owners`: sets and shows limits and budgets that all tokens of an owner share. */
export const owners = (args: string[], context: CommandContext): Promise<number> =>
  runGroup(args, context, {
    topic: 'owners',
    commands: ownerCommands,
    help: ownersHelp,
    argument: (name) => `an owner: ${name} ada`,
  })

async function runGroup(
  args: string[],
  context: CommandContext,
  { topic, commands, help, argument }: CommandGroup,
): Promise<number> {
  const [name, ...rest] = args
  if (name === undefined || name === 'help') {
    context.out(help)
    return 0
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined)
    throw new UsageError(`Unknown command '${topic} ${name}'. ${didYouMean(name, Object.keys(commands))}`, topic)
  const { values, positionals: words } = readArgs(
    rest,
    { ...command.options, data: text, config: text, json: flag },
    topic,
  )
  const [id = '', extra] = words
  if (command.takesId && id === '') throw new UsageError(`'${topic} ${name}' requires ${argument(name)}`, topic)
  const unexpected = command.takesId ? extra : words[0]
  if (unexpected !== undefined)
    throw new UsageError(`Unexpected argument '${unexpected}' of '${topic} ${name}'.`, topic)
  const locations = await findLocations(context, textOf(values.data), textOf(values.config))
  if (!keepsIssuedTokens(locations))
    throw new UsageError(
      'The location of the tokens is unknown: set MODELGATE_DATA as for the server, use --data, or set `data` in the configuration.',
      topic,
    )
  // Without prices the server would reject every call that counts against such a budget.
  if (values['budget-usd'] !== undefined && locations.prices === undefined && locations.tokens === undefined)
    throw new UsageError(
      '--budget-usd requires prices: set MODELGATE_PRICES=prices.json here and for the server, or set `prices` in the configuration.',
      topic,
    )
  const { data } = locations
  if (name !== 'issue' && name !== 'set' && data !== undefined && !existsSync(data))
    throw new Error(`The token folder '${data}' does not exist.`)
  const log: Logger['warn'] = (message, details) =>
    context.err(details === undefined ? message : `${message}: ${messageOf(details)}`)
  const opened = openTokens(locations, { cwd: context.cwd, logger: { warn: log, error: log }, isPatient: true })
  try {
    const result = await command.run(opened.tokens, id, values)
    context.out(values.json === true ? JSON.stringify(result.json, null, 2) : result.text)
  } catch (error) {
    throw storageFailureOf(error)
  } finally {
    await opened.close()
  }
  return 0
}

/** Returns the cause of a storage failure (full disk, damaged file, slow Redis) in place of the message meant for clients. */
const storageFailureOf = (error: unknown): unknown =>
  error instanceof GatewayError && error.info.kind === 'unavailable' && error.cause instanceof Error
    ? error.cause
    : error

function locationsIn(context: CommandContext, file: LoadedFile | undefined): StorageLocations {
  try {
    return locationsOf(context, file)
  } catch (error) {
    throw error instanceof FlagOrEnvironmentError ? error : inFile(file?.name, error)
  }
}

/** Returns the locations of tokens and prices. The ledger is not opened, because this command makes no calls. */
async function findLocations(
  context: CommandContext,
  data: string | undefined,
  config: string | undefined,
): Promise<StorageLocations> {
  readEnvFile(context)
  const { env, cwd } = context
  // A named folder needs no configuration file, whose provider keys may be missing here.
  const isNamed = (data !== undefined && data !== '') || env.MODELGATE_DATA || env.MODELGATE_REDIS
  const file = isNamed && config === undefined ? undefined : await loadFile(context, config)
  const { ledger: _, ...locations } = locationsIn(context, file)
  return data === undefined || data === ''
    ? locations
    : { ...locations, data: resolve(cwd, data), redis: undefined, tokens: undefined }
}
