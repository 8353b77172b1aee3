import { createHash } from 'node:crypto'

/**
 * A client of Redis or Valkey, already made by the host: node-redis (`createClient`, `createClientPool`, `createCluster`,
 * `createSentinel`), ioredis or iovalkey (`new Redis`, `new Cluster`).
 */
export type RedisClient =
  | { call(command: string, ...args: string[]): Promise<unknown> }
  | { sendCommand(args: string[]): Promise<unknown> }
  | { sendCommand(firstKey: string, isReadonly: boolean, args: string[]): Promise<unknown> }
  | { sendCommand(isReadonly: boolean, args: string[]): Promise<unknown> }

/** One command. `key` is the first key in it, which tells clients of a cluster the node. */
export type Command = (key: string, args: readonly string[]) => Promise<unknown>

const has = (value: object, name: string): boolean =>
  name in value && typeof (value as Readonly<Record<string, unknown>>)[name] === 'function'

/** Clients differ in how a command that they have no method for is sent. Throws TypeError for what is no client. */
export function commandOf(client: RedisClient): Command {
  const given: unknown = client
  if (typeof given !== 'object' || given === null) {
    throw new TypeError(`redisStorage: client is ${given === null ? 'null' : typeof given}; ${whatToGive}`)
  }
  // ioredis has a `sendCommand` too, which takes something else.
  if (has(given, 'call')) {
    const redis = given as { call(command: string, ...args: readonly string[]): Promise<unknown> }
    return (_, [name = '', ...args]) => redis.call(name, ...args)
  }
  if (has(given, 'sendCommand')) {
    const redis = given as { sendCommand(...args: readonly unknown[]): Promise<unknown> }
    // Always the master: a replica may not know yet of a token that was revoked.
    if (has(given, 'nodeClient')) return (key, args) => redis.sendCommand(key, false, args)
    if (has(given, 'getMasterNode')) return (_, args) => redis.sendCommand(false, args)
    return (_, args) => redis.sendCommand(args)
  }
  throw new TypeError(`redisStorage: client has neither call() nor sendCommand(); ${whatToGive}`)
}

const whatToGive = 'give it a client of node-redis (createClient) or of ioredis or iovalkey (new Redis)'

/** A script that Redis runs as one step. */
export interface Script {
  readonly lua: string
  readonly sha: string
}

export const script = (lua: string): Script => ({ lua, sha: createHash('sha1').update(lua).digest('hex') })

/** Runs a script by its digest, and by its text where Redis has not seen it or has forgotten it. */
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
 * Redis can be used, only not for this command: something else is under the name, or the script is not known yet. All other
 * failures mean that it cannot be used now: no connection, no permission, loading, read-only, out of memory, a cluster that is down.
 */
export const isCommandError = (error: unknown): boolean => /^(ERR|WRONGTYPE|CROSSSLOT|NOSCRIPT) /.test(messageOf(error))

/** Texts in an answer. A client set to hand out buffers is understood too. */
export const toTexts = (reply: unknown): string[] => (Array.isArray(reply) ? reply.map(String) : [])
