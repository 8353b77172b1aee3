import { createHash } from 'node:crypto'

/**
 * A client of Redis or Valkey that the host has created: of node-redis (`createClient`, `createClientPool`, `createCluster`,
 * `createSentinel`), ioredis or iovalkey (`new Redis`, `new Cluster`).
 */
export type RedisClient =
  | { call(command: string, ...args: string[]): Promise<unknown> }
  | { sendCommand(args: string[]): Promise<unknown> }
  | { sendCommand(firstKey: string, isReadonly: boolean, args: string[]): Promise<unknown> }
  | { sendCommand(isReadonly: boolean, args: string[]): Promise<unknown> }

/** Sends one command. `key` is its first key, by which clients of a cluster choose the node. */
export type Command = (key: string, args: readonly string[]) => Promise<unknown>

const hasMethod = (value: object, name: string): boolean =>
  name in value && typeof (value as Readonly<Record<string, unknown>>)[name] === 'function'

/** Returns the function that sends any command through a client. Each library has its own method for that. Throws TypeError if it is not a client. */
export function commandOf(client: RedisClient): Command {
  const given: unknown = client
  if (typeof given !== 'object' || given === null) {
    throw new TypeError(`redisStorage: client is ${given === null ? 'null' : typeof given}; ${expectedClient}`)
  }
  // Tested first: ioredis also has a `sendCommand`, with other parameters.
  if (hasMethod(given, 'call')) {
    const redis = given as { call(command: string, ...args: readonly string[]): Promise<unknown> }
    return (_, [name = '', ...args]) => redis.call(name, ...args)
  }
  if (hasMethod(given, 'sendCommand')) {
    const redis = given as { sendCommand(...args: readonly unknown[]): Promise<unknown> }
    // Always the master: a replica may not know yet that a token was revoked.
    if (hasMethod(given, 'nodeClient')) return (key, args) => redis.sendCommand(key, false, args)
    if (hasMethod(given, 'getMasterNode')) return (_, args) => redis.sendCommand(false, args)
    return (_, args) => redis.sendCommand(args)
  }
  throw new TypeError(`redisStorage: client has neither call() nor sendCommand(); ${expectedClient}`)
}

const expectedClient = 'pass a client of node-redis (createClient) or of ioredis or iovalkey (new Redis)'

/** A script that Redis runs atomically. */
export interface Script {
  readonly lua: string
  readonly sha: string
}

export const script = (lua: string): Script => ({ lua, sha: createHash('sha1').update(lua).digest('hex') })

/** Runs a script by its digest, or by its text if Redis does not have it in its cache. */
export async function evaluate(
  command: Command,
  { sha, lua }: Script,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  const key = keys[0] ?? ''
  const rest = [String(keys.length), ...keys, ...args]
  try {
    return await command(key, ['EVALSHA', sha, ...rest])
  } catch (error) {
    if (!messageOf(error).startsWith('NOSCRIPT')) throw error
    return command(key, ['EVAL', lua, ...rest])
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/**
 * Returns whether an error is about one command only: the key has another type, or the script is not cached. All other errors mean that
 * Redis is unavailable now: no connection, no permission, loading, read-only, out of memory, a cluster that is down.
 */
export const isCommandError = (error: unknown): boolean => /^(ERR|WRONGTYPE|CROSSSLOT|NOSCRIPT) /.test(messageOf(error))

/** Converts the elements of a reply to strings. Clients may be configured to return buffers. */
export const toTexts = (reply: unknown): string[] => (Array.isArray(reply) ? reply.map(String) : [])
