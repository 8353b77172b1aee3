// Highest rate of one Redis: the reservations and settlements that a process sends, repeated with new call ids as fast as Redis executes
// them, for one owner and for many. Sent without the code of a gateway, which needs more CPU than Redis.
import { connect } from 'node:net'
import { grouped, percent } from '../table.js'
import { startGatewayProcess } from './gateway-process.js'
import { pause } from './load.js'
import { kindsOfAdmission } from './operations.js'
import { difference, startRedis } from './redis-server.js'
import { createTally, encode, purposeOf } from './tally.js'

/** Connections, each with one step of a call at a time, as many processes have. So Redis reads and writes a socket for each step. */
const connections = 256

/** @param {{ seconds: number, owners: readonly number[], processes: readonly number[] }} options */
export async function measureHotOwner({ seconds, owners, processes }) {
  const rows = []
  for (const kind of /** @type {const} */ (['one limit of the token', 'budget of the owner, four limits of the token']))
    for (const count of owners) rows.push({ kind, owners: count, ...(await saturateCalls(kind, count, seconds)) })
  for (const count of processes)
    rows.push({ kind: `presence of ${count} processes`, owners: 0, ...(await saturatePresence(count, seconds)) })
  rows.push({ kind: 'look-up of a token and its owner', owners: 1, ...(await saturateLookUp(seconds)) })
  return { seconds, rows }
}

/** @param {keyof typeof kindsOfAdmission} kind @param {number} owners @param {number} seconds */
async function saturateCalls(kind, owners, seconds) {
  const redis = await startRedis()
  const scripts = await captureCall(redis.url, kind)
  const settles = scripts.length - 1
  return saturate(redis, seconds, {
    // Replies of all scripts are arrays of bulk strings: an asterisk begins each.
    marker: '*',
    stepsOf: (lane, call) => {
      const owner = (call + lane * 37) % owners
      const [reserve = '', ...settle] = scripts.map((script) => encode(script(`req_${lane}_${call}`, owner)))
      return [
        { text: reserve, replies: 1 },
        { text: settle.join(''), replies: settles },
      ]
    },
  })
}

/** @param {number} processes @param {number} seconds */
async function saturatePresence(processes, seconds) {
  const redis = await startRedis()
  const [sent = []] = await captureLookUp(redis.url, 'presence')
  const [id = ''] = sent.slice(4)
  return saturate(redis, seconds, {
    marker: ':',
    stepsOf: (lane, call) => {
      const own = `${id}${(call + lane * 37) % processes}`
      return [{ text: encode(sent.map((arg) => (arg === id ? own : arg))), replies: 1 }]
    },
  })
}

/** The look-up of a token and its owner. @param {number} seconds */
async function saturateLookUp(seconds) {
  const redis = await startRedis()
  const commands = await captureLookUp(redis.url, 'look-up')
  const steps = commands.map((command) => ({ text: encode(command), replies: 1 }))
  return saturate(redis, seconds, { marker: '$', stepsOf: () => steps })
}

/** Returns what the first call of a token in a process sends. @param {string} url @param {import('./tally.js').Purpose} purpose */
async function captureLookUp(url, purpose) {
  const tally = createTally()
  /** @type {(readonly string[])[]} */
  const sent = []
  const gateway = await startGatewayProcess(0, { urlFor: () => url, processes: 1, tally })
  const settings = kindsOfAdmission['budget of the owner, four limits of the token']
  await gateway.tokens.owners.set('team', settings.owner)
  const { secret } = await gateway.tokens.issue({ name: 'any', ...settings.token })
  tally.listen((args) => {
    if (purposeOf(args) === purpose) sent.push(args)
  })
  await pause(300)
  await gateway.call({ secret }, { tokens: 100 })
  await pause(100)
  await gateway.close()
  return sent
}

/** Commands that are sent together, and the number of their replies. @typedef {{ text: string, replies: number }} Step */

/**
 * @param {import('./redis-server.js').RedisServer} redis @param {number} seconds
 * @param {{ marker: string, stepsOf: (lane: number, call: number) => readonly Step[] }} load `marker`: first byte of each reply
 */
async function saturate(redis, seconds, { marker, stepsOf }) {
  const before = await redis.snapshot()
  const startedAt = performance.now()
  const until = startedAt + seconds * 1000
  const lanes = Array.from({ length: connections }, (_, lane) =>
    replay(redis.port, until, marker.charCodeAt(0), (call) => stepsOf(lane, call)),
  )
  const calls = (await Promise.all(lanes)).reduce((sum, count) => sum + count, 0)
  const elapsed = performance.now() - startedAt
  const used = difference(before, await redis.snapshot())
  await redis.close()
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
  const gateway = await startGatewayProcess(0, { urlFor: () => url, processes: 1, tally })
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
 * Makes calls on one connection, one step after the other, and returns their number.
 * @param {number} port @param {number} until @param {number} marker @param {(call: number) => readonly Step[]} stepsOf
 * @returns {Promise<number>}
 */
function replay(port, until, marker, stepsOf) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1').setNoDelay()
    let calls = 0
    let waiting = 0
    let steps = stepsOf(0)
    let next = 0
    const send = () => {
      const step = steps[next++]
      waiting = step?.replies ?? 0
      socket.write(step?.text ?? '')
    }
    socket.once('connect', send)
    socket.on('error', reject)
    socket.on('data', (data) => {
      for (const byte of data) if (byte === marker) waiting--
      if (data[0] === 45) {
        reject(new Error(`Redis rejected a command: ${data.toString('latin1', 0, 200)}`))
        socket.destroy()
        return
      }
      if (waiting > 0) return
      if (next < steps.length) return send()
      calls++
      if (performance.now() < until) {
        steps = stepsOf(calls)
        next = 0
        return send()
      }
      socket.destroy()
      resolve(calls)
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
