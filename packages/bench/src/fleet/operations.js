// Commands, bytes and memory of Redis for each call, by kind of admission.

import { grouped } from '../table.js'
import { startFleet } from './gateway-process.js'
import { closedLoad, pause } from './load.js'
import { difference, startRedis } from './redis-server.js'
import { createTally } from './tally.js'

/** @typedef {import('./gateway-process.js').Counting} Counting */

const many = 1e12
const threeLimits = { requests: 1e9, inputTokens: many, outputTokens: many }
const ownerWithBudget = { budget: { period: /** @type {const} */ ('month'), tokens: many } }
/** Settings of a token, and of its owner. */
export const kindsOfAdmission = {
  'no limits': { token: {} },
  'one limit of the token': { token: { limits: { requests: 1e9 } } },
  'budget of the owner, four limits of the token': {
    token: { owner: 'team', limits: { ...threeLimits, concurrent: 1e6 } },
    owner: ownerWithBudget,
  },
  // Calls with a limit of concurrent calls use no leases.
  'the same without the limit of concurrent calls': {
    token: { owner: 'team', limits: threeLimits },
    owner: ownerWithBudget,
  },
}

/** Commands that the script of a presence runs inside of Redis: TIME, ZADD, ZREMRANGEBYSCORE, PEXPIRE, ZCARD. */
const presenceCommands = 5
const calls = 4000

/** @param {{ counting: Counting }} options */
export async function measureOperations({ counting }) {
  const rows = []
  /** @type {{ [what: string]: import('./tally.js').Traffic }} */
  const shared = {}
  for (const [kind, settings] of Object.entries(kindsOfAdmission)) {
    const redis = await startRedis()
    const tally = createTally()
    const [gateway] = await startFleet({ urlFor: () => redis.url, processes: 1, tally, counting })
    if (gateway === undefined) throw new Error('no process was started')
    const { tokens, call } = gateway
    if ('owner' in settings) await tokens.owners.set('team', settings.owner)
    const { secret } = await tokens.issue({ name: kind, ...settings.token })
    // Loads the scripts.
    await call({ secret }, { tokens: 100 })
    await pause(100)
    tally.reset()
    const before = await redis.snapshot()
    const cpuBefore = process.cpuUsage()
    await closedLoad({ calls, inFlight: 20 }, () => call({ secret }, { tokens: 100 }))
    await untilQuiet(tally)
    const cpu = process.cpuUsage(cpuBefore)
    const used = difference(before, await redis.snapshot())
    const [reserve, settle] = [tally.of('reserve'), tally.of('settle')]
    const inside = used.commands - tally.commands() - presenceCommands * tally.of('presence').commands
    rows.push({
      kind,
      scripts: (reserve.commands + settle.commands) / calls,
      waitsFor: reserve.commands / calls,
      inside: inside / calls,
      bytesIn: (reserve.bytesIn + settle.bytesIn) / calls,
      bytesOut: (reserve.bytesOut + settle.bytesOut) / calls,
      memory: used.memory / calls,
      redisCpuMicros: (used.cpuMs * 1000) / calls,
      /** Also counts the commands and makes the calls. */
      gatewayCpuMicros: (cpu.user + cpu.system) / calls,
      allCommands: tally.commands(),
      infoBytes: { in: used.bytesIn, out: used.bytesOut },
    })
    shared['presence of a process'] = each(tally.of('presence'))
    shared[`${kind}: one GET of a look-up`] = each(tally.of('look-up'))
    await gateway.close()
    await redis.close()
  }
  return { calls, rows, shared }
}

/** Waits until the settlements have been sent, for which no call waits. @param {import('./tally.js').Tally} tally */
async function untilQuiet(tally) {
  let sent = 0
  for (let unchanged = 0; unchanged < 10; unchanged++) {
    await pause(50)
    if (tally.of('settle').commands > sent) unchanged = 0
    sent = tally.of('settle').commands
  }
}

/** @param {import('./tally.js').Traffic} traffic */
const each = ({ commands, bytesIn, bytesOut }) => ({
  commands,
  bytesIn: Math.round(bytesIn / commands),
  bytesOut: Math.round(bytesOut / commands),
})

/** @param {Awaited<ReturnType<typeof measureOperations>>} measured */
export const operationsTable = ({ rows }) =>
  rows.map((row) => ({
    admission: row.kind,
    'scripts per call': row.scripts.toFixed(2),
    'of these, the call waits for': row.waitsFor.toFixed(2),
    'commands inside scripts': row.inside.toFixed(1),
    'bytes to Redis': grouped(row.bytesIn),
    'bytes from Redis': grouped(row.bytesOut),
    'memory kept (15 min)': `${grouped(row.memory)} B`,
    'CPU of Redis': `${grouped(row.redisCpuMicros)} µs`,
    'CPU of the process': `${grouped(row.gatewayCpuMicros)} µs`,
  }))
