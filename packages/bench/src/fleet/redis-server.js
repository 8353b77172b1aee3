// Starts, kills and restarts real Redis servers on free ports of the loopback interface.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'redis'

/** @typedef {'none' | 'everysec' | 'always'} Persistence how often Redis writes its append-only file to disk */
/**
 * @typedef {object} RedisServer
 * @property {number} port
 * @property {string} url
 * @property {() => Promise<void>} kill as `kill -9` does
 * @property {() => Promise<void>} start starts it again with the same port and folder; resolves when it accepts connections
 * @property {() => Promise<Snapshot>} snapshot
 * @property {() => Promise<void>} close
 */
/**
 * Counters of a Redis since its start. Bytes are those of its clients.
 * @typedef {{ commands: number, bytesIn: number, bytesOut: number, cpuMs: number, memory: number, scripts: number }} Snapshot
 */

/** @type {Set<() => void>} */
const removals = new Set()
/** Stops the servers that a failed measurement leaves. */
export function removeServers() {
  for (const remove of removals) remove()
}

/** @param {{ persistence?: Persistence, cluster?: boolean }} [options] @returns {Promise<RedisServer>} */
export async function startRedis({ persistence = 'none', cluster = false } = {}) {
  const program = ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0)
  if (program === undefined) throw new Error('No redis-server on the PATH: install one (apt-get install redis-server)')
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-fleet-'))
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder, '--maxclients', '10000']
  args.push('--appendonly', persistence === 'none' ? 'no' : 'yes')
  if (persistence !== 'none') args.push('--appendfsync', persistence)
  if (cluster) args.push('--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1')
  /** @type {import('node:child_process').ChildProcess | undefined} */
  let running
  /** @type {ReturnType<typeof createClient> | undefined} */
  let monitor

  const start = async () => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    running = child
    await new Promise((resolve, reject) => {
      let log = ''
      child.stdout.on('data', (chunk) => {
        log += chunk
        if (log.includes('eady to accept connections')) resolve(undefined)
      })
      child.once('exit', (code) => reject(new Error(`${program} ended with ${code}: ${log.slice(-500)}`)))
      child.once('error', reject)
    })
    // A connection that no proxy delays.
    monitor = createClient({ url, socket: { reconnectStrategy: false } })
    monitor.on('error', () => {})
    await monitor.connect()
  }
  const kill = async () => {
    if (running === undefined) return
    monitor?.destroy()
    const ended = new Promise((resolve) => running?.once('exit', resolve))
    running.kill('SIGKILL')
    running = undefined
    await ended
  }
  const remove = () => {
    running?.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  removals.add(remove)
  await start()
  return {
    port,
    url,
    kill,
    start,
    async snapshot() {
      const text = String(await monitor?.sendCommand(['INFO', 'all']))
      return readInfo(text)
    },
    async close() {
      await kill()
      remove()
      removals.delete(remove)
    },
  }
}

/** Reads the response of `INFO all`. @param {string} text @returns {Snapshot} */
export function readInfo(text) {
  /** @param {string} name */
  const read = (name) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(text)?.[1] ?? 0)
  let commands = 0
  for (const [, name, calls] of text.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm))
    if (name !== 'info') commands += Number(calls)
  return {
    commands,
    bytesIn: read('total_net_input_bytes'),
    bytesOut: read('total_net_output_bytes'),
    cpuMs: (read('used_cpu_user') + read('used_cpu_sys')) * 1000,
    memory: read('used_memory'),
    scripts: Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(text)?.[1] ?? 0),
  }
}

/** @param {Snapshot} before @param {Snapshot} after @returns {Snapshot} */
export const difference = (before, after) => ({
  commands: after.commands - before.commands,
  bytesIn: after.bytesIn - before.bytesIn,
  bytesOut: after.bytesOut - before.bytesOut,
  cpuMs: after.cpuMs - before.cpuMs,
  memory: after.memory - before.memory,
  scripts: after.scripts - before.scripts,
})

/** @returns {Promise<number>} */
const freePort = () =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      // The bus of a cluster listens at this port and 10,000.
      server.close(() => (port > 55_000 ? freePort().then(resolve, reject) : resolve(port)))
    })
  })
