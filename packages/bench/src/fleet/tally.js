// Counts the commands that gateways send to Redis, and their bytes, by purpose.

/** @typedef {'look-up' | 'reserve' | 'settle' | 'presence' | 'import' | 'other'} Purpose */
/** @typedef {{ commands: number, bytesIn: number, bytesOut: number }} Traffic `bytesIn`: received by Redis */
/** @typedef {ReturnType<typeof createTally>} Tally */

/** Receives each command with its response. @typedef {(args: readonly string[]) => void} OnCommand */

/** @param {readonly string[]} args @returns {Purpose} */
export function purposeOf(args) {
  const [name, , count] = args
  if (name === 'GET') return 'look-up'
  if (name !== 'EVALSHA' && name !== 'EVAL') return 'other'
  if (args[3]?.endsWith(':processes') === true) return 'presence'
  // Counts of a token from before it had its owner, once for each process and token.
  if (keysOf(args).some((key) => key.includes('moved:'))) return 'import'
  return args[3 + Number(count)] === 'reserve' ? 'reserve' : 'settle'
}

/** Returns the keys of a script. @param {readonly string[]} args */
export const keysOf = (args) => args.slice(3, 3 + Number(args[2]))

/** Encodes a command as clients send it. @param {readonly string[]} args */
export const encode = (args) =>
  `*${args.length}\r\n${args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`).join('')}`

/** Returns the bytes of a reply in RESP2. @param {unknown} reply @returns {number} */
export function replyBytes(reply) {
  if (reply === null || reply === undefined) return 5
  if (typeof reply === 'number') return String(reply).length + 3
  if (Array.isArray(reply)) return reply.reduce((sum, one) => sum + replyBytes(one), String(reply.length).length + 3)
  const length = Buffer.byteLength(String(reply))
  // Status replies have no length.
  return reply === 'OK' ? 5 : String(length).length + length + 5
}

export function createTally() {
  /** @type {Map<Purpose, Traffic>} */
  let traffic = new Map()
  /** @type {Set<OnCommand>} */
  const listeners = new Set()

  /** @param {readonly string[]} args @param {unknown} reply */
  const add = (args, reply) => {
    const purpose = purposeOf(args)
    const known = traffic.get(purpose) ?? { commands: 0, bytesIn: 0, bytesOut: 0 }
    traffic.set(purpose, known)
    known.commands++
    known.bytesIn += encode(args).length
    known.bytesOut += replyBytes(reply)
    for (const listener of listeners) listener(args)
  }
  return {
    reset: () => {
      traffic = new Map()
    },
    /** @param {Purpose} purpose @returns {Traffic} */
    of: (purpose) => traffic.get(purpose) ?? { commands: 0, bytesIn: 0, bytesOut: 0 },
    /** Number of all commands. */
    commands: () => [...traffic.values()].reduce((sum, { commands }) => sum + commands, 0),
    /** @param {OnCommand} listener */
    listen: (listener) => void listeners.add(listener),
    /**
     * Wraps a client, so that its commands are counted.
     * @param {{ sendCommand(args: string[]): Promise<unknown> }} client
     */
    count: (client) => ({
      /** @param {string[]} args */
      async sendCommand(args) {
        const reply = await client.sendCommand(args)
        add(args, reply)
        return reply
      },
    }),
    /**
     * The same for the client of a cluster.
     * @param {{ sendCommand(key: string, isReadonly: boolean, args: string[]): Promise<unknown> }} client
     */
    countCluster: (client) => ({
      // By this method, redisStorage recognizes the client of a cluster.
      nodeClient() {},
      /** @param {string} key @param {boolean} isReadonly @param {string[]} args */
      async sendCommand(key, isReadonly, args) {
        const reply = await client.sendCommand(key, isReadonly, args)
        add(args, reply)
        return reply
      },
    }),
  }
}
