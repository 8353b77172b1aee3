import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ConsoleOptions, consolePages } from '@modelgate/console'
import { createCanceller, type GatewayConfig, type Identity } from '@modelgate/core'
import { type HealthOptions, healthRoutes } from '@modelgate/core/health'
import { mediaFetcher } from '@modelgate/node'
import { otel } from '@modelgate/otel'
import { prometheusMetrics } from '@modelgate/otel/prometheus'
import { createRecorder } from '@modelgate/otel/test-support'
import {
  createPrices,
  createTokens,
  type LedgerSink,
  type MeterStore,
  memoryStorage,
  type Prices,
  type Storage,
  type TokenStore,
  type Tokens,
  type TokensOptions,
} from '@modelgate/tokens'
import { ROOT_CONTEXT } from '@opentelemetry/api'
import { afterLateness, type Cell, firstByteMs, type Subject } from './behaviours.ts'
import {
  type ClientResponse,
  complainIf,
  notRefused,
  notServed,
  requestFor,
  send,
  type World,
  worldWith,
} from './world.ts'

interface TokenWorld extends World {
  readonly tokens: Tokens
  readonly secret: string
}

/** Creates a gateway with platform tokens, one of which has limits and a budget. */
async function tokenWorld(
  options: TokensOptions,
  config: (tokens: Tokens) => Partial<GatewayConfig<string>> = () => ({}),
): Promise<TokenWorld> {
  const logged: string[] = []
  const log = (message: string): void => void logged.push(message)
  const tokens = createTokens({ storage: memoryStorage(), cacheMs: 0, logger: { warn: log, error: log }, ...options })
  // Issued with a working storage; the misbehaving function is installed later.
  const { secret } = await tokens.issue({
    limits: [{ requests: 1000, window: 'minute' }, { concurrent: 10 }],
    budget: { money: 100, period: 'month' },
  } as never)
  const world = worldWith({ auth: tokens.authenticate, ...config(tokens) })
  return { ...world, logged: [...world.logged, ...logged], tokens, secret }
}

const prices = createPrices({ models: { '*': { input: 1, output: 1 } } })

async function callWith({ gateway, secret }: TokenWorld): Promise<ClientResponse> {
  const request = requestFor('messages')
  request.headers.set('authorization', `Bearer ${secret}`)
  return send(gateway, request, 'messages')
}

/** Creates a storage whose token store or meters have functions replaced after the token was issued. */
function storageWith(
  { tokens = {}, meters = {} }: { tokens?: Partial<TokenStore>; meters?: Partial<MeterStore> },
  inner: Storage,
): Storage {
  return { ...inner, tokens: { ...inner.tokens, ...tokens }, meters: { ...inner.meters, ...meters } }
}

/** Expects a served call if the function's result is valid, otherwise a rejection without an upstream call. */
async function servedOrRefused(
  { works }: Cell,
  world: TokenWorld,
  statuses: readonly number[],
): Promise<readonly string[]> {
  const reply = await callWith(world)
  if (works) return notServed([reply])
  return [...notRefused([reply], statuses), ...complainIf(world.sent.length > 0, 'a call reached the upstream')]
}

const served = async (world: TokenWorld): Promise<readonly string[]> => notServed([await callWith(world)])

/** Tests members of `Prices`; every call must be settled. */
async function withPrices(part: Partial<Prices>, statuses: readonly number[]): Promise<readonly string[]> {
  const inner = memoryStorage()
  let reserved = 0
  let settled = 0
  const storage = storageWith(
    {
      meters: {
        reserve(reservation) {
          reserved++
          return inner.meters.reserve(reservation)
        },
        settle(done) {
          settled++
          return inner.meters.settle(done)
        },
      },
    },
    inner,
  )
  const world = await tokenWorld({ storage, prices: { ...prices, ...part } })
  const reply = await callWith(world)
  return [
    ...(statuses.includes(200) ? notServed([reply]) : notRefused([reply], statuses)),
    ...complainIf(reserved !== settled, `${reserved} calls had a reservation, ${settled} were settled`),
  ]
}

/** Tests an `authorize` of the console. */
async function withConsole(
  { works, misbehave }: Cell,
  api: string,
  options: (authorize: () => true, tokens: Tokens) => ConsoleOptions,
): Promise<readonly string[]> {
  const { gateway } = await tokenWorld({ prices }, (tokens) => ({
    limits: { firstByteMs },
    plugins: [
      consolePages(
        options(
          misbehave((): true => true),
          tokens,
        ),
      ),
    ],
  }))
  const reply = await send(gateway, new Request(`http://gateway/console/api/${api}`), 'chat')
  return works ? complainIf(reply.status !== 200, `status ${reply.status}`) : notRefused([reply], [401, 500])
}

const sink = (part: Partial<LedgerSink>): LedgerSink => ({ append() {}, ...part })

async function withHost(allowAddress: (address: string) => boolean): Promise<boolean> {
  const server = createServer((_, response) => response.writeHead(200, { 'content-type': 'image/png' }).end('x'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as AddressInfo
    const policy = mediaFetcher({ hosts: ['127.0.0.1'], insecure: true, allowAddress })
    await policy.fetch(new URL(`http://127.0.0.1:${port}/`), createCanceller())
    return true
  } catch {
    return false
  } finally {
    server.close()
  }
}

const withTelemetry = async (option: 'attributes' | 'contextFrom', give: () => never): Promise<readonly string[]> => {
  const recorder = createRecorder()
  const plugin = otel({
    tracerProvider: recorder.tracerProvider,
    meterProvider: recorder.meterProvider,
    [option]: give,
  })
  const { gateway } = worldWith({ plugins: [plugin] })
  const reply = await send(gateway, requestFor('chat'), 'chat')
  return [
    ...notServed([reply]),
    ...complainIf((await recorder.points('modelgate.attempts')).length !== 1, 'the call was not measured'),
  ]
}

/** Reads `/readyz` of a gateway. */
async function readinessWith(options: HealthOptions): Promise<{ status: number; isDetailed: boolean }> {
  const { gateway } = worldWith({ plugins: [healthRoutes({ timeoutMs: firstByteMs, logger: false, ...options })] })
  const response = await gateway.fetch('http://gateway/readyz')
  return { status: response.status, isDetailed: (await response.text()).includes('upstreams') }
}

const anything = [undefined, null, true, 5, 'x', {}, []]

export const packageSubjects = [
  {
    name: 'tokens: findByDigest',
    awaited: true,
    garbage: [true, 5, 'x', {}, []],
    async attempt(cell) {
      const inner = memoryStorage()
      const storage = storageWith(
        { tokens: { findByDigest: cell.misbehave((digest: string) => inner.tokens.findByDigest(digest)) } },
        inner,
      )
      return servedOrRefused(cell, await tokenWorld({ storage, prices }), [401, 500])
    },
  },
  {
    name: 'tokens: get',
    awaited: true,
    garbage: [true, 5, 'x', {}, []],
    async attempt(cell) {
      const inner = memoryStorage()
      const storage = storageWith({ tokens: { get: cell.misbehave((id: string) => inner.tokens.get(id)) } }, inner)
      // A copy of the identity: the token is looked up by its id.
      const config = (tokens: Tokens): Partial<GatewayConfig<string>> => ({
        auth: async (...args) => {
          const identity = await tokens.authenticate(...args)
          return identity === null ? null : ({ ...identity, seen: true } satisfies Identity)
        },
        plugins: [tokens.plugin],
      })
      return servedOrRefused(cell, await tokenWorld({ storage, prices }, config), [500])
    },
  },
  {
    name: 'tokens: ownerKey',
    awaited: false,
    garbage: [true, 5, {}, []],
    attempt: async (cell) =>
      servedOrRefused(cell, await tokenWorld({ prices, ownerKey: cell.misbehave(() => 'team') }), [500]),
  },
  {
    name: 'tokens: owners.get',
    awaited: true,
    garbage: [true, 5, 'x', {}, []],
    async attempt(cell) {
      const inner = memoryStorage()
      const owners = { ...inner.owners, get: cell.misbehave((owner: string) => inner.owners?.get(owner)) }
      const storage = { ...inner, owners } as Storage
      return servedOrRefused(cell, await tokenWorld({ storage, prices, ownerKey: () => 'team' }), [500])
    },
  },
  {
    name: 'tokens: reserve',
    awaited: true,
    garbage: [undefined, null, true, 5, 'x', {}, { ok: true }, { ok: 'yes', states: [], at: 1 }, { ok: false }],
    async attempt(cell) {
      const inner = memoryStorage()
      let reserved = 0
      let settled = 0
      const reserve = cell.misbehave((reservation: Parameters<MeterStore['reserve']>[0]) => {
        reserved++
        return inner.meters.reserve(reservation)
      })
      const settle: MeterStore['settle'] = (done) => {
        settled++
        return inner.meters.settle(done)
      }
      const complaints = await servedOrRefused(
        cell,
        await tokenWorld({ storage: storageWith({ meters: { reserve, settle } }, inner), prices }),
        [500],
      )
      if (cell.behaviour === 'resolves late') await afterLateness()
      return [...complaints, ...complainIf(reserved !== settled, `${reserved} reservations, ${settled} settled`)]
    },
  },
  {
    name: 'tokens: settle',
    awaited: true,
    garbage: anything,
    async attempt({ misbehave }) {
      const inner = memoryStorage()
      return served(
        await tokenWorld({ storage: storageWith({ meters: { settle: misbehave(() => undefined) } }, inner), prices }),
      )
    },
  },
  {
    name: 'tokens: prices.estimate',
    awaited: false,
    garbage: [null, true, Number.NaN, -1, Number.POSITIVE_INFINITY, 'x', {}],
    attempt: ({ misbehave }) => withPrices({ estimate: misbehave(() => 5) }, [403]),
  },
  {
    name: 'tokens: prices.costOf',
    awaited: false,
    garbage: [null, true, 5, 'x', {}, { amount: Number.NaN, currency: 'USD' }],
    attempt: ({ misbehave }) => withPrices({ costOf: misbehave(() => ({ amount: 1, currency: 'USD' })) }, [200]),
  },
  {
    name: 'tokens: prices.atLeast',
    awaited: false,
    garbage: [null, true, Number.NaN, -1, 'x', {}],
    // Called only if the whole cost is unknown.
    attempt: ({ misbehave }) => withPrices({ costOf: () => undefined, atLeast: misbehave(() => 1) }, [200]),
  },
  {
    name: 'tokens: ledger.append',
    awaited: true,
    garbage: anything,
    attempt: async ({ misbehave }) =>
      served(await tokenWorld({ ledger: sink({ append: misbehave(() => undefined) }), prices })),
  },
  {
    name: 'tokens: logger',
    awaited: true,
    garbage: anything,
    async attempt({ misbehave }) {
      let logged = 0
      const failing = misbehave(() => undefined)
      const log = (): never => {
        logged++
        return failing()
      }
      const noTable = {
        ...prices,
        costOf: () => {
          throw new Error('no table')
        },
      }
      const complaints = await served(await tokenWorld({ logger: { warn: log, error: log }, prices: noTable }))
      return [...complaints, ...complainIf(logged === 0, 'nothing was logged')]
    },
  },
  {
    name: 'tokens: authorize',
    awaited: true,
    garbage: [undefined, null, 1, 'yes', {}, []],
    async attempt({ works, misbehave }) {
      const { gateway } = await tokenWorld({ prices }, (tokens) => ({
        limits: { firstByteMs },
        plugins: [tokens.routes({ authorize: misbehave(() => true) })],
      }))
      const reply = await send(gateway, new Request('http://gateway/admin/tokens'), 'chat')
      return works ? complainIf(reply.status !== 200, `status ${reply.status}`) : notRefused([reply], [403, 500])
    },
  },
  {
    name: 'console: authorize of usage',
    awaited: true,
    garbage: [undefined, null, 1, 'yes', {}, []],
    attempt: (cell) => withConsole(cell, 'usage', (authorize, tokens) => ({ usage: { authorize, tokens } })),
  },
  {
    name: 'console: authorize of recent calls',
    awaited: true,
    garbage: [undefined, null, 1, 'yes', {}, []],
    attempt: (cell) => withConsole(cell, 'calls', (authorize) => ({ recentCalls: { authorize } })),
  },
  {
    name: 'otel: attributes',
    awaited: false,
    garbage: anything,
    attempt: ({ misbehave }) =>
      withTelemetry(
        'attributes',
        misbehave(() => ({ team: 'blue' })),
      ),
  },
  {
    name: 'otel: contextFrom',
    awaited: false,
    garbage: anything,
    attempt: ({ misbehave }) =>
      withTelemetry(
        'contextFrom',
        misbehave(() => ROOT_CONTEXT),
      ),
  },
  {
    name: 'prometheus: authorize',
    awaited: true,
    garbage: [undefined, null, 1, 'yes', {}, []],
    async attempt({ works, misbehave }) {
      const { gateway } = worldWith({
        limits: { firstByteMs },
        plugins: [prometheusMetrics({ authorize: misbehave(() => true) })],
      })
      const reply = await send(gateway, new Request('http://gateway/metrics'), 'chat')
      return works ? complainIf(reply.status !== 200, `status ${reply.status}`) : notRefused([reply], [403, 500])
    },
  },
  {
    name: 'health: authorize',
    awaited: true,
    garbage: [undefined, null, 1, 'yes', {}, []],
    async attempt({ works, misbehave }) {
      const { status, isDetailed } = await readinessWith({ authorize: misbehave(() => true) })
      return [
        ...complainIf(status !== 200, `status ${status}`),
        ...complainIf(isDetailed !== works, `names of upstreams were ${isDetailed ? '' : 'not '}sent`),
      ]
    },
  },
  {
    name: 'health: a check',
    awaited: true,
    // Anything but false passes.
    garbage: [false],
    async attempt({ works, misbehave }) {
      const { status } = await readinessWith({ checks: { one: misbehave(() => true) } })
      return complainIf(status !== (works ? 200 : 503), `status ${status}`)
    },
  },
  {
    name: 'node: allowAddress',
    awaited: false,
    garbage: [undefined, null, 1, 'yes', {}, []],
    attempt: async ({ misbehave }) =>
      complainIf(await withHost(misbehave(() => true)), 'the blocked address was connected to'),
  },
] as const satisfies readonly Subject[]
