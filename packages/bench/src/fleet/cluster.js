// Redis Cluster of three nodes: whether all keys of a script have one hash tag, and how calls spread over the nodes.
import { redisStorage } from '@modelgate/tokens'
import { createClient, createCluster } from 'redis'
import { percent } from '../table.js'
import { createGatewayProcess } from './gateway-process.js'
import { closedLoad, pause } from './load.js'
import { kindsOfAdmission } from './operations.js'
import { startRedis } from './redis-server.js'
import { createTally, keysOf, purposeOf } from './tally.js'

/** @typedef {import('./gateway-process.js').Counting} Counting */

const slots = 16_384
const calls = 2000

/** @param {{ owners: readonly number[], counting: Counting }} options */
export async function measureCluster({ owners, counting }) {
  const nodes = await startCluster(3)
  const { token, owner: settings } = kindsOfAdmission['budget of the owner, four limits of the token']
  const rows = []
  for (const count of owners) {
    const tally = createTally()
    const tagsByScript = { one: 0, several: 0 }
    tally.listen((args) => {
      if (!['reserve', 'settle'].includes(purposeOf(args))) return
      tagsByScript[new Set(keysOf(args).map(tagOf)).size === 1 ? 'one' : 'several']++
    })
    const client = createCluster({ rootNodes: nodes.map(({ url }) => ({ url })) })
    client.on('error', () => {})
    await client.connect()
    const storage = redisStorage({
      client: tally.countCluster(client),
      prefix: `fleet-${count}:`,
      leases: counting.leases === true,
    })
    const gateway = await createGatewayProcess(storage, 0, { processes: 1, counting }, () => client.destroy())
    /** @type {string[]} */
    const secrets = []
    for (let n = 0; n < count; n++) {
      await gateway.tokens.owners.set(`team ${n}`, settings)
      secrets.push((await gateway.tokens.issue({ ...token, name: `token ${n}`, owner: `team ${n}` })).secret)
    }
    const before = await Promise.all(nodes.map((node) => node.snapshot()))
    /** @type {string[]} */
    const outcomes = []
    await closedLoad({ calls, inFlight: 20 }, async (call) => {
      const { outcome } = await gateway.call({ secret: secrets[call % count] ?? '' }, { tokens: 100 })
      outcomes.push(outcome)
    })
    await pause(300)
    const after = await Promise.all(nodes.map((node) => node.snapshot()))
    await gateway.close()
    const scripts = after.map((node, n) => node.scripts - (before[n]?.scripts ?? 0))
    const total = scripts.reduce((sum, one) => sum + one, 0)
    rows.push({
      owners: count,
      calls,
      admitted: outcomes.filter((outcome) => outcome === 'admitted').length,
      scriptsWithOneTag: tagsByScript.one,
      scriptsWithSeveralTags: tagsByScript.several,
      shares: scripts.map((one) => one / total).sort((a, b) => b - a),
    })
  }
  await Promise.all(nodes.map((node) => node.close()))
  return { nodes: nodes.length, rows }
}

/** Returns the part of a key that decides its node. @param {string} key */
export const tagOf = (key) => /\{([^}]+)\}/.exec(key)?.[1] ?? key

/** @param {number} count */
async function startCluster(count) {
  const nodes = await Promise.all(Array.from({ length: count }, () => startRedis({ cluster: true })))
  const clients = await Promise.all(nodes.map(({ url }) => createClient({ url }).connect()))
  for (const [n, client] of clients.entries()) {
    const [from, to] = [Math.floor((n * slots) / count), Math.floor(((n + 1) * slots) / count) - 1]
    await client.sendCommand(['CLUSTER', 'ADDSLOTSRANGE', String(from), String(to)])
    if (n > 0) await client.sendCommand(['CLUSTER', 'MEET', '127.0.0.1', String(nodes[0]?.port)])
  }
  for (const client of clients) {
    const isReady = async () => {
      const info = String(await client.sendCommand(['CLUSTER', 'INFO']))
      return info.includes('cluster_state:ok') && info.includes(`cluster_size:${count}`)
    }
    while (!(await isReady())) await pause(50)
    client.destroy()
  }
  return nodes
}

/** @param {Awaited<ReturnType<typeof measureCluster>>} measured */
export const clusterTable = ({ rows }) =>
  rows.map((row) => ({
    owners: row.owners,
    calls: row.calls,
    admitted: row.admitted,
    'scripts whose keys have one hash tag': row.scriptsWithOneTag,
    'more than one': row.scriptsWithSeveralTags,
    'scripts by node': row.shares.map((share) => percent(share)).join(', '),
  }))
