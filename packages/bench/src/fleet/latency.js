// Time of an admission for each size of the fleet and each round trip to Redis, at the same total rate.
import { createClient } from 'redis'
import { percentiles } from '../table.js'
import { startDelayProxy } from './delay-proxy.js'
import { closeFleet, startFleet } from './gateway-process.js'
import { closedLoad, openLoad, pause } from './load.js'
import { kindsOfAdmission } from './operations.js'
import { difference, startRedis } from './redis-server.js'
import { createTally } from './tally.js'

/** @typedef {import('./gateway-process.js').Counting} Counting */

/** Owners with one token each. Their calls are spread over all processes. */
const owners = 4

/** @param {{ sizes: readonly number[], roundTrips: readonly number[], perSecond: number, seconds: number, counting: Counting }} options */
export async function measureLatency({ sizes, roundTrips, perSecond, seconds, counting }) {
  const { token, owner: settings } = kindsOfAdmission['budget of the owner, four limits of the token']
  const rows = []
  for (const processes of sizes) {
    const redis = await startRedis()
    const proxy = await startDelayProxy(redis.port)
    const tally = createTally()
    const fleet = await startFleet({ urlFor: proxy.urlFor, processes, tally, counting })
    const [first] = fleet
    /** @type {string[]} */
    const secrets = []
    for (let n = 0; n < owners; n++) {
      await first?.tokens.owners.set(`team ${n}`, settings)
      secrets.push((await first?.tokens.issue({ ...token, name: `token ${n}`, owner: `team ${n}` }))?.secret ?? '')
    }
    const ping = await startPing(proxy.urlFor(0))
    /** @param {number} process @param {number} call */
    const call = (process, call) =>
      /** @type {import('./gateway-process.js').GatewayProcess} */ (fleet[process]).call(
        { secret: secrets[call % owners] ?? '' },
        { tokens: 100 },
      )
    // The first call of a token in a process imports older counts. Here every process has had each token.
    await closedLoad({ calls: processes * owners, inFlight: 50 }, (n) => call(n % processes, Math.floor(n / processes)))
    for (const roundTripMs of roundTrips) {
      await proxy.setRoundTrip(roundTripMs)
      await openLoad({ processes, perSecond, seconds: 1.5 }, call)
      await pause(200)
      tally.reset()
      ping.reset()
      const before = await redis.snapshot()
      const results = await openLoad({ processes, perSecond, seconds }, call)
      const used = difference(before, await redis.snapshot())
      rows.push({
        processes,
        roundTripMs,
        calls: results.length,
        refused: results.filter(({ outcome }) => outcome !== 'admitted').length,
        ping: percentiles(ping.times()),
        admission: percentiles(results.map(({ admitMs }) => admitMs)),
        withLookUp: percentiles(results.map(({ ms }) => ms)),
        commands: tally.commands() / results.length,
        lookUps: tally.of('look-up').commands / results.length,
        presence: tally.of('presence').commands / results.length,
        bytes: (used.bytesIn + used.bytesOut) / results.length,
        redisCpuMicros: (used.cpuMs * 1000) / results.length,
      })
    }
    ping.close()
    await closeFleet(fleet)
    await proxy.close()
    await redis.close()
  }
  return { perSecond, seconds, rows }
}

/** Measures the real round trip next to the load: injected delay, proxy, Redis and this process. @param {string} url */
async function startPing(url) {
  const client = createClient({ url })
  client.on('error', () => {})
  await client.connect()
  /** @type {number[]} */
  let times = []
  const timer = setInterval(async () => {
    const sentAt = performance.now()
    await client.ping().catch(() => undefined)
    times.push(performance.now() - sentAt)
  }, 20)
  return {
    reset: () => {
      times = []
    },
    times: () => times,
    close() {
      clearInterval(timer)
      client.destroy()
    },
  }
}

/** @param {{ p50: number, p99: number }} times */
const both = ({ p50, p99 }) => `${p50.toFixed(1)} / ${p99.toFixed(1)}`

/** @param {Awaited<ReturnType<typeof measureLatency>>} measured */
export const latencyTable = ({ rows }) =>
  rows.map((row) => ({
    processes: row.processes,
    'injected round trip': `${row.roundTripMs} ms`,
    'PING p50 / p99': both(row.ping),
    'admission p50 / p99': both(row.admission),
    'with look-up p50 / p99': both(row.withLookUp),
    'commands per call': row.commands.toFixed(2),
    'of these look-ups': row.lookUps.toFixed(2),
    presence: row.presence.toFixed(2),
    'bytes per call': Math.round(row.bytes),
    'CPU of Redis per call': `${Math.round(row.redisCpuMicros)} µs`,
    refused: row.refused,
  }))
