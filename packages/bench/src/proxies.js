// The gateway on Node against a bare proxy. Proxies share one CPU, load and upstream the other, and rounds alternate, so
// that noise of the machine falls on both alike.
import { spawnSync } from 'node:child_process'
import os from 'node:os'
import { fileURLToPath } from 'node:url'
import { startChild, startServer } from './process.js'
import { topCosts } from './profile.js'
import { median, table } from './table.js'

/** @typedef {import('./cases.js').Case} Case @typedef {'gateway' | Case['against']} Proxy */
/** @typedef {{ rate: number, cpuMicros: number, p50: number, p99: number, busy: number }} Sample */
/** @typedef {Awaited<ReturnType<typeof startAll>>} Running */

const rounds = Number(process.env.BENCH_ROUNDS ?? 3)
const seconds = Number(process.env.BENCH_SECONDS ?? 2)
const connections = Number(process.env.BENCH_CONNECTIONS ?? 32)
const profiles = fileURLToPath(new URL('../profiles', import.meta.url))

/** @param {boolean} pinned @param {boolean} profile */
async function startAll(pinned, profile) {
  const proxyCpu = pinned ? 0 : undefined
  const loadCpu = pinned ? 1 : undefined
  const upstream = await startServer('./upstream.js', { pin: loadCpu })
  const address = `http://127.0.0.1:${upstream.port}`
  const proxies = {
    gateway: await startServer('./gateway-proxy.js', {
      args: [address],
      pin: proxyCpu,
      nodeArgs: profile ? ['--cpu-prof', `--cpu-prof-dir=${profiles}`] : [],
    }),
    bare: await startServer('./bare-proxy.js', { args: [address], pin: proxyCpu }),
    'bare-parse': await startServer('./bare-proxy.js', { args: [address, 'parse'], pin: proxyCpu }),
  }
  const load = startChild('./load.js', { pin: loadCpu })
  return {
    proxies,
    load,
    stop: () => Promise.all([...Object.values(proxies).map(({ stop }) => stop()), upstream.stop(), load.stop()]),
  }
}

/** @param {Running} running @param {Case} item @param {Proxy} proxy */
const target = ({ proxies }, item, proxy) => ({
  port: proxies[proxy].port,
  path: proxy === 'gateway' ? item.path : item.barePath,
  headers: { authorization: 'Bearer bench-token', ...item.headers },
  body: item.body,
})

/** One answer is looked at before thousands are counted. @param {Running} running @param {Case} item */
async function check(running, item) {
  const { gateway } = running.proxies
  const { port, path, headers, body } = target(running, item, 'gateway')
  const before = await gateway.counters()
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  const text = await response.text()
  if (response.status !== 200 || !text.includes(item.expect))
    throw new Error(`${item.name}: the gateway answered ${response.status} ${text.slice(0, 500)}`)
  if ((await gateway.counters()).tokens === before.tokens) throw new Error(`${item.name}: no usage was metered`)
}

/** @param {Running} running @param {Case} item @param {Proxy} proxy @param {number} duration @returns {Promise<Sample>} */
async function measure(running, item, proxy, duration) {
  const { proxies, load } = running
  const before = await proxies[proxy].counters()
  const result = await load.ask({ ...target(running, item, proxy), connections, seconds: duration })
  if (result.error !== undefined) throw new Error(`${item.name}, ${proxy}: ${result.error}`)
  const cpuMs = (await proxies[proxy].counters()).cpuMs - before.cpuMs
  return {
    rate: result.answers / result.seconds,
    cpuMicros: (cpuMs * 1000) / result.answers,
    busy: cpuMs / 1000 / result.seconds,
    p50: result.p50,
    p99: result.p99,
  }
}

/** Prints the table. @param {readonly Case[]} cases @param {boolean} profile @returns {Promise<number>} how many miss their bar */
export async function benchProxies(cases, profile) {
  const pinned = os.availableParallelism() > 1 && spawnSync('taskset', ['-c', '0', 'true']).status === 0
  const running = await startAll(pinned, profile)
  console.log(
    `Node ${process.versions.node}, ${rounds} rounds of ${seconds} s, ${connections} connections, ${pinned ? 'proxies pinned to CPU 0, load and upstream to CPU 1' : 'not pinned'}`,
  )
  let missed = 0
  const rows = []
  for (const item of cases) {
    await check(running, item)
    for (const proxy of /** @type {const} */ (['gateway', item.against]))
      await measure(running, item, proxy, Math.min(1, seconds))
    /** @type {Sample[]} */
    const ours = []
    /** @type {Sample[]} */
    const theirs = []
    for (let round = 0; round < rounds; round++) {
      ours.push(await measure(running, item, 'gateway', seconds))
      theirs.push(await measure(running, item, item.against, seconds))
    }
    const of = (/** @type {Sample[]} */ list, /** @type {keyof Sample} */ key) =>
      median(list.map((sample) => sample[key]))
    const ratio = median(ours.map(({ rate }, round) => rate / (theirs[round]?.rate ?? Number.NaN)))
    const passed = item.bar === undefined ? undefined : ratio >= item.bar
    if (passed === false) missed++
    rows.push({
      case: item.name,
      'gateway req/s': Math.round(of(ours, 'rate')),
      'bare req/s': Math.round(of(theirs, 'rate')),
      ratio: ratio.toFixed(2),
      'cpu µs/req': `${of(ours, 'cpuMicros').toFixed(0)} : ${of(theirs, 'cpuMicros').toFixed(0)}`,
      'busy %': `${(of(ours, 'busy') * 100).toFixed(0)} : ${(of(theirs, 'busy') * 100).toFixed(0)}`,
      'p99 ms': `${of(ours, 'p99').toFixed(1)} : ${of(theirs, 'p99').toFixed(1)}`,
      bar: item.bar === undefined ? '' : `${passed ? 'pass' : 'MISSED'} (≥ ${item.bar})`,
    })
  }
  console.log(table(rows))
  await running.stop()
  if (profile) console.log(table(topCosts(profiles)))
  return missed
}
