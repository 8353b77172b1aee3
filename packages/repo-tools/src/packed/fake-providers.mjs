// Starts the fake provider to which fake-providers-preload.cjs redirects programs. As a command it runs another program that way:
//
//   node packages/repo-tools/src/packed/fake-providers.mjs node app.js
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { argv, exit, env as ownEnv } from 'node:process'
import { fileURLToPath } from 'node:url'

/** Loads the build, because this also runs outside of vitest. */
const built = new URL('../../../testing/dist/index.js', import.meta.url)

/** @returns {Promise<typeof import('@modelgate/testing')>} */
const testing = () => import(built.href)

const preload = fileURLToPath(new URL('fake-providers-preload.cjs', import.meta.url))

/**
 * Starts a fake provider that replaces all providers. Programs use it with `env` added to their environment; `ports` maps local ports
 * that the programs use to other ones.
 * @param {{ ports?: Record<number, number> } & import('@modelgate/testing').FakeProviderOptions} [options]
 */
export async function startFakeProviders({ ports = {}, ...options } = {}) {
  const { createFakeProvider, listen } = await testing()
  const provider = createFakeProvider(options)
  const listening = await listen({
    ...provider,
    fetch: (input, init) => provider.fetch(toFakeRequest(new Request(input, init))),
  })
  return {
    provider,
    port: listening.port,
    env: fakeProvidersEnv(listening.port, ports),
    close: () => listening.close(),
  }
}

/**
 * Maps peculiarities of providers to the fake one: an API below /openai, /api or /inference, the key in Azure's header, OpenRouter's
 * list of the models of a key.
 * @param {Request} request
 */
function toFakeRequest(request) {
  const url = request.url
    .replace(/^(https?:\/\/[^/]+)\/(?:openai|api|inference)(?=\/v[12])/, '$1')
    .replace(/\/v1\/models\/user$/, '/v1/models')
  const one = url === request.url ? request : new Request(url, request)
  // Self-hosted servers require no key.
  const own = /^(?:gpu-box|localhost)(?::|$)/.test(one.headers.get('host') ?? '')
  const key = one.headers.get('api-key') ?? (own ? 'none' : null)
  if (key !== null && !one.headers.has('authorization')) one.headers.set('authorization', `Bearer ${key}`)
  return one
}

/** Hosts of the catalog's providers, read from the build. `require` keeps `fakeProvidersEnv` synchronous. */
function catalogHosts() {
  /** @type {typeof import('@modelgate/core/catalog')} */
  const { createExample, providerCatalog } = createRequire(import.meta.url)('../../../core/dist/catalog.cjs')
  return Object.values(providerCatalog)
    .map((entry) => new URL(createExample(entry).baseURL))
    .filter(({ protocol, hostname }) => protocol === 'https:' && hostname.includes('.'))
    .map(({ hostname }) => hostname)
}

/**
 * @param {number} port the fake provider's
 * @param {Record<number, number>} [ports]
 * @returns {Record<string, string>}
 */
export function fakeProvidersEnv(port, ports = {}) {
  return {
    NODE_OPTIONS: `--require=${JSON.stringify(preload)}`,
    MODELGATE_FAKE_PROVIDERS: String(port),
    MODELGATE_FAKE_PROVIDERS_HOSTS: catalogHosts().join(','),
    MODELGATE_FAKE_PROVIDERS_PORTS: Object.entries(ports)
      .map((pair) => pair.join(':'))
      .join(','),
  }
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const [command, ...args] = argv.slice(2)
  if (command === undefined) {
    console.error('usage: node packages/repo-tools/src/packed/fake-providers.mjs COMMAND [ARGUMENT …]')
    exit(2)
  }
  const home = await startFakeProviders()
  const child = spawn(command, args, { stdio: 'inherit', env: { ...ownEnv, ...home.env } })
  const code = await new Promise((resolve) => {
    child.once('error', (error) => {
      console.error(`${command}: ${error.message}`)
      resolve(127)
    })
    child.once('exit', (code, signal) => resolve(code ?? (signal === null ? 1 : 128)))
  })
  await home.close()
  exit(code)
}
