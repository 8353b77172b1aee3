import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'redis'

/** A Redis that a test may kill, stop and start again. */
export interface TestRedis {
  readonly url: string
  /** Kills the process as `kill -9` does. */
  kill(): Promise<void>
  /** Starts it again on the same port; it is empty unless it persists its data. */
  start(): Promise<void>
  /** Suspends the process: it keeps its connections but does not respond. */
  freeze(): void
  thaw(): void
  close(): Promise<void>
}

const programs = ['redis-server', 'valkey-server']
/** The server program that tests start; undefined: none is on the PATH. */
export const redisProgram = programs.find((name) => spawnSync(name, ['--version']).status === 0)

export const lackOfRedis = `no ${programs.join(' or ')} on the PATH: install one (apt-get install redis-server)`
/** Reason to skip the tests that kill Redis; undefined: they run. */
export const withoutRedisToKill = redisProgram === undefined ? lackOfRedis : undefined

/**
 * Starts a Redis. `cluster`: as a cluster of one node, which rejects commands and scripts whose keys belong to different slots.
 * `keeps`: written data survives `kill`.
 */
export async function startRedis({ cluster = false, keeps = false } = {}): Promise<TestRedis> {
  if (redisProgram === undefined) throw new Error(lackOfRedis)
  const program = redisProgram
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-redis-'))
  let running: ChildProcess | undefined
  const kill = async (): Promise<void> => {
    if (running === undefined) return
    const gone = new Promise((resolve) => running?.once('exit', resolve))
    running.kill('SIGKILL')
    running = undefined
    await gone
  }
  const start = async (): Promise<void> => {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder]
    args.push('--appendonly', keeps ? 'yes' : 'no', '--appendfsync', 'always')
    if (cluster) args.push('--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1')
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    running = child
    await new Promise<void>((resolve, reject) => {
      let log = ''
      child.stdout.on('data', (chunk) => {
        log += chunk
        if (log.includes('eady to accept connections')) resolve()
      })
      child.once('exit', (code) => reject(new Error(`${program} ended with ${code}: ${log.slice(-500)}`)))
      child.once('error', reject)
    })
  }
  await start()
  const url = `redis://127.0.0.1:${port}`
  if (cluster) await serveAllSlots(url)
  return {
    url,
    kill,
    start,
    freeze: () => void running?.kill('SIGSTOP'),
    thaw: () => void running?.kill('SIGCONT'),
    async close() {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function serveAllSlots(url: string): Promise<void> {
  const client = createClient({ url })
  await client.connect()
  await client.sendCommand(['CLUSTER', 'ADDSLOTSRANGE', '0', '16383'])
  while (!String(await client.sendCommand(['CLUSTER', 'INFO'])).includes('cluster_state:ok')) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  client.destroy()
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() =>
        typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port')),
      )
    })
  })
