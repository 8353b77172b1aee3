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
  type Storage,
  type Tokens,
} from '@modelgate/tokens'
import type { CommandContext } from '../terminal/command-context.ts'
import { FlagOrEnvironmentError } from '../terminal/errors.ts'
import type { ModelgateConfig } from './define-config.ts'
import type { LoadedFile } from './load-file.ts'
import { openRedis } from './open-redis.ts'
import { type RedisSettings, redisSettingsOf } from './redis-settings.ts'

/** Locations of tokens, prices and the ledger, from the environment and the file. Paths are absolute. */
export interface StorageLocations {
  readonly data?: string | undefined
  readonly redis?: RedisSettings | undefined
  readonly prices?: string | Prices | PriceTable | undefined
  readonly ledger?: string | LedgerSink | undefined
  /** Created by the configuration's code; the other members are then unused. */
  readonly tokens?: Tokens | undefined
}

/** Returns the locations. The environment wins over the file. */
export function locationsOf(
  { env, cwd }: Pick<CommandContext, 'env' | 'cwd'>,
  file: LoadedFile | undefined,
): StorageLocations {
  const config = (file?.config ?? {}) as Pick<ModelgateConfig, 'data' | 'redis' | 'prices' | 'ledger' | 'tokens'>
  const folder = file === undefined ? cwd : dirname(file.path)
  const inFile = <T>(written: T | undefined) =>
    typeof written === 'string' ? (written === '' ? undefined : resolve(folder, written)) : written
  const inEnv = (set: string | undefined) => (set ? resolve(cwd, set) : undefined)
  const { MODELGATE_DATA: data, MODELGATE_REDIS: redis, MODELGATE_PRICES: prices, MODELGATE_LEDGER: ledger } = env
  const store =
    data || redis
      ? { data: inEnv(data), redis: redis ? redisSettingsOf(config.redis, redis) : undefined }
      : { data: inFile(config.data) as string | undefined, redis: redisSettingsOf(config.redis, undefined) }
  if (store.data !== undefined && store.redis !== undefined)
    throw data || redis
      ? new FlagOrEnvironmentError('MODELGATE_DATA and MODELGATE_REDIS are both set: set only one of them')
      : new Error(`${file?.name}: data and redis are both set: set only one of them`)
  return {
    ...store,
    prices: inEnv(prices) ?? inFile(config.prices),
    ledger: inEnv(ledger) ?? inFile(config.ledger),
    tokens: config.tokens,
  }
}

/** Opened tokens and the response store beside them. */
export interface OpenTokens {
  readonly tokens: Tokens
  /** Store of responses that later calls refer to; undefined: in memory. */
  readonly responses?: ResponseStore
  /** Storage in this process or its primary process. Absent: it is in Redis, or the configuration's code created it. */
  readonly storage?: Storage | undefined
  /** The ledger. Absent: none, or the configuration's code created it. */
  readonly ledger?: LedgerSink | undefined
  /** Rejects if the storage cannot be reached. Undefined: it is in this process. */
  readonly ping?: (() => Promise<void>) | undefined
  close(): Promise<void>
}

export interface OpenTokensOptions {
  /** The working directory. */
  readonly cwd: string
  readonly logger: Logger | false
  /** True for `modelgate tokens`, which waits for seconds where a call would fail. */
  readonly isPatient?: boolean
  /** Ledger of a server that has none and stores no tokens. */
  readonly defaultLedger?: LedgerSink | undefined
  /** Storage, ledger and responses of the primary process, which a worker uses in place of its own. */
  readonly ofPrimary?: SharedTokens | undefined
}

/** Storage, ledger and stored responses of a primary process, as its workers use them. */
export interface SharedTokens {
  /** Absent: each worker opens the storage itself, because it is in Redis. */
  readonly storage?: Storage | undefined
  readonly ledger?: LedgerSink | undefined
  readonly responses?: ResponseStore | undefined
}

/** Opens the tokens at their locations. Throws an Error whose message is meant for the user. */
export function openTokens(
  locations: StorageLocations,
  { cwd, logger, isPatient = false, defaultLedger, ofPrimary }: OpenTokensOptions,
): OpenTokens {
  const { tokens: configured, data, redis, prices } = locations
  if (configured !== undefined) {
    if (typeof configured.authenticate !== 'function' || typeof configured.close !== 'function')
      throw new Error('tokens must be created by createTokens({ storage }) of @modelgate/tokens')
    return { tokens: configured, close: () => configured.close() }
  }
  const remote = redis === undefined ? undefined : openRedis(redis, { cwd, logger, isPatient })
  const local = remote === undefined ? (ofPrimary?.storage ?? storageIn(data, logger)) : undefined
  const storage = remote?.storage ?? local
  const ledger = ofPrimary === undefined ? ledgerAt(locations, defaultLedger) : ofPrimary.ledger
  const responses = remote?.responses ?? ofPrimary?.responses
  const tokens = createTokens({
    ...(storage === undefined ? {} : { storage }),
    logger,
    ...(redis?.staleMs === undefined ? {} : { staleMs: redis.staleMs }),
    ...(prices === undefined ? {} : { prices: typeof prices === 'string' ? readPrices(prices) : prices }),
    ...(ledger === undefined ? {} : { ledger }),
  })
  return {
    tokens,
    storage: local,
    ledger,
    ...(responses === undefined ? {} : { responses }),
    ...(remote === undefined ? {} : { ping: remote.storage.ping }),
    close: async () => {
      await tokens.close()
      remote?.close()
    },
  }
}

/** Opens the ledger. The default one is for servers that store no tokens. */
function ledgerAt(
  { data, redis, ledger }: StorageLocations,
  defaultLedger: LedgerSink | undefined,
): LedgerSink | undefined {
  if (typeof ledger === 'string') return fileLedger({ folder: ledger })
  return ledger ?? (data === undefined && redis === undefined ? defaultLedger : undefined)
}

const storageIn = (folder: string | undefined, logger: Logger | false): Storage =>
  folder === undefined ? memoryStorage() : folderStorage(folder, { logger })
