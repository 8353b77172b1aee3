// Measures thousands of paced streams in one process, as long-running agents cause them: the memory of each, and the
// delay of its events. The gateway and the bare proxy alternate, each round in new processes, because processes do
// not return memory.
import { spawnSync } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { requestBody } from './payloads.js'
import { loadCpu, placement, proxyCpu, setting } from './placement.js'
import { startChild, startServer } from './process.js'
import { createRow } from './row.js'
import { grouped, median } from './table.js'

/**
 * @typedef {{ rss: number, heap: number, p50: number, p99: number, events: number, busy: number }} Sample bytes per
 * stream, and milliseconds
 */
/** @typedef {keyof typeof sides} Side */

const wanted = setting('BENCH_STREAMS', 3000)
const rounds = setting('BENCH_STREAM_ROUNDS', 5)
const watchMs = setting('BENCH_STREAM_SECONDS', 3) * 1000
const interval = 100
const bar = 1.3
/** Milliseconds from the last opened stream until the upstream starts its pace. */
const quiet = 500
/** Streams opened per second. */
const opening = 1000

export const streamsName = `${grouped(wanted)} concurrent streams`

const sides = {
  gateway: { file: './gateway-proxy.js', path: '/v1/chat/completions' },
  bare: { file: './bare-proxy.js', path: '/stream/v1/chat/completions' },
}

/** Two sockets per stream, and some more. */
function possible() {
  const limit = Number(spawnSync('sh', ['-c', 'ulimit -n']).stdout?.toString())
  const most = Number.isNaN(limit) ? wanted : Math.floor((limit - 300) / 2)
  if (most < wanted) console.log(`Only ${most} streams instead of ${wanted}: ulimit -n is ${limit}.`)
  return Math.min(wanted, most)
}

/** @param {Side} side @param {number} streams @returns {Promise<Sample>} */
async function measure(side, streams) {
  const { file } = sides[side]
  const upstream = await startServer('./paced-upstream.js', {
    args: [interval, 1_000_000, quiet].map(String),
    pin: loadCpu,
  })
  const args = [`http://127.0.0.1:${upstream.port}`]
  const proxy = await startServer(file, { args, pin: proxyCpu, nodeArgs: ['--expose-gc'] })
  const load = startChild('./stream-load.js', { pin: loadCpu })
  try {
    return await watch(side, streams, proxy, load)
  } finally {
    await Promise.all([load, proxy, upstream].map(({ stop }) => stop()))
  }
}

/**
 * @param {Side} side @param {number} streams @param {import('./process.js').Server} proxy
 * @param {ReturnType<typeof startChild>} load @returns {Promise<Sample>}
 */
async function watch(side, streams, proxy, load) {
  /** @param {object} job */
  const ask = async (job) => {
    const result = await load.ask(job)
    if (result.error !== undefined) throw new Error(`${side}: ${result.error}`)
    return result
  }
  const headers = { authorization: 'Bearer bench-token' }
  const body = requestBody('chat', 'stream-model', 1024, true)
  const request = { port: proxy.port, path: sides[side].path, headers, body }
  /** @param {number} count */
  const open = (count) => ask({ kind: 'open', ...request, streams: count, rampMs: (count / opening) * 1000 })
  // Compiles and optimizes the code before memory is measured.
  for (let i = 0; i < 4; i++) {
    await open(Math.ceil(streams / 20))
    await pause(quiet + 500)
    await ask({ kind: 'close' })
  }
  await pause(300)
  await proxy.memory()
  const before = await proxy.memory()
  await open(streams)
  await pause(quiet + 1000)
  const cpuBefore = (await proxy.counters()).cpuMs
  const { p50, p99, events } = await ask({ kind: 'watch', ms: watchMs })
  const busy = ((await proxy.counters()).cpuMs - cpuBefore) / watchMs
  const after = await proxy.memory()
  const memory = { rss: (after.rss - before.rss) / streams, heap: (after.heap - before.heap) / streams }
  return { ...memory, p50, p99, events, busy }
}

/** @param {{ between: () => void }} options @returns {Promise<import('./row.js').Row[]>} */
export async function benchStreams({ between }) {
  const streams = possible()
  console.log(`${grouped(streams)} streams of ${1000 / interval} events/s, ${rounds} rounds, ${placement}`)
  /** @type {{ [side in Side]: Sample[] }} */
  const samples = { gateway: [], bare: [] }
  for (let round = 0; round < rounds; round++)
    for (const side of /** @type {const} */ (['gateway', 'bare'])) {
      samples[side].push(await measure(side, streams))
      between()
    }
  const { gateway, bare } = samples
  const all = (/** @type {Sample[]} */ list, /** @type {keyof Sample} */ key) => list.map((sample) => sample[key])
  /** @param {string} what @param {keyof Sample} key @param {(value: number) => string} write @param {number | null} [most] */
  const rowOf = (what, key, write, most = bar) =>
    createRow({
      work: `${grouped(streams)} streams, ${what}`,
      ours: write(median(all(gateway, key))),
      beside: `bare: ${write(median(all(bare, key)))}`,
      rounds: gateway.map((sample, round) => sample[key] / (bare[round]?.[key] ?? Number.NaN)),
      reference: all(bare, key),
      ...(most === null ? {} : { bar: { most } }),
      figures: { ours: all(gateway, key), theirs: all(bare, key), busy: [all(gateway, 'busy'), all(bare, 'busy')] },
    })
  const kilobytes = (/** @type {number} */ bytes) => `${(bytes / 1024).toFixed(1)} kB`
  const milliseconds = (/** @type {number} */ ms) => `${ms.toFixed(2)} ms`
  return [
    rowOf('memory of each (RSS)', 'rss', kilobytes),
    rowOf('heap of each', 'heap', kilobytes, null),
    rowOf('lateness of events, p50', 'p50', milliseconds),
    rowOf('lateness of events, p99', 'p99', milliseconds),
  ]
}
