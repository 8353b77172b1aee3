// Redirects the providers' hosts to a fake provider on loopback, so that a page's code runs word for word without a network. Preloaded
// with `NODE_OPTIONS=--require=…`; fake-providers.mjs starts the provider and sets the environment.
//
//   MODELGATE_FAKE_PROVIDERS        the port of the fake provider on 127.0.0.1
//   MODELGATE_FAKE_PROVIDERS_HOSTS  the providers' hosts, with commas between them
//   MODELGATE_FAKE_PROVIDERS_PORTS  '8787:40123,…': replaces the first local port by the second, for listeners and connections
'use strict'

const net = require('node:net')
const tls = require('node:tls')
const { basename } = require('node:path')
const { syncBuiltinESMExports } = require('node:module')

/** Hosts of providers: those of the catalog, and the ends of names that hold a region or the name of a resource. */
const hosts = [
  ...(process.env.MODELGATE_FAKE_PROVIDERS_HOSTS ?? '').split(',').filter((host) => host !== ''),
  '.openai.azure.com',
  '.services.ai.azure.com',
  '.amazonaws.com',
  '.api.aws',
]

/** Package managers reach their registry; they run no code of a page's in their own process. */
const managers = new Set(['npm', 'npx', 'npm-cli.js', 'npx-cli.js', 'corepack', 'pnpm', 'yarn'])

/** @param {unknown} host */
const isAtHome = (host) =>
  typeof host === 'string' && hosts.some((known) => (known.startsWith('.') ? host.endsWith(known) : host === known))

/** @param {unknown} host */
const isLoopback = (host) =>
  host === undefined ||
  host === null ||
  /^(?:(?:.*\.)?localhost|127\..*|::1|::ffff:127\..*|0\.0\.0\.0|::)$/.test(String(host))

/**
 * Options of a connection, however they were given.
 * @param {readonly unknown[]} args
 * @returns {{ host?: unknown, port?: unknown, path?: unknown }}
 */
function optionsOf([first, second]) {
  // Inside of Node it is called with a list: the options and a callback.
  const options = Array.isArray(first) ? first[0] : first
  return typeof options === 'object' && options !== null
    ? options
    : { port: first, ...(typeof second === 'string' ? { host: second } : {}) }
}

/**
 * Puts a function of Node's in another's place, whose arguments are anything that Node takes.
 * @template T
 * @param {object} owner
 * @param {string} name
 * @param {(original: (...args: unknown[]) => unknown) => (this: T, ...args: unknown[]) => unknown} make
 */
const replace = (owner, name, make) => Reflect.set(owner, name, make(Reflect.get(owner, name)))

/** A connection that clients take for one by TLS. Between two processes of one machine there is nothing to encrypt. @param {number} home */
function connectHome(home) {
  const socket = net.connect({ host: '127.0.0.1', port: home })
  Object.assign(socket, { encrypted: true, authorized: true, authorizationError: null, alpnProtocol: false })
  Object.assign(socket, { getPeerCertificate: () => ({}), getSession: () => undefined, isSessionReused: () => false })
  return socket.once('connect', () => socket.emit('secureConnect'))
}

/** @param {number} home */
function bringHome(home) {
  replace(tls, 'connect', (connect) => (...args) => {
    const host = optionsOf(args).host ?? optionsOf(args.slice(1)).host
    if (!isAtHome(host)) return connect(...args)
    const socket = connectHome(home)
    const callback = args.at(-1)
    if (typeof callback === 'function') socket.once('secureConnect', () => callback())
    return socket
  })

  replace(net.Socket.prototype, 'connect', (connect) => {
    /** @this {net.Socket} @param {unknown[]} args */
    return function (...args) {
      const [first] = args
      const options = optionsOf(args)
      if (options.path !== undefined && options.path !== null) return connect.apply(this, args)
      // The machine of their own that pages speak of.
      const theirs = options.host === 'gpu-box'
      if (!theirs && !isLoopback(options.host)) {
        const where = `${options.host}:${options.port}`
        const message = `fake providers: a connection to ${where} was refused, as nothing may leave this machine here`
        process.nextTick(() => this.destroy(Object.assign(new Error(message), { code: 'ECONNREFUSED' })))
        return this
      }
      const port = theirs ? home : ports.get(Number(options.port))
      if (port === undefined) return connect.apply(this, args)
      const mapped = { ...options, port, ...(theirs ? { host: '127.0.0.1' } : {}) }
      if (Array.isArray(first)) first[0] = mapped
      else args.splice(0, typeof first !== 'object' && typeof args[1] === 'string' ? 2 : 1, mapped)
      return connect.apply(this, args)
    }
  })

  replace(net.Server.prototype, 'listen', (listen) => {
    /** @this {net.Server} @param {unknown[]} args */
    return function (...args) {
      const [first] = args
      const port = ports.get(Number(optionsOf(args).port))
      if (port !== undefined) args[0] = typeof first === 'object' ? { ...first, port } : port
      return listen.apply(this, args)
    }
  })

  // For `import { connect } from 'node:tls'`.
  syncBuiltinESMExports()
}

const pairs = (process.env.MODELGATE_FAKE_PROVIDERS_PORTS ?? '').split(',').filter((pair) => pair !== '')
/** @type {Map<number, number>} */
const ports = new Map()
for (const pair of pairs) {
  const [from = 0, to = 0] = pair.split(':').map(Number)
  ports.set(from, to)
}
const home = Number(process.env.MODELGATE_FAKE_PROVIDERS)
if (home > 0 && !managers.has(basename(process.argv[1] ?? ''))) {
  // Ollama is at this address on everybody's own machine.
  if (!ports.has(11434)) ports.set(11434, home)
  bringHome(home)
}

module.exports = { ports }
