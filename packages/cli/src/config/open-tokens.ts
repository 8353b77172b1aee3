import { dirname, resolve } from 'node:path'
import type { Logger, ResponseStore } from '@modelgate/core'
import {
  createTokens,
  fileLedger,
  folderStorage,
  type LedgerSink,
  memoryStorage,
  type Prices,
  type PriceTable,
  readPrices,
  type Tokens,
} from '@modelgate/tokens'
import { OutsideError } from '../errors.ts'
import type { World } from '../world.ts'
import type { ModelgateConfig } from './define-config.ts'
import type { LoadedFile } from './load-file.ts'
import { openRedis } from './open-redis.ts'
import { type RedisSettings, redisSettingsOf } from './redis-settings.ts'

/** Where tokens and what belongs to them are, from the environment and the file. Paths are whole. */
export interface Places {
  readonly data?: string | undefined
  readonly redis?: RedisSettings | undefined
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
      ? { data: inEnv(data), redis: redis ? redisSettingsOf(config.redis, redis) : undefined }
      : { data: inFile(config.data) as string | undefined, redis: redisSettingsOf(config.redis, undefined) }
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
  /** Where responses are kept that later calls refer to; undefined: in memory. */
  readonly responses?: ResponseStore
  close(): Promise<void>
}

/** How the tokens are used. */
export interface TokenUse {
  /** The working directory. */
  readonly cwd: string
  readonly logger: Logger | false
  /** For a command, whose user would rather wait for seconds than try again. */
  readonly isPatient?: boolean
}

/** Opens the tokens at their places. Throws an Error whose message is for the user. */
export function openTokens(places: Places, { cwd, logger, isPatient = false }: TokenUse): OpenTokens {
  const { tokens: own, data, redis, prices, ledger } = places
  if (own !== undefined) {
    if (typeof own.authenticate !== 'function' || typeof own.close !== 'function')
      throw new Error('tokens is not what createTokens makes: write createTokens({ storage }) of @modelgate/tokens')
    return { tokens: own, close: () => own.close() }
  }
  const remote = redis === undefined ? undefined : openRedis(redis, { cwd, logger, isPatient })
  const storage = remote?.storage ?? (data === undefined ? memoryStorage() : folderStorage(data, { logger }))
  const tokens = createTokens({
    storage,
    logger,
    ...(redis?.staleMs === undefined ? {} : { staleMs: redis.staleMs }),
    ...(prices === undefined ? {} : { prices: typeof prices === 'string' ? readPrices(prices) : prices }),
    ...(ledger === undefined ? {} : { ledger: typeof ledger === 'string' ? fileLedger({ folder: ledger }) : ledger }),
  })
  return {
    tokens,
    ...(remote === undefined ? {} : { responses: remote.responses }),
    close: async () => {
      await tokens.close()
      remote?.close()
    },
  }
}
