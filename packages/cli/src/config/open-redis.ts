import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Logger, ResponseStore } from '@modelgate/core'
import { redisStorage, type Storage } from '@modelgate/tokens'
import { codeOf, messageOf } from '../errors.ts'
import { redisResponseStore, type SendCommand } from './redis-responses.ts'
import { hostOf, type RedisSettings } from './redis-settings.ts'

/** Milliseconds that a command waits, whose user would rather wait than try again. */
const patientMs = 5000

/** A connection to Redis, and what is kept there. */
export interface OpenRedis {
  readonly storage: Storage
  readonly responses: ResponseStore
  close(): void
}

export interface RedisUse {
  /** The working directory, in which the package `redis` is installed. */
  readonly cwd: string
  readonly logger: Pick<Logger, 'warn'> | false
  /** A command of the user's waits for seconds, where a call would be refused. */
  readonly isPatient: boolean
}

const prefix = 'modelgate:'

/** Connects to Redis. The package `redis` is the user's own: few need it. */
export function openRedis(settings: RedisSettings, { cwd, logger, isPatient }: RedisUse): OpenRedis {
  const { url, localMs, staleMs: _, ...times } = settings
  const { connectMs = 2000, commandMs = patientMs } = times
  const { createClient } = redisPackage(cwd)
  const client = createClient({ url, socket: { connectTimeout: isPatient ? patientMs : connectMs } })
  let reported = false
  client.on('error', (error: unknown) => {
    const reason = messageOf(error) || codeOf(error) || 'no connection'
    if (!reported && logger !== false) logger.warn(`modelgate: Redis at ${hostOf(url)}: ${reason}`)
    reported = true
  })
  client.on('ready', () => {
    reported = false
  })
  // A Redis that is unavailable at the start may come back: calls are answered 503 meanwhile.
  client.connect().catch(() => {})
  const storage = redisStorage({
    client,
    prefix,
    // What the user sees of a failed command is its error.
    logger: isPatient ? false : logger,
    ...(isPatient ? { timeoutMs: patientMs, commandMs: patientMs, connectMs: patientMs } : times),
    ...(localMs === undefined ? {} : { away: { localMs } }),
  })
  const send: SendCommand = (args) => within(client.sendCommand(args), commandMs)
  return { storage, responses: redisResponseStore(send, prefix), close: () => client.destroy() }
}

/** The client queues commands while it is not connected. A command fails after this time instead of waiting for a connection. */
async function within<T>(answer: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Redis did not answer within ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}

/** What is used of the package `redis`. */
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
    throw new Error("tokens in Redis need the package 'redis' in this folder: npm install redis", { cause: error })
  }
}
