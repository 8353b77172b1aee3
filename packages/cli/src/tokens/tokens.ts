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
import { tokenCommands } from './commands.ts'
import { tokensHelp } from './help.ts'

/** Runs `modelgate tokens`: issues, lists and revokes tokens. A running server applies changes within one second. */
export async function tokens(args: string[], context: CommandContext): Promise<number> {
  const [name, ...rest] = args
  if (name === undefined || name === 'help') {
    context.out(tokensHelp)
    return 0
  }
  const command = Object.hasOwn(tokenCommands, name) ? tokenCommands[name] : undefined
  if (command === undefined)
    throw new UsageError(`Unknown command 'tokens ${name}'. ${didYouMean(name, Object.keys(tokenCommands))}`, 'tokens')
  const { values, positionals: words } = readArgs(
    rest,
    { ...command.options, data: text, config: text, json: flag },
    'tokens',
  )
  const [id = '', extra] = words
  if (command.takesId && id === '')
    throw new UsageError(`'tokens ${name}' requires the id of a token: ${name} tok_…`, 'tokens')
  const unexpected = command.takesId ? extra : words[0]
  if (unexpected !== undefined)
    throw new UsageError(`Unexpected argument '${unexpected}' of 'tokens ${name}'.`, 'tokens')
  const locations = await findLocations(context, textOf(values.data), textOf(values.config))
  if (!keepsIssuedTokens(locations))
    throw new UsageError(
      'The location of the tokens is unknown: set MODELGATE_DATA as for the server, use --data, or set `data` in the configuration.',
      'tokens',
    )
  // Without prices the server would reject every call of such a token.
  if (
    name === 'issue' &&
    values['budget-usd'] !== undefined &&
    locations.prices === undefined &&
    locations.tokens === undefined
  )
    throw new UsageError(
      '--budget-usd requires prices: set MODELGATE_PRICES=prices.json here and for the server, or set `prices` in the configuration.',
      'tokens',
    )
  const { data } = locations
  if (name !== 'issue' && data !== undefined && !existsSync(data))
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
