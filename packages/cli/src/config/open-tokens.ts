import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import {
  createTokens,
  fileLedger,
  folderStorage,
  type LedgerSink,
  memoryStorage,
  type Prices,
  type PriceTable,
  readPrices,
  redisStorage,
  type Storage,
  type Tokens,
} from '@modelgate/tokens'
import { messageOf, OutsideError } from '../errors.ts'
import type { World } from '../world.ts'
import type { ModelgateConfig } from './define-config.ts'
import type { LoadedFile } from './load-file.ts'

/** Where tokens and what belongs to them are, from the environment and the file. Paths are whole. */
export interface Places {
  readonly data?: string | undefined
  readonly redis?: string | undefined
  readonly prices?: string | Prices | PriceTable | undefined
  readonly ledger?: string | LedgerSink | undefined
  /** Made by the configuration itself: the others are nothing then. */
  readonly tokens?: Tokens | undefined
}

/** The environment before the file. */
export function placesOf({ env, cwd }: Pick<World, 'env' | 'cwd'>, file: LoadedFile | undefined): Places {
  const config = (file?.config ?? {}) as Pick<ModelgateConfig, 'data' | 'redis' | 'prices' | 'ledger' | 'tokens'>
  const folder = file === undefined ? cwd : dirname(file.path)
  const inFile = <T>(written: T | undefined) =>
    typeof written === 'string' ? (written === '' ? undefined : resolve(folder, written)) : written
  const inEnv = (set: string | undefined) => (set ? resolve(cwd, set) : undefined)
  const { MODELGATE_DATA: data, MODELGATE_REDIS: redis, MODELGATE_PRICES: prices, MODELGATE_LEDGER: ledger } = env
  const kept =
    data || redis
      ? { data: inEnv(data), redis: redis || undefined }
      : { data: inFile(config.data) as string | undefined, redis: config.redis || undefined }
  if (kept.data !== undefined && kept.redis !== undefined)
    throw data || redis
      ? new OutsideError('MODELGATE_DATA and MODELGATE_REDIS are both set: tokens are in one of them')
      : new Error(`${file?.name}: data and redis are both there: tokens are in one of them`)
  return {
    ...kept,
    prices: inEnv(prices) ?? inFile(config.prices),
    ledger: inEnv(ledger) ?? inFile(config.ledger),
    tokens: config.tokens,
  }
}

/** Tokens that were opened, and how they are let go. */
export interface OpenTokens {
  readonly tokens: Tokens
  close(): Promise<void>
}

/** Opens the tokens at their places. Throws an Error whose message is for the user. */
export function openTokens(places: Places, cwd: string): OpenTokens {
  const { tokens: own, data, redis, prices, ledger } = places
  if (own !== undefined) {
    if (typeof own.authenticate !== 'function' || typeof own.close !== 'function')
      throw new Error('tokens is not what createTokens makes: write createTokens({ storage }) of @modelgate/tokens')
    return { tokens: own, close: () => own.close() }
  }
  const remote = redis === undefined ? undefined : openRedis(redis, cwd)
  const storage = remote?.storage ?? (data === undefined ? memoryStorage() : folderStorage(data))
  const tokens = createTokens({
    storage,
    ...(prices === undefined ? {} : { prices: typeof prices === 'string' ? readPrices(prices) : prices }),
    ...(ledger === undefined ? {} : { ledger: typeof ledger === 'string' ? fileLedger({ folder: ledger }) : ledger }),
  })
  return {
    tokens,
    close: async () => {
      await tokens.close()
      remote?.close()
    },
  }
}

/** The package `redis` is the user's own: few need it. */
function openRedis(url: string, cwd: string): { storage: Storage; close(): void } {
  const { createClient } = redisPackage(cwd)
  const client = createClient({ url })
  let said = false
  client.on('error', (error: unknown) => {
    if (!said) process.stderr.write(`modelgate: Redis at ${hostOf(url)}: ${messageOf(error)}\n`)
    said = true
  })
  client.on('ready', () => {
    said = false
  })
  // A Redis that is away at the start may come back: calls are answered 503 meanwhile.
  client.connect().catch(() => {})
  return { storage: redisStorage({ client }), close: () => client.destroy() }
}

/** What is used of the package `redis`. */
interface RedisPackage {
  createClient(options: { url: string }): {
    on(event: string, listener: (error: unknown) => void): unknown
    connect(): Promise<unknown>
    destroy(): void
    sendCommand(args: string[]): Promise<unknown>
  }
}

function redisPackage(cwd: string): RedisPackage {
  try {
    return createRequire(join(cwd, 'package.json'))('redis') as RedisPackage
  } catch (error) {
    throw new Error("tokens in Redis need the package 'redis' in this folder: npm install redis", { cause: error })
  }
}

/** An address as it may be shown: without its password. */
export function hostOf(url: string): string {
  try {
    return new URL(url).host
  } catch {
    return 'an address that is none'
  }
}
