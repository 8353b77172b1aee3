// Runs code blocks of pages, one after another, for its parent (run.ts): each in its own folder, with local fake providers, on free
// ports. It reports errors and calls the servers that a block starts.
import { once } from 'node:events'
import promises from 'node:fs/promises'
import { createServer } from 'node:http'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import { argv, chdir, env } from 'node:process'
import { pathToFileURL } from 'node:url'

/**
 * @typedef {{
 *   cwd: string, entry: string, fragment: boolean, mounts: boolean, prefixes: string[], declared: string[],
 *   runtime?: 'Bun' | 'Deno', env: Record<string, string>,
 * }} Job
 */

const { ports } = createRequire(import.meta.url)('../../packed/fake-providers-preload.cjs')
/** Resolves imports of pages from the folder that run.ts prepared. */
const { createGateway, openai, anthropic, gemini, nodeListener, createFakeProvider, express } = await import(
  pathToFileURL(argv[2] ?? '').href
)

/** The port used on all pages. */
const pagePort = 8787

/** @type {string[]} */
let faults = []
/** @type {{ server: import('node:net').Server, listening: Promise<unknown> }[]} */
let servers = []

/** @param {unknown} error */
const fault = (error) => faults.push(error instanceof Error ? (error.stack ?? error.message) : String(error))
process.on('uncaughtException', fault)
process.on('unhandledRejection', fault)
const exit = process.exit
process.once('disconnect', () => exit(0))

const auth = () => ({ id: 'reader' })
const reader = () =>
  createGateway({
    auth,
    upstreams: { openai: openai({ apiKey: 'k' }), claude: anthropic({ apiKey: 'k' }), google: gemini({ apiKey: 'k' }) },
    models: { 'claude-*': 'claude', 'gemini-*': 'google', '*': 'openai' },
  })

/** A gateway for client pages, which start none. */
const demoListener = nodeListener(reader())
const demo = createServer((request, response) => {
  // Some pages use this mount path.
  request.url = request.url?.replace(/^\/ai(?=\/)/, '')
  demoListener(request, response)
})
await once(demo.listen(0, '127.0.0.1'), 'listening')
const demoPort = /** @type {net.AddressInfo} */ (demo.address()).port

// From here on `listen` uses a free port, and connections to the requested port are redirected to it.
const listen = net.Server.prototype.listen
/** @param {unknown[]} args */
net.Server.prototype.listen = function (...args) {
  /** @type {{ port?: unknown, path?: unknown }} */
  const options = typeof args[0] === 'object' && args[0] !== null ? args[0] : { port: args[0] }
  const requestedPort = Number(options.port)
  if (options.path === undefined && !Number.isNaN(requestedPort)) {
    args[0] = typeof args[0] === 'object' ? { ...options, port: 0 } : 0
    this.once('listening', () => {
      const address = this.address()
      if (typeof address === 'object' && address !== null && requestedPort > 0) ports.set(requestedPort, address.port)
    })
  }
  servers.push({ server: this, listening: Promise.race([once(this, 'listening'), once(this, 'close')]) })
  return listen.apply(this, /** @type {[number]} */ (args))
}

/** Replaces file watching: reports one change and ends, so that loops over changes end. */
Object.assign(promises, {
  async *watch(/** @type {string} */ filename) {
    yield { eventType: 'change', filename }
  },
})
syncBuiltinESMExports()

/** @typedef {(request: Request) => Response | Promise<Response>} Handler */

/**
 * Emulates the server API of other runtimes on Node, so that their blocks run too.
 * @param {number} port @param {Handler} handler
 */
const serve = (port, handler) =>
  createServer(async (request, response) => {
    const { method = 'GET', url, headers } = request
    const plain = /** @type {Record<string, string>} */ (headers)
    const answer = await handler(new Request(`http://127.0.0.1${url}`, { method, headers: plain }))
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
  }).listen(port)

const runtimes = {
  Bun: { serve: (/** @type {{ port: number, fetch: Handler }} */ options) => serve(options.port, options.fetch) },
  Deno: {
    serve: (/** @type {{ port: number }} */ options, /** @type {Handler} */ handler) => serve(options.port, handler),
  },
}

const signals = /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP'])

/** Value for everything that a block declares without a definition. */
/** @type {() => unknown} */
const anything = new Proxy(/** @returns {unknown} */ () => anything, {
  get: (_target, key) => (key === 'then' || typeof key === 'symbol' ? undefined : anything),
  apply: () => anything,
})

/** @param {Job} job */
function prepare(job) {
  faults = []
  servers = []
  ports.delete(pagePort)
  ports.set(pagePort, demoPort)
  chdir(job.cwd)
  process.argv = [argv[0] ?? 'node', job.entry]
  Object.assign(env, job.env)
  process.exit = (code) => {
    throw new Error(`the block ended the process with ${code ?? 0}`)
  }
  const names = {
    ...(job.fragment
      ? {
          gateway: reader(),
          auth,
          apiKey: 'sk-of-the-page',
          upstreams: { openai: openai({ apiKey: 'k' }), claude: anthropic({ apiKey: 'k' }) },
          models: { 'gpt-*': 'openai', 'claude-*': 'claude' },
          provider: createFakeProvider(),
          recordedBytes: new TextEncoder().encode('data: {}\n\n'),
          app: express(),
        }
      : {}),
    ...Object.fromEntries(job.declared.map((name) => [name, anything])),
    // Libraries detect their runtime by these globals, so only blocks that use them get them.
    ...(job.runtime === undefined ? {} : { [job.runtime]: runtimes[job.runtime] }),
  }
  Object.assign(globalThis, names)
  const before = new Set(signals.flatMap((name) => process.listeners(name)))
  return () => {
    for (const name of Object.keys(names)) Reflect.deleteProperty(globalThis, name)
    for (const name of Object.keys(job.env)) delete env[name]
    for (const name of signals)
      for (const listener of process.listeners(name)) if (!before.has(listener)) process.removeListener(name, listener)
    for (const { server } of servers) {
      server.close()
      if ('closeAllConnections' in server) /** @type {import('node:http').Server} */ (server).closeAllConnections()
    }
  }
}

/**
 * Checks that the gateway responds at its mount: with models, or with its error about a missing token.
 * @param {Job} job @param {string} what @param {(path: string) => Promise<Response>} call
 */
async function knock(job, what, call) {
  const responses = []
  for (const prefix of job.prefixes) {
    const response = await call(`${prefix}/v1/models`)
    const text = await response.text()
    if ((response.status === 200 || response.status === 401) && response.headers.has('request-id')) return
    responses.push(`${prefix}/v1/models: ${response.status} ${text.slice(0, 200)}`)
  }
  faults.push(`${what} is not answered by the gateway: ${responses.join('; ')}`)
}

const headers = { authorization: 'Bearer my-token' }

/** @param {Job} job */
async function run(job) {
  const cleanUp = prepare(job)
  let calls = 0
  try {
    const module = await import(pathToFileURL(job.entry).href)
    // Waits for effects that the block does not await: a starting server, a rejected promise.
    await Promise.all(servers.map(({ listening }) => listening))
    await new Promise((resolve) => setImmediate(resolve))
    for (const { server } of servers) {
      const address = server.address()
      if (!job.mounts || !('closeAllConnections' in server) || typeof address !== 'object' || address === null) continue
      calls++
      await knock(job, 'what it listens with', (path) => fetch(`http://127.0.0.1:${address.port}${path}`, { headers }))
    }
    const served = module.default?.fetch ?? module.GET
    if (job.mounts && typeof served === 'function' && servers.length === 0) {
      calls++
      const context = { waitUntil: () => undefined, passThroughOnException: () => undefined }
      await knock(job, 'what it exports', async (path) =>
        served(new Request(`http://127.0.0.1${path}`, { headers }), { ...env }, context),
      )
    }
  } catch (error) {
    fault(error)
  } finally {
    cleanUp()
  }
  return { faults, calls }
}

process.on('message', async (job) => {
  const result = await run(/** @type {Job} */ (job))
  process.send?.(result)
})
process.send?.('ready')
