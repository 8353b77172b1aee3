// Messages between main.js and its child processes: each server reports its port once, and its counters, memory and profile on request.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** @typedef {{ cpuMs: number, tokens: number }} Counters used CPU time, and tokens metered so far */
/** @typedef {{ rss: number, heap: number }} Memory bytes; `rss` before, `heap` after a garbage collection */
/**
 * @typedef {object} Server
 * @property {number} port
 * @property {() => Promise<Counters>} counters
 * @property {() => Promise<Memory>} memory
 * @property {() => Promise<void>} startProfile
 * @property {() => Promise<import('./profile.js').Costs>} stopProfile
 * @property {() => Promise<void>} stop
 */

/**
 * In a child: reports the port to the parent, and then the counters on request.
 * @param {import('node:net').Server} server @param {() => number} [tokens]
 */
export function report(server, tokens = () => 0) {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server does not listen on a port')
  process.send?.({ port: address.port })
  process.on('message', (message) => {
    if (message === 'stop') process.exit(0)
    if (message === 'start profile')
      import('./profile.js').then(({ startProfile }) => startProfile()).then(() => process.send?.({}))
    else if (message === 'stop profile')
      import('./profile.js').then(({ stopProfile }) => stopProfile()).then((costs) => process.send?.(costs))
    else process.send?.(message === 'memory' ? memory() : counters(tokens))
  })
  process.on('disconnect', () => process.exit(0))
}

/** @param {() => number} tokens @returns {Counters} */
function counters(tokens) {
  const { user, system } = process.cpuUsage()
  return { cpuMs: (user + system) / 1000, tokens: tokens() }
}

/** Collects garbage first; needs `--expose-gc`. @returns {Memory} */
function memory() {
  const rss = process.memoryUsage.rss()
  globalThis.gc?.()
  return { rss, heap: process.memoryUsage().heapUsed }
}

/**
 * In a child without a server: runs the received jobs one after the other.
 * @param {(job: unknown) => Promise<object>} run
 */
export function serveJobs(run) {
  process.on('message', (message) => {
    if (message === 'stop') process.exit(0)
    run(message).then(
      (result) => process.send?.(result),
      (error) => process.send?.({ error: String(error) }),
    )
  })
  process.on('disconnect', () => process.exit(0))
}

/**
 * In the parent: starts a file of this folder, on the CPU `pin` if given, and waits for its first message.
 * @param {string} file @param {{ args?: string[], nodeArgs?: string[], pin?: number | undefined }} [options]
 */
export function startChild(file, { args = [], nodeArgs = [], pin } = {}) {
  const command = [process.execPath, ...nodeArgs, fileURLToPath(new URL(file, import.meta.url)), ...args]
  const [program = '', ...rest] = pin === undefined ? command : ['taskset', '-c', String(pin), ...command]
  const child = spawn(program, rest, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const ended = new Promise((_, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`${file} exited early (exit code ${code})`)))
  })
  ended.catch(() => {})
  /** @param {unknown} [message] @returns {Promise<any>} */
  const ask = (message) => {
    const answer = new Promise((resolve) => child.once('message', resolve))
    if (message !== undefined) child.send(/** @type {import('node:child_process').Serializable} */ (message))
    return Promise.race([answer, ended])
  }
  /** @returns {Promise<void>} */
  const stop = () =>
    new Promise((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) return resolve()
      child.once('exit', () => resolve())
      child.send('stop', () => {})
    })
  return { ask, stop }
}

/** Starts a child with a server. @param {Parameters<typeof startChild>} how @returns {Promise<Server>} */
export async function startServer(...how) {
  const { ask, stop } = startChild(...how)
  const { port } = await ask()
  return {
    port,
    counters: () => ask('counters'),
    memory: () => ask('memory'),
    startProfile: () => ask('start profile'),
    stopProfile: () => ask('stop profile'),
    stop,
  }
}
