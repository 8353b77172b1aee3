import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { GatewayError, type Logger } from '@modelgate/core'
import { flag, readArgs, text, textOf } from '../args.ts'
import { isKept } from '../config/access.ts'
import { readEnvFile } from '../config/env-file.ts'
import { type LoadedFile, loadFile } from '../config/load-file.ts'
import { openTokens, type Places, placesOf } from '../config/open-tokens.ts'
import { inFile, messageOf, OutsideError, UsageError } from '../errors.ts'
import { didYouMean } from '../near.ts'
import type { World } from '../world.ts'
import { tokenCommands } from './commands.ts'
import { tokensHelp } from './help.ts'

/** `modelgate tokens`: issues tokens, lists and ends them, beside the running server, which sees it within a second. */
export async function tokens(args: string[], world: World): Promise<number> {
  const [name, ...rest] = args
  if (name === undefined || name === 'help') {
    world.out(tokensHelp)
    return 0
  }
  const command = Object.hasOwn(tokenCommands, name) ? tokenCommands[name] : undefined
  if (command === undefined)
    throw new UsageError(
      `there is no command 'tokens ${name}'${didYouMean(name, Object.keys(tokenCommands))}`,
      'tokens',
    )
  const { values, words } = readArgs(rest, { ...command.options, data: text, config: text, json: flag }, 'tokens')
  const [id = '', extra] = words
  if (command.takesId && id === '') throw new UsageError(`${name} needs the id of a token: ${name} tok_…`, 'tokens')
  const tooMuch = command.takesId ? extra : words[0]
  if (tooMuch !== undefined) throw new UsageError(`'${tooMuch}' is one word too many for ${name}`, 'tokens')
  const places = await findPlaces(world, textOf(values.data), textOf(values.config))
  if (!isKept(places))
    throw new UsageError(
      'it is not known where the tokens are: set MODELGATE_DATA as for the server, give --data, or write `data` into the configuration',
      'tokens',
    )
  // Without prices the server would refuse every call of such a token.
  if (
    name === 'issue' &&
    values['budget-usd'] !== undefined &&
    places.prices === undefined &&
    places.tokens === undefined
  )
    throw new UsageError(
      '--budget-usd needs prices: set MODELGATE_PRICES=prices.json here and for the server, or write `prices` into the configuration',
      'tokens',
    )
  const { data } = places
  if (name !== 'issue' && data !== undefined && !existsSync(data))
    throw new Error(`there are no tokens in '${data}': no such folder`)
  const log: Logger['warn'] = (message, details) =>
    world.err(details === undefined ? message : `${message}: ${messageOf(details)}`)
  const opened = openTokens(places, { cwd: world.cwd, logger: { warn: log, error: log }, isPatient: true })
  try {
    const answer = await command.run(opened.tokens, id, values)
    world.out(values.json === true ? JSON.stringify(answer.json, null, 2) : answer.text)
  } catch (error) {
    throw storageFailureOf(error)
  } finally {
    await opened.close()
  }
  return 0
}

/** Clients get a message that tokens cannot be checked. The operator needs the cause: a full disk, a damaged file, a slow Redis. */
const storageFailureOf = (error: unknown): unknown =>
  error instanceof GatewayError && error.info.kind === 'unavailable' && error.cause instanceof Error
    ? error.cause
    : error

function placesIn(world: World, file: LoadedFile | undefined): Places {
  try {
    return placesOf(world, file)
  } catch (error) {
    throw error instanceof OutsideError ? error : inFile(file?.name, error)
  }
}

/** Where the tokens are. The ledger is the server's: nothing is called from here. */
async function findPlaces(world: World, data: string | undefined, config: string | undefined): Promise<Places> {
  readEnvFile(world)
  const { env, cwd } = world
  // A folder that is named needs no configuration, which may lack keys here.
  const isNamed = (data !== undefined && data !== '') || env.MODELGATE_DATA || env.MODELGATE_REDIS
  const file = isNamed && config === undefined ? undefined : await loadFile(world, config)
  const { ledger: _, ...places } = placesIn(world, file)
  return data === undefined || data === ''
    ? places
    : { ...places, data: resolve(cwd, data), redis: undefined, tokens: undefined }
}
