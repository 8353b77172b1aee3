import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import type { RedisClient } from './redis-client.ts'

/** A Redis that a test may kill, stop and start again. */
export interface TestRedis {
  readonly url: string
  /** As by `kill -9`. */
  kill(): Promise<void>
  /** On the same port, empty. */
  start(): Promise<void>
  /** It keeps its connections and answers nothing. */
  freeze(): void
  thaw(): void
  close(): Promise<void>
}

const programs = ['redis-server', 'valkey-server']
/** The program that tests can start; undefined: there is none on the PATH. */
export const redisProgram = programs.find((name) => spawnSync(name, ['--version']).status === 0)

/** A Redis that runs already, for tests that do it no harm. */
const given = process.env.REDIS_URL

const lack = `no ${programs.join(' or ')} on the PATH: install one (apt-get install redis-server)`
/** Why there can be no tests with Redis; undefined: there can. */
export const withoutRedis = given === undefined && redisProgram === undefined ? `${lack}, or set REDIS_URL` : undefined
/** Why there can be no tests that kill Redis. */
export const withoutRedisToKill = redisProgram === undefined ? lack : undefined

const ownPrefix = `modelgate-test:${process.pid}:${Date.now()}:`
let prefixes = 0
/** Names that no other test has. */
export const testPrefix = (): string => `${ownPrefix}${++prefixes}:`

/** A Redis to work with: that of REDIS_URL, which gets rid of the names of this test in the end, or one that is started. */
export async function sharedRedis(): Promise<{ readonly url: string; close(): Promise<void> }> {
  return given === undefined ? startRedis() : { url: given, close: () => tidy(given) }
}

async function tidy(url: string): Promise<void> {
  const client = createClient({ url })
  await client.connect()
  for await (const keys of client.scanIterator({ MATCH: `${ownPrefix}*`, COUNT: 1000 })) {
    if (keys.length > 0) await client.del(keys)
  }
  await client.close()
}

/** Starts one. `cluster`: as a cluster of one node, which refuses commands and scripts whose keys belong to different nodes. */
export async function startRedis({ cluster = false } = {}): Promise<TestRedis> {
  if (redisProgram === undefined) throw new Error(lack)
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
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder]
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

export interface Connection {
  readonly client: RedisClient
  close(): Promise<void>
}

type Connect = (url: string) => Promise<Connection>

/** The clients that hosts use, with their default options; what they say of lost connections is expected. */
export const connect: Readonly<Record<'node-redis' | 'ioredis', Connect>> = {
  async 'node-redis'(url) {
    const client = createClient({ url })
    client.on('error', () => {})
    await client.connect()
    return { client, close: async () => client.destroy() }
  },
  async ioredis(url) {
    const client = new Redis(url)
    client.on('error', () => {})
    await client.ping()
    return { client, close: async () => client.disconnect() }
  },
}

/** The same for a cluster. */
export const connectToCluster: Readonly<Record<'node-redis cluster' | 'ioredis cluster', Connect>> = {
  async 'node-redis cluster'(url) {
    const client = createCluster({ rootNodes: [{ url }] })
    client.on('error', () => {})
    await client.connect()
    return { client, close: async () => client.destroy() }
  },
  async 'ioredis cluster'(url) {
    const client = new Cluster([url])
    client.on('error', () => {})
    await client.ping()
    return { client, close: async () => client.disconnect() }
  },
}
