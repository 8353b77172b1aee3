// Highest rate of one Redis: the reservations and settlements that a process sends, repeated with new call ids as fast as Redis executes
// them, for one owner and for many. Sent without the code of a gateway, which needs more CPU than Redis.
import { connect } from 'node:net'
import { grouped, percent } from '../table.js'
import { startGatewayProcess } from './gateway-process.js'
import { pause } from './load.js'
import { kindsOfAdmission } from './operations.js'
import { difference, startRedis } from './redis-server.js'
import { createTally, encode, purposeOf } from './tally.js'

const connections = 8
/** Calls that each connection sends at a time. */
const batch = 64

/** @param {{ seconds: number, owners: readonly number[], processes: readonly number[] }} options */
export async function measureHotOwner({ seconds, owners, processes }) {
  const rows = []
  for (const kind of /** @type {const} */ (['one limit of the token', 'budget of the owner, four limits of the token']))
    for (const count of owners) rows.push({ kind, owners: count, ...(await saturateCalls(kind, count, seconds)) })
  for (const count of processes)
    rows.push({ kind: `presence of ${count} processes`, owners: 0, ...(await saturatePresence(count, seconds)) })
  return { seconds, rows }
}

/** @param {keyof typeof kindsOfAdmission} kind @param {number} owners @param {number} seconds */
async function saturateCalls(kind, owners, seconds) {
  const redis = await startRedis()
  const commands = await captureCall(redis.url, kind)
  return saturate(redis, seconds, {
    perCall: commands.length,
    // Replies of both scripts are arrays of bulk strings: an asterisk begins each.
    marker: '*',
    textOf: (lane, call) => {
      const owner = (call + lane * 37) % owners
      return commands.map((command) => encode(command(`req_${lane}_${call}`, owner))).join('')
    },
  })
}

/** @param {number} processes @param {number} seconds */
async function saturatePresence(processes, seconds) {
  const redis = await startRedis()
  const tally = createTally()
  /** @type {readonly string[]} */
  let sent = []
  tally.listen((args) => {
    if (purposeOf(args) === 'presence') sent = args
  })
  const gateway = await startGatewayProcess(0, { urlFor: () => redis.url, processes: 1, tally, wrap: undefined })
  await gateway.tokens.issue({ name: 'any' })
  await pause(100)
  await gateway.close()
  const [id = ''] = sent.slice(4)
  return saturate(redis, seconds, {
    perCall: 1,
    marker: ':',
    textOf: (lane, call) => encode(sent.map((arg) => (arg === id ? `${id}${(call + lane * 37) % processes}` : arg))),
  })
}

/**
 * @param {import('./redis-server.js').RedisServer} redis @param {number} seconds
 * @param {{ perCall: number, marker: string, textOf: (lane: number, call: number) => string }} load
 */
async function saturate(redis, seconds, { perCall, marker, textOf }) {
  const before = await redis.snapshot()
  const startedAt = performance.now()
  const until = startedAt + seconds * 1000
  const lanes = Array.from({ length: connections }, (_, lane) =>
    replay(redis.port, until, { replies: perCall * batch, marker: marker.charCodeAt(0) }, (round) =>
      Array.from({ length: batch }, (_, n) => textOf(lane, round * batch + n)).join(''),
    ),
  )
  const batches = (await Promise.all(lanes)).reduce((sum, count) => sum + count, 0)
  const elapsed = performance.now() - startedAt
  const used = difference(before, await redis.snapshot())
  await redis.close()
  const calls = batches * batch
  return {
    calls,
    perSecond: (calls * 1000) / elapsed,
    redisShare: used.cpuMs / elapsed,
    redisCpuMicros: (used.cpuMs * 1000) / calls,
  }
}

/**
 * Makes one call with the real code and returns its scripts as functions of the call's id and the number of the owner.
 * @param {string} url @param {keyof typeof kindsOfAdmission} kind
 */
async function captureCall(url, kind) {
  const tally = createTally()
  /** @type {(readonly string[])[]} */
  const sent = []
  const settings = kindsOfAdmission[kind]
  const gateway = await startGatewayProcess(0, { urlFor: () => url, processes: 1, tally, wrap: undefined })
  if ('owner' in settings) await gateway.tokens.owners.set('team', settings.owner)
  const { secret, id: tokenId } = await gateway.tokens.issue({ name: kind, ...settings.token })
  await gateway.call({ secret }, { tokens: 100 })
  await pause(100)
  tally.listen((args) => sent.push(args))
  await gateway.call({ secret }, { tokens: 100 })
  await pause(100)
  await gateway.close()
  const scripts = sent.filter((args) => ['reserve', 'settle'].includes(purposeOf(args)))
  const callId = scripts.flatMap((args) => args.filter((arg) => /^req_\d+_\d+$/.test(arg)))[0] ?? ''
  const tags = [...new Set(scripts.flatMap((args) => args.flatMap((arg) => /\{([^}]+)\}/.exec(arg)?.[1] ?? [])))]
  if (callId === '' || !tags.some((tag) => tag === tokenId || tag.startsWith('owner_')))
    throw new Error('the scripts of a call were not recognized')
  // Keys and arguments contain the tag of the owner, the id of the token and the id of the call.
  const names = [callId, tokenId, ...tags]
  return scripts.map((args) => (/** @type {string} */ call, /** @type {number} */ owner) => {
    return args.map((arg, n) => {
      if (n < 3) return arg
      let text = arg
      for (const name of names)
        if (text.includes(name)) text = text.replaceAll(name, name === callId ? call : `${name}${owner}`)
      return text
    })
  })
}

/**
 * Sends batches on one connection, each after the response to the last, and returns their number.
 * @param {number} port @param {number} until @param {{ replies: number, marker: number }} batch the byte that begins each of its replies
 * @param {(round: number) => string} batchOf
 * @returns {Promise<number>}
 */
function replay(port, until, { replies, marker }, batchOf) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1').setNoDelay()
    let round = 0
    let waiting = 0
    const send = () => {
      waiting = replies
      socket.write(batchOf(round++))
    }
    socket.once('connect', send)
    socket.on('error', reject)
    socket.on('data', (data) => {
      for (const byte of data) if (byte === marker) waiting--
      const dash = data.indexOf('-')
      if (dash >= 0 && (dash === 0 || data[dash - 1] === 10)) {
        reject(new Error(`Redis rejected a script: ${data.toString('latin1', dash, dash + 200)}`))
        socket.destroy()
        return
      }
      if (waiting > 0) return
      if (performance.now() < until) return send()
      socket.destroy()
      resolve(round)
    })
  })
}

/** @param {Awaited<ReturnType<typeof measureHotOwner>>} measured */
export const hotOwnerTable = ({ rows }) =>
  rows.map((row) => ({
    scripts: row.kind,
    owners: row.owners || '',
    'times per second': grouped(row.perSecond),
    'CPU of Redis': `${row.redisCpuMicros.toFixed(1)} µs`,
    'busy share of Redis': percent(row.redisShare),
    'times per CPU-second of Redis': grouped(1e6 / row.redisCpuMicros),
  }))
