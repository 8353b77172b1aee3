import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Logger, ResponseStore } from '@modelgate/core'
import { redisStorage, type Storage } from '@modelgate/tokens'
import { codeOf, messageOf } from '../terminal/errors.ts'
import { redisResponseStore, type SendCommand } from './redis-responses.ts'
import { hostOf, type RedisSettings } from './redis-settings.ts'

/** Milliseconds that `modelgate tokens` waits: its user prefers waiting to an error. */
const patientMs = 5000

/** A connection to Redis with the stores that use it. */
export interface OpenRedis {
  readonly storage: Storage
  readonly responses: ResponseStore
  close(): void
}

export interface OpenRedisOptions {
  /** The working directory, in which the package `redis` is installed. */
  readonly cwd: string
  readonly logger: Pick<Logger, 'warn'> | false
  /** True for `modelgate tokens`, which waits for seconds where a call would fail. */
  readonly isPatient: boolean
}

const prefix = 'modelgate:'

/** Connects to Redis. The user installs the package `redis`, because few need it. */
export function openRedis(settings: RedisSettings, { cwd, logger, isPatient }: OpenRedisOptions): OpenRedis {
  const { url, localMs, staleMs: _, ...times } = settings
  const { connectMs = 2000, commandMs = patientMs } = times
  const { createClient } = redisPackage(cwd)
  const client = createClient({ url, socket: { connectTimeout: isPatient ? patientMs : connectMs } })
  /** The last failure of the connection, while there is none. */
  let failure: unknown
  client.on('error', (error: unknown) => {
    const isFirst = failure === undefined
    failure = error
    if (!isFirst) return
    if (!isPatient)
      // The storage notices and logs the outage, also if there are no calls.
      Promise.resolve(storage.tokens.get('none')).catch(() => {})
    else if (logger !== false)
      logger.warn(`modelgate: Redis at ${hostOf(url)}: ${messageOf(error) || codeOf(error) || 'no connection'}`)
  })
  client.on('ready', () => {
    failure = undefined
  })
  // Redis may become available later. Until then calls fail with 503.
  client.connect().catch(() => {})
  const storage = redisStorage({
    client,
    prefix,
    // A failed command prints its error, so nothing is logged.
    logger:
      isPatient || logger === false ? false : { warn: (message, details = failure) => logger.warn(message, details) },
    ...(isPatient ? { timeoutMs: patientMs, commandMs: patientMs, connectMs: patientMs } : times),
    ...(localMs === undefined ? {} : { away: { localMs } }),
  })
  const send: SendCommand = (args) => withTimeout(client.sendCommand(args), commandMs)
  return { storage, responses: redisResponseStore(send, prefix), close: () => client.destroy() }
}

/** The client queues commands while it is not connected. A command fails after this time instead of waiting for a connection. */
async function withTimeout<T>(response: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Redis did not respond within ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([response, timeout])
  } finally {
    clearTimeout(timer)
  }
}

/** The used part of the package `redis`. */
interface RedisPackage {
  createClient(options: { url: string; socket: { connectTimeout: number } }): {
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
    throw new Error("Storing tokens in Redis requires the package 'redis' in this folder: npm install redis", {
      cause: error,
    })
  }
}
