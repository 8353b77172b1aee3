// Compares the gateway on Node with bare proxies. Proxies share one CPU, load and upstream the other, and rounds
// alternate, so that noise of the machine affects both equally.
import { placement, setting } from './placement.js'
import { differenceByPart, topFunctions } from './profile.js'
import { createRow } from './row.js'
import { startServers } from './servers.js'
import { confidence95, grouped, mean, median, table } from './table.js'

/** @typedef {import('./cases.js').Case} Case @typedef {import('./servers.js').Servers} Servers */
/** @typedef {{ port: number, path: string, headers: { [name: string]: string }, body: string }} Target */
/** @typedef {{ rate: number, cpuMicros: number, p50: number, p99: number, busy: number }} Sample */
/** @typedef {import('./row.js').Row} Row */

/** Many short rounds: a disturbance then affects both sides of a round, or few rounds. */
const rounds = setting('BENCH_ROUNDS', 15)
const seconds = setting('BENCH_SECONDS', 0.5)
/** Both sides of a round alternate in slices of about this length. */
const sliceSeconds = 0.1
const connections = setting('BENCH_CONNECTIONS', 32)
/** Peers are an order of magnitude slower: fewer rounds suffice. */
const peerRounds = Math.min(rounds, 3)
const peerSeconds = 1

/** @param {Case} item @param {number} port @param {string} path @param {{ [name: string]: string }} [more] @returns {Target} */
const target = ({ headers, body }, port, path, more) => ({
  port,
  path,
  headers: { authorization: 'Bearer bench-token', ...headers, ...more },
  body,
})

/** Checks one response before measuring. @param {string} who @param {Case} item @param {Target} to */
async function look(who, { name, expect }, { port, path, headers, body }) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  const text = await response.text()
  if (response.status !== 200 || !text.includes(expect))
    throw new Error(`${name}: ${who} answered ${response.status} ${text.slice(0, 500)}`)
}

/** @param {Servers} servers @param {Case} item @param {Target} to @param {number} duration */
async function drive({ load }, item, to, duration) {
  const result = await load.ask({ ...to, connections, seconds: duration })
  if (result.error !== undefined) throw new Error(`${item.name}: ${result.error}`)
  return /** @type {import('./load.js').Result} */ (result)
}

/**
 * Warms up until the code is optimized, which depends on calls rather than seconds. @param {Servers} servers @param
 * {Case} item @param {Target} to
 */
async function warmUp(servers, item, to) {
  let answers = 0
  for (let second = 0; second < 5 && answers < 8000; second++) answers += (await drive(servers, item, to, 1)).answers
}

/** @typedef {{ server: import('./process.js').Server, to: Target }} Side */

/**
 * Samples the sides of one round, in alternating slices: a disturbance that lasts longer than a slice affects all of them.
 * @param {Servers} servers @param {Case} item @param {readonly Side[]} sides @returns {Promise<Sample[]>}
 */
async function sampleRound(servers, item, sides) {
  const slices = Math.max(1, Math.round(seconds / sliceSeconds))
  const sums = sides.map(() => ({
    answers: 0,
    took: 0,
    cpuMs: 0,
    p50: /** @type {number[]} */ ([]),
    p99: /** @type {number[]} */ ([]),
  }))
  for (let slice = 0; slice < slices; slice++)
    for (const [index, { server, to }] of sides.entries()) {
      const sum = /** @type {(typeof sums)[number]} */ (sums[index])
      const before = await server.counters()
      const { answers, seconds: took, p50, p99 } = await drive(servers, item, to, seconds / slices)
      sum.cpuMs += (await server.counters()).cpuMs - before.cpuMs
      sum.answers += answers
      sum.took += took
      sum.p50.push(p50)
      sum.p99.push(p99)
    }
  return sums.map(({ answers, took, cpuMs, p50, p99 }) => ({
    rate: answers / took,
    cpuMicros: (cpuMs * 1000) / answers,
    busy: cpuMs / 1000 / took,
    p50: median(p50),
    p99: median(p99),
  }))
}

/** @param {Sample[]} list @param {keyof Sample} key */
const mid = (list, key) => median(list.map((sample) => sample[key]))

/** @param {Sample[]} list */
const figuresOf = (list) => `${grouped(mid(list, 'rate'))} /s, CPU ${grouped(mid(list, 'cpuMicros'))} µs`

/**
 * Measures another proxy, without alternating. @param {Servers} servers @param {string} who @param {Case} item @param {Target} to
 * @returns {Promise<number | undefined>} responses per second
 */
async function peerRate(servers, who, item, to) {
  try {
    await look(who, item, to)
    await drive(servers, item, to, peerSeconds)
    /** @type {number[]} */
    const rates = []
    for (let round = 0; round < peerRounds; round++) {
      const { answers, seconds: took } = await drive(servers, item, to, peerSeconds)
      rates.push(answers / took)
    }
    return median(rates)
  } catch (error) {
    console.log(`Without ${who}: ${error instanceof Error ? error.message : error}`)
    return undefined
  }
}

/** Returns the responses per second of the other proxies, for cases that Portkey serves too. @param {Servers} servers @param {Case} item */
async function peerRates(servers, item) {
  /** @type {{ [proxy: string]: number }} */
  const rates = {}
  if (item.portkey === undefined) return rates
  const { provider, under } = item.portkey
  const port = await servers.nginxPort()
  const forwarded = port && (await peerRate(servers, 'nginx', item, target(item, port, item.barePath)))
  if (forwarded) rates.nginx = forwarded
  const running = await servers.portkeyFor(provider, under)
  if (running === undefined) return rates
  const expect = item.expect === 'data: [DONE]' ? item.expect : 'chat.completion'
  const to = target(item, running.port, '/v1/chat/completions', running.headers)
  const served = await peerRate(servers, 'Portkey', { ...item, expect }, to)
  if (served !== undefined) rates.Portkey = served
  return rates
}

/** @param {Servers} servers @param {Case} item @returns {Promise<{ row: Row, detail: { [column: string]: string | number } }>} */
async function run(servers, item) {
  const { name, path, barePath, ours: where = 'gateway', against, bar } = item
  const gateway = await servers.serverOf(where)
  const bare = await servers.serverOf(against)
  const [ourTarget, theirTarget] = [target(item, gateway.port, path), target(item, bare.port, barePath)]
  const before = await gateway.counters()
  await look('the gateway', item, ourTarget)
  if ((await gateway.counters()).tokens === before.tokens) throw new Error(`${name}: no usage was metered`)
  for (const to of [ourTarget, theirTarget]) await warmUp(servers, item, to)
  const sides = [
    { server: gateway, to: ourTarget },
    { server: bare, to: theirTarget },
  ]
  /** @type {Sample[][]} */
  const sampled = []
  for (let round = 0; round < rounds; round++) sampled.push(await sampleRound(servers, item, sides))
  const [ours = [], theirs = []] = sides.map((_, index) =>
    sampled.map((samples) => /** @type {Sample} */ (samples[index])),
  )
  const ratios = ours.map(({ cpuMicros }, round) => (theirs[round]?.cpuMicros ?? Number.NaN) / cpuMicros)
  const busy = Math.min(mid(ours, 'busy'), mid(theirs, 'busy'))
  const peers = await peerRates(servers, item)
  const row = createRow({
    work: name,
    ours: figuresOf(ours),
    beside: `${against}: ${figuresOf(theirs)}`,
    // By CPU time: a rate also depends on the load generator, and a slow machine brings the rates of all proxies closer together.
    rounds: ratios,
    reference: theirs.map(({ cpuMicros }) => cpuMicros),
    // A proxy that is not busy waits for the load, or for other processes on its CPU: its rate is not its own.
    disturbed: busy < 0.85,
    ...(bar === undefined ? {} : { bar: { least: bar } }),
    ...(Object.keys(peers).length === 0
      ? {}
      : {
          peer: Object.entries(peers)
            .map(([who, rate]) => `${who}: ${grouped(rate)} /s`)
            .join('; '),
          rates: { Modelgate: mid(ours, 'rate'), [against]: mid(theirs, 'rate'), ...peers },
        }),
    figures: { ours, theirs, peers },
  })
  const detail = {
    work: name,
    'ours : theirs, req/s': `${grouped(mid(ours, 'rate'))} : ${grouped(mid(theirs, 'rate'))}`,
    'rate ratio': (mid(ours, 'rate') / mid(theirs, 'rate')).toFixed(2),
    'cpu µs/req': `${mid(ours, 'cpuMicros').toFixed(0)} : ${mid(theirs, 'cpuMicros').toFixed(0)}`,
    'cpu ratio (95 %)': `${row.value.toFixed(2)} (${mean(ratios).toFixed(3)} ± ${confidence95(ratios).toFixed(3)})`,
    'busy %': `${(mid(ours, 'busy') * 100).toFixed(0)} : ${(mid(theirs, 'busy') * 100).toFixed(0)}`,
    'p99 ms': `${mid(ours, 'p99').toFixed(1)} : ${mid(theirs, 'p99').toFixed(1)}`,
  }
  return { row, detail }
}

/**
 * Samples both servers while they work, and prints where the CPU time of a call goes. Sampling slows the calls down: compare
 * shares, not times. @param {Servers} servers @param {Case} item
 */
async function printProfile(servers, item) {
  const sides = await Promise.all(
    [
      { name: item.ours ?? 'gateway', path: item.path },
      { name: item.against, path: item.barePath },
    ].map(async ({ name, path }) => {
      const server = await servers.serverOf(name)
      return { server, to: target(item, server.port, path) }
    }),
  )
  for (const { server } of sides) await server.startProfile()
  /** @type {Sample[][]} */
  const sampled = []
  for (let round = 0; round < rounds; round++) sampled.push(await sampleRound(servers, item, sides))
  const [ours, theirs] = await Promise.all(
    sides.map(async ({ server }, index) => ({
      costs: await server.stopProfile(),
      cpuMicros: median(sampled.map((samples) => samples[index]?.cpuMicros ?? Number.NaN)),
    })),
  )
  if (ours === undefined || theirs === undefined) return
  console.log(`${item.name}, sampled: CPU ${ours.cpuMicros.toFixed(0)} : ${theirs.cpuMicros.toFixed(0)} µs per call`)
  console.log(`${table(differenceByPart(ours, theirs))}\n`)
  console.log(table(topFunctions(ours.costs, ours.cpuMicros)))
}

/** @param {readonly Case[]} cases @param {{ profile: boolean, between: () => void }} options @returns {Promise<Row[]>} */
export async function benchProxies(cases, { profile, between }) {
  const servers = await startServers('./upstream.js')
  console.log(`${rounds} rounds of ${seconds} s, ${connections} connections, ${placement}`)
  const results = []
  try {
    for (const item of cases) {
      results.push(await run(servers, item))
      if (profile) await printProfile(servers, item)
      between()
    }
  } finally {
    await servers.stop()
  }
  console.log(table(results.map(({ detail }) => detail)))
  return results.map(({ row }) => row)
}
