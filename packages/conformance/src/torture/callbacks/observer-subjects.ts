import { type FinishEvent, memoryHealthState, type Plugin } from '@modelgate/core'
import { afterLateness, type Cell, firstByteMs, type Subject } from './behaviours.ts'
import { complainIf, fetchOver, notRefused, notServed, type Sent, send, sendAll, worldWith } from './world.ts'

const anything = [undefined, null, true, 5, 'x', {}, []]

/** A hook that only observes: every call must be served. */
const hook = (name: 'onRequest' | 'onFinish' | 'onBodies'): Subject => ({
  name,
  awaited: true,
  garbage: anything,
  async attempt({ misbehave }) {
    const { gateway } = worldWith({ plugins: [{ name: 'watch', [name]: misbehave(() => undefined) }] })
    return notServed(await sendAll(gateway))
  },
})

const logger = (level: 'warn' | 'error'): Subject => ({
  name: `logger.${level}`,
  awaited: true,
  garbage: anything,
  async attempt({ misbehave }) {
    let logged = 0
    const log = misbehave(() => undefined)
    const fail = (): never => {
      throw new Error('something to log')
    }
    const counted = (): never => {
      logged++
      return log()
    }
    const { gateway } = worldWith({
      logger: { warn() {}, error() {}, [level]: counted },
      // The first one causes a warning, the second one an error.
      models: Object.fromEntries(
        (['chat', 'messages', 'gemini', 'responses'] as const).map((format) => [
          `${format}-model`,
          [{ upstream: 'chat', when: fail }, format],
        ]),
      ),
      plugins: [{ name: 'failing', onFinish: fail }],
    })
    return [...notServed(await sendAll(gateway)), ...complainIf(logged === 0, 'nothing was logged')]
  },
})

/** Returns the upstream requests and the final events of the calls with one plugin. */
async function withPlugin(plugin: Plugin) {
  const finished: FinishEvent[] = []
  const world = worldWith({ plugins: [plugin, { name: 'end', onFinish: (event) => void finished.push(event) }] })
  const replies = await sendAll(world.gateway)
  return { replies, finished, sent: world.sent }
}

const isCost = (cost: FinishEvent['cost']): boolean =>
  cost === undefined || (typeof cost.amount === 'number' && cost.amount >= 0 && typeof cost.currency === 'string')

/** Calls an endpoint of a plugin; `attempt` receives whether its response was used. */
async function tryRoute(cell: Cell): Promise<readonly string[]> {
  let opened = 0
  let closed = 0
  const stream = () => {
    opened++
    const bytes = [new TextEncoder().encode('one two three')]
    return {
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          const value = bytes.shift()
          if (value !== undefined) return { done: false as const, value }
          closed++
          return { done: true as const, value: undefined }
        },
        return: async () => {
          closed++
          return { done: true as const, value: undefined }
        },
      }),
    }
  }
  const handle = cell.misbehave(() => ({ status: 200, headers: { 'content-type': 'text/plain' }, body: stream() }))
  const { gateway } = worldWith({
    limits: { firstByteMs },
    plugins: [{ name: 'pages', routes: [{ method: 'GET', path: '/page', handle }] }],
  })
  const reply = await send(gateway, new Request('http://gateway/page'), 'chat')
  if (cell.behaviour === 'resolves late') await afterLateness()
  return [
    ...(cell.works ? notServed([reply]) : notRefused([reply], [500])),
    ...complainIf(opened !== closed, `${opened} streams were opened, ${closed} closed`),
  ]
}

const body = 'one two three'

export const observerSubjects = [
  hook('onRequest'),
  hook('onFinish'),
  hook('onBodies'),
  {
    name: 'onNotice',
    awaited: true,
    garbage: anything,
    async attempt({ misbehave }) {
      const { gateway } = worldWith({ plugins: [{ name: 'watch', onNotice: misbehave(() => undefined) }] })
      const rejected = await send(gateway, new Request('http://gateway/v1/nothing'), 'chat')
      return [...notRefused([rejected], [404]), ...notServed(await sendAll(gateway))]
    },
  },
  logger('warn'),
  logger('error'),
  {
    name: 'onStart',
    awaited: true,
    garbage: anything,
    async attempt({ behaviour, misbehave }) {
      try {
        const { gateway } = worldWith({ plugins: [{ name: 'starting', onStart: misbehave(() => undefined) }] })
        return [...complainIf(behaviour === 'throws', 'the gateway was started'), ...notServed(await sendAll(gateway))]
      } catch (error) {
        // `createGateway` passes the exception on: a plugin that cannot start is a configuration error.
        return complainIf(behaviour !== 'throws', `createGateway threw ${error}`)
      }
    },
  },
  {
    name: 'onUpstream',
    awaited: false,
    garbage: [
      'abc',
      5,
      true,
      ['x'],
      { a: 5 },
      { 'no name': 'x' },
      { a: 'two\nlines' },
      Object.defineProperty({}, 'a', {
        enumerable: true,
        get: () => {
          throw new Error('getter')
        },
      }),
    ],
    async attempt({ misbehave }) {
      const { replies, sent } = await withPlugin({ name: 'tracing', onUpstream: misbehave(() => ({ 'x-trace': '1' })) })
      const added = sent.some(({ headers }) => ['x-trace', '0', 'a'].some((name) => headers.has(name)))
      return [...notServed(replies), ...complainIf(added, 'a header was sent upstream')]
    },
  },
  {
    name: 'costOf',
    awaited: false,
    garbage: [
      5,
      'x',
      true,
      {},
      [],
      { amount: Number.NaN, currency: 'USD' },
      { amount: -1, currency: 'USD' },
      { amount: 1 },
    ],
    async attempt({ misbehave }) {
      const { replies, finished } = await withPlugin({
        name: 'prices',
        costOf: misbehave(() => ({ amount: 1, currency: 'USD' })),
      })
      return [
        ...notServed(replies),
        ...complainIf(!finished.every(({ cost }) => isCost(cost)), 'an invalid cost was reported'),
      ]
    },
  },
  {
    name: 'settle',
    awaited: true,
    garbage: anything,
    async attempt({ misbehave }) {
      const settle = misbehave(() => undefined)
      const { replies, finished } = await withPlugin({ name: 'meter', admit: () => ({ settle }) })
      return [...notServed(replies), ...complainIf(finished.length !== replies.length, 'onFinish was not called')]
    },
  },
  {
    name: 'handle',
    awaited: true,
    garbage: [
      undefined,
      null,
      'x',
      5,
      {},
      [],
      { status: 200 },
      { status: '200', headers: {}, body },
      { status: 99, headers: {}, body },
      { status: 200, headers: { a: 5 }, body },
      { status: 200, headers: {}, body: 5 },
    ],
    attempt: tryRoute,
  },
  {
    name: 'health.read',
    awaited: false,
    garbage: [
      true,
      5,
      'x',
      {},
      [],
      { until: 'soon', reason: 'failing' },
      { until: Number.NaN, reason: 'failing' },
      { until: Date.now() + 1e6, reason: 'x' },
    ],
    async attempt({ misbehave }) {
      const state = memoryHealthState()
      const read = misbehave(() => ({ until: Date.now() + 1e6, reason: 'failing' }))
      const { gateway, logged } = worldWith({ breaker: {}, health: { read, write: (...args) => state.write(...args) } })
      return [
        ...notServed(await sendAll(gateway)),
        ...complainIf(logged.length === 0, 'nothing was logged'),
        ...complainIf(logged.length > 3, `${logged.length} lines were logged`),
      ]
    },
  },
  {
    name: 'health.write',
    awaited: true,
    garbage: anything,
    async attempt({ misbehave }) {
      const state = memoryHealthState()
      const sent: Sent[] = []
      const { gateway } = worldWith({
        breaker: { failures: 1 },
        health: { read: (id) => state.read(id), write: misbehave((id: string, rest) => state.write(id, rest)) },
        fetch: fetchOver(sent, () => new Response('{}', { status: 500 })),
      })
      return notRefused([...(await sendAll(gateway)), ...(await sendAll(gateway))], [502, 503, 529])
    },
  },
] as const satisfies readonly Subject[]
