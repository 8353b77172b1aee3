// Other gateways and libraries from npm for comparison. They are installed when the benchmark runs, into a folder
// outside the repository, so that a clone's installation stays small. An unavailable one is reported, and its column
// stays empty.
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

const dependencies = { '@portkey-ai/gateway': '1.15.2', 'llm-bridge': '2.0.1' }
/** With later versions of its server, Portkey 1.15.2 fails streams with 500 "immutable". */
const overrides = { '@hono/node-server': '1.13.5' }
const folder = join(
  os.tmpdir(),
  `modelgate-bench-peers-${[...Object.values(dependencies), ...Object.values(overrides)].join('-')}`,
)

/** @param {string} name @param {unknown} error */
export const without = (name, error) =>
  console.log(`Without ${name}: ${String(error instanceof Error ? error.message : error).split('\n')[0]}`)

/** @type {Promise<string> | undefined} */
let installed
const install = () => {
  installed ??= (async () => {
    if (process.env.BENCH_PEERS === '0') throw new Error('BENCH_PEERS=0')
    if (existsSync(folder)) return folder
    const half = `${folder}.${process.pid}`
    mkdirSync(half, { recursive: true })
    writeFileSync(join(half, 'package.json'), JSON.stringify({ private: true, dependencies, overrides }))
    const flags = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
    try {
      await promisify(execFile)('npm', flags, { cwd: half, timeout: 120_000, shell: process.platform === 'win32' })
      renameSync(half, folder)
    } finally {
      rmSync(half, { recursive: true, force: true })
    }
    return folder
  })()
  return installed
}

/** @returns {Promise<number>} an unused port */
export const freePort = () =>
  new Promise((resolve, reject) => {
    const server = net.createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })

/**
 * Starts Portkey's gateway in its own process.
 * @param {number | undefined} pin CPU to use
 * @returns {Promise<{ port: number, stop: () => Promise<void> } | undefined>}
 */
export async function startPortkey(pin) {
  try {
    const file = join(await install(), 'node_modules/@portkey-ai/gateway/build/start-server.js')
    const port = await freePort()
    const command = [process.execPath, file, '--headless', `--port=${port}`]
    const [program = '', ...rest] = pin === undefined ? command : ['taskset', '-c', String(pin), ...command]
    const child = spawn(program, rest, { stdio: 'ignore', env: { ...process.env, NODE_ENV: 'production' } })
    const ended = new Promise((resolve) => child.once('close', resolve).once('error', resolve))
    /** @returns {Promise<void>} */
    const stop = async () => {
      child.kill()
      await ended
    }
    for (let tries = 0; tries < 100; tries++) {
      if (child.exitCode !== null) throw new Error(`it exited with ${child.exitCode}`)
      const up = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined)
      if (up !== undefined) return { port, stop }
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    await stop()
    throw new Error('it did not start within 10 s')
  } catch (error) {
    without('Portkey', error)
    return undefined
  }
}

/**
 * Returns the headers that select Portkey's upstream. @param {string} provider @param {string} host @returns {{ [name:
 * string]: string }}
 */
export const portkeyHeaders = (provider, host) => ({
  'x-portkey-provider': provider,
  'x-portkey-custom-host': host,
})

/** @typedef {{ handleUniversalStreamRequest: (stream: ReadableStream<Uint8Array>, from: string, to: string) => ReadableStream<Uint8Array | string> }} LlmBridge */

/** @returns {Promise<LlmBridge | undefined>} */
export async function loadLlmBridge() {
  try {
    return await import(pathToFileURL(join(await install(), 'node_modules/llm-bridge/dist/index.mjs')).href)
  } catch (error) {
    without('llm-bridge', error)
    return undefined
  }
}
