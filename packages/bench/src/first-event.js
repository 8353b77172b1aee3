// Measures the gateway's additional time to a stream's first event at half load: requests start at half of its
// maximum rate, independent of other requests, and the upstream paces its events.
import { requestBody } from './payloads.js'
import { placement, setting } from './placement.js'
import { createRow } from './row.js'
import { startServers } from './servers.js'
import { grouped, median } from './table.js'

/** @typedef {{ p50: number, p99: number, busy: number }} Sample milliseconds */
/** @typedef {'direct' | 'bare' | 'gateway'} Way */

const rounds = setting('BENCH_ROUNDS', 5)
const seconds = setting('BENCH_SECONDS', 2) * 1.5
/** Enough to keep the gateway busy while streams wait for their next event. */
const connections = 256
const bars = { p50: 0.3, p99: 2 }

export const firstEventName = 'added time to the first event'

const request = {
  headers: { authorization: 'Bearer bench-token' },
  body: requestBody('chat', 'stream-model', 1024, true),
}

/** @param {import('./servers.js').Servers} servers */
async function measure({ serverOf, startLoad, upstream, load: closedLoad }) {
  const openLoad = startLoad('./open-load.js')
  /** @type {{ [way in Way]: { server: import('./process.js').Server, path: string } }} */
  const ways = {
    direct: { server: upstream, path: '/stream/v1/chat/completions' },
    bare: { server: await serverOf('bare'), path: '/stream/v1/chat/completions' },
    gateway: { server: await serverOf('gateway'), path: '/v1/chat/completions' },
  }
  /** @param {typeof openLoad} load @param {Way} way @param {object} job */
  const drive = async (load, way, job) => {
    const { server, path } = ways[way]
    const before = (await server.counters()).cpuMs
    const result = await load.ask({ ...request, port: server.port, path, seconds, ...job })
    if (result.error !== undefined) throw new Error(`${way}: ${result.error}`)
    return { ...result, busy: ((await server.counters()).cpuMs - before) / 1000 / result.seconds }
  }
  // Warms up until the code is optimized.
  for (const way of /** @type {const} */ (['gateway', 'bare']))
    for (let done = 0, tries = 0; done < 8000 && tries < 3; tries++)
      done += (await drive(closedLoad, way, { connections })).answers
  const { answers, seconds: took } = await drive(closedLoad, 'gateway', { connections })
  const rate = answers / took / 2
  /** @type {{ [way in Way]: Sample[] }} */
  const samples = { direct: [], bare: [], gateway: [] }
  const order = /** @type {const} */ (['direct', 'bare', 'gateway'])
  for (const way of order) await drive(openLoad, way, { rate, seconds: 1 })
  for (let round = 0; round < rounds; round++)
    for (const way of order) samples[way].push(await drive(openLoad, way, { rate }))
  return { rate, samples }
}

/** @param {{ between: () => void }} options @returns {Promise<import('./row.js').Row[]>} */
export async function benchFirstEvent({ between }) {
  const servers = await startServers('./paced-upstream.js', { args: ['5', '10'] })
  const { rate, samples } = await measure(servers).finally(servers.stop)
  between()
  console.log(
    `${firstEventName}: ${grouped(rate)} streams/s of 10 events 5 ms apart, half of the gateway's maximum, ${placement}`,
  )
  return /** @type {const} */ (['p50', 'p99']).map((key) => {
    const of = (/** @type {Way} */ way) => samples[way].map((sample) => sample[key])
    const added = (/** @type {Way} */ way) => of(way).map((ms, round) => ms - (of('direct')[round] ?? Number.NaN))
    return createRow({
      work: `${firstEventName}, ${key}`,
      ours: `${median(of('gateway')).toFixed(2)} ms`,
      beside: `direct: ${median(of('direct')).toFixed(2)} ms; bare adds ${median(added('bare')).toFixed(2)} ms`,
      rounds: added('gateway'),
      reference: of('direct'),
      unit: 'ms',
      absolute: true,
      bar: { most: bars[key] },
      figures: { rate, ...samples },
    })
  })
}
