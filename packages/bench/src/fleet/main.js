// Entry point of `npm run fleet`: simulates fleets of gateway processes that share one Redis. Every process has the real storage and
// admission and a connection of its own; the Redis is a real one on loopback, behind a proxy that delays, partitions and survives it.
//   <text>               part of a measurement's name: operations, latency, hot owner, outages, cluster. Default: all
//   --sizes 1,10,100     numbers of processes for latency       --trips 0.5,2,10   round trips in milliseconds
//   --rate 400           calls per second of the whole fleet    --seconds 4        of each measurement
//   --processes 100      for outages                            --scenario <text>  part of an outage's name
//   --leases             processes use `redisStorage({ leases: true })`
//   --wrap <module>      default export (storage, { process, processes }) => storage, for each process
//   --json <file>        JSON output; default: packages/bench/fleet.json
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { machine } from '../placement.js'
import { table } from '../table.js'
import { clusterTable, measureCluster } from './cluster.js'
import { hotOwnerTable, measureHotOwner } from './hot-owner.js'
import { latencyTable, measureLatency } from './latency.js'
import { measureOperations, operationsTable } from './operations.js'
import { measureOutages, outagesTable } from './outages.js'
import { removeServers } from './redis-server.js'

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sizes: { type: 'string', default: '1,10,100,1000' },
    trips: { type: 'string', default: '0.5,2,10' },
    rate: { type: 'string', default: '400' },
    seconds: { type: 'string', default: '4' },
    processes: { type: 'string', default: '100' },
    scenario: { type: 'string', default: '' },
    leases: { type: 'boolean' },
    wrap: { type: 'string' },
    json: { type: 'string', default: fileURLToPath(new URL('../../fleet.json', import.meta.url)) },
  },
})
/** @param {string} list */
const numbers = (list) => list.split(',').map(Number)
/** @type {import('./gateway-process.js').Wrap | undefined} */
const wrap = flags.wrap === undefined ? undefined : (await import(pathToFileURL(resolve(flags.wrap)).href)).default
const counting = { wrap, leases: flags.leases }
const seconds = Number(flags.seconds)

/** @type {{ [name: string]: () => Promise<{ figures: object, rows: readonly { [column: string]: string | number }[] }> }} */
const measurements = {
  operations: async () => {
    const figures = await measureOperations({ counting })
    return { figures, rows: operationsTable(figures) }
  },
  latency: async () => {
    const figures = await measureLatency({
      sizes: numbers(flags.sizes),
      roundTrips: numbers(flags.trips),
      perSecond: Number(flags.rate),
      seconds,
      counting,
    })
    return { figures, rows: latencyTable(figures) }
  },
  'hot owner': async () => {
    const figures = await measureHotOwner({ seconds, owners: [1, 1000], processes: [10, 1000] })
    return { figures, rows: hotOwnerTable(figures) }
  },
  outages: async () => {
    const figures = await measureOutages({ processes: Number(flags.processes), counting, only: flags.scenario })
    return { figures, rows: outagesTable(figures) }
  },
  cluster: async () => {
    const figures = await measureCluster({ owners: [1, 100], counting })
    return { figures, rows: clusterTable(figures) }
  },
}

process.once('exit', removeServers)
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
const only = positionals.join(' ')
const chosen = Object.entries(measurements).filter(([name]) => name.includes(only))
if (chosen.length === 0) throw new Error(`no measurement has a name with '${only}'`)
console.log(machine)
/** @type {{ [name: string]: object }} */
const all = {}
for (const [name, measure] of chosen) {
  const { figures, rows } = await measure()
  all[name] = figures
  console.log(`\n### ${name}\n\n${rows.length === 0 ? 'No rows.' : table(rows)}`)
}
writeFileSync(flags.json, `${JSON.stringify({ at: new Date().toISOString(), machine, ...all }, null, 2)}\n`)
console.log(`\nAll figures: ${flags.json}`)
// Timers of closed storages, such as those of retries, do not keep the process running.
process.exit(0)
