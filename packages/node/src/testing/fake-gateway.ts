import type { Gateway, Inbound, Reply, Route, RouteMatch, Transport } from '@modelgate/core'
import { GatewayError } from '@modelgate/core'
import { type AdapterFunctions, adapterFunctions, setAdapterFunctions } from '@modelgate/core/adapter'

const paths = ['echo', 'stream', 'endless', 'hang', 'broken', 'empty', 'bad-header'].map(
  (name): Route => ({
    method: 'POST',
    path: `/v1/${name}`,
    operation: 'generate',
    format: 'chat',
    unversionedAlias: true,
  }),
)
const routes: readonly Route[] = [
  ...paths,
  { method: 'GET', path: '/v1/models', operation: 'list-models', format: 'chat' },
  { method: 'GET', path: '/v1/models/{model}', operation: 'get-model', format: 'chat' },
]

/** Observations for tests. */
export interface Seen {
  readonly inbounds: Inbound[]
  readonly transports: (Transport | undefined)[]
  /** `performance.now()` of each signal's abort. */
  readonly aborts: number[]
  /** Chunks pulled from the endless stream. */
  pulled: number
  /** Streams that were closed from outside. */
  returned: number
}

export interface FakeGateway extends Gateway {
  readonly seen: Seen
  bodyLimit: number
}

const encoder = new TextEncoder()
export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** A gateway without upstreams, with one path for each kind of response that an adapter must handle. */
export function createFakeGateway(): FakeGateway {
  const seen: Seen = { inbounds: [], transports: [], aborts: [], pulled: 0, returned: 0 }

  const answers: Record<string, (inbound: Inbound) => Promise<Reply> | Reply> = {
    echo: async (inbound) => {
      const body = await inbound.read(gateway.bodyLimit)
      return json(200, {
        path: inbound.path,
        query: inbound.query,
        type: inbound.header('content-type'),
        body: new TextDecoder().decode(body),
        bytes: body.length,
      })
    },
    stream: async (inbound) => {
      await inbound.read(gateway.bodyLimit)
      return events(seen, async function* () {
        for (let i = 0; i < 5; i++) {
          await sleep(i === 0 ? 0 : 40)
          yield encoder.encode(`data: ${i}\n\n`)
        }
      })
    },
    endless: () => {
      const chunk = new Uint8Array(64 * 1024).fill(97)
      return events(seen, async function* () {
        for (;;) {
          seen.pulled++
          await sleep(0)
          yield chunk
        }
      })
    },
    hang: (inbound) =>
      new Promise((_resolve, reject) => {
        inbound.signal.addEventListener('abort', () => reject(new Error('aborted')))
      }),
    broken: () =>
      events(seen, async function* () {
        yield encoder.encode('data: 0\n\n')
        await sleep(10)
        throw new Error('upstream broke')
      }),
    empty: () => ({ status: 204, headers: {}, body: null }),
    'bad-header': () => ({ status: 200, headers: { 'x-bad': 'a\nb' }, body: 'x' }),
    models: () => json(200, { object: 'list', data: [] }),
  }

  const match = (method: string, path: string): RouteMatch | null => {
    const clean = path.replace(/^\/v1\/v1\//, '/v1/')
    const model = clean.startsWith('/v1/models/') ? clean.slice('/v1/models/'.length) : undefined
    const route = routes.find(
      (one) =>
        one.path === clean ||
        (one.unversionedAlias === true && one.path === `/v1${clean}` && one.method === method) ||
        (model !== undefined && one.path === '/v1/models/{model}'),
    )
    return route === undefined ? null : { route, params: model === undefined ? {} : { model } }
  }

  const handle = async (inbound: Inbound, transport?: Transport): Promise<Reply> => {
    seen.inbounds.push(inbound)
    seen.transports.push(transport)
    inbound.signal.addEventListener('abort', () => seen.aborts.push(performance.now()))
    const found = match(inbound.method, inbound.path)
    if (found === null) return json(404, { error: { message: 'gateway 404' } })
    if (inbound.method !== found.route.method && !(inbound.method === 'HEAD' && found.route.method === 'GET'))
      return json(405, { error: { message: 'method' } }, { allow: found.route.method })
    const name = found.route.path.split('/')[2] ?? ''
    try {
      return (await answers[name]?.(inbound)) ?? json(404, {})
    } catch (error) {
      // Never rejects, like the real gateway.
      if (!(error instanceof GatewayError)) return json(500, { error: { message: String(error), type: 'internal' } })
      return json(error.info.status, { error: { message: error.message, type: error.info.kind } }, error.headers)
    }
  }

  const gateway: FakeGateway = {
    seen,
    bodyLimit: 1024 * 1024,
    routes,
    requiresCredential: true,
    status: () => ({ draining: false, activeCalls: 0, upstreams: [] }),
    describeModels: async () => [],
    fetch: async (input, init) =>
      toResponse(await handle(fromRequest(input instanceof Request ? input : new Request(input, init)))),
    upgrade: async (request) =>
      new URL(request.url).pathname === '/v1/realtime'
        ? new Response('{"error":{"message":"no realtime"}}', {
            status: 501,
            headers: { 'content-type': 'application/json' },
          })
        : new Response('', { status: 404 }),
    explain: async () => ({ format: 'chat', model: '', stream: false, plan: [] }),
    reconfigure: () => {},
    close: async () => {},
    [Symbol.asyncDispose]: async () => {},
  }
  return setAdapterFunctions(gateway, {
    match,
    matchUpgrade: (path) => match('GET', path),
    handle,
    loaded: async () => {},
    responses: async () => ({ ok: false, reply: json(426, { error: { message: 'no WebSocket' } }) }),
    realtime: async () => ({ ok: false, reply: json(501, { error: { message: 'no realtime' } }) }),
  })
}

/** Returns a copy of a gateway with some of its adapter functions replaced. */
export function withAdapterFunctions<G extends Gateway>(gateway: G, functions: Partial<AdapterFunctions>): G {
  return setAdapterFunctions({ ...gateway }, { ...adapterFunctions(gateway), ...functions })
}

function json(status: number, value: unknown, headers: Record<string, string> = {}): Reply {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(value) }
}

function events(seen: Seen, chunks: () => AsyncGenerator<Uint8Array>): Reply {
  const body: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]() {
      const inner = chunks()
      return {
        next: () => inner.next(),
        return: () => {
          seen.returned++
          return inner.return(undefined)
        },
      }
    },
  }
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' },
    body,
  }
}

function fromRequest(request: Request): Inbound {
  const url = new URL(request.url)
  return {
    method: request.method,
    path: url.pathname,
    query: url.search.slice(1),
    header: (name) => request.headers.get(name) ?? undefined,
    read: async () => new Uint8Array(await request.arrayBuffer()),
    signal: request.signal,
  }
}

function toResponse({ status, headers, body }: Reply): Response {
  if (body === null || typeof body === 'string') return new Response(body, { status, headers })
  if (body instanceof Uint8Array) return new Response(body.slice(), { status, headers })
  const iterator = body[Symbol.asyncIterator]()
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await iterator.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await iterator.return?.()
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(stream, { status, headers })
}
