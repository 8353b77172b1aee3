import { type AddressInfo, createServer } from 'node:net'
import type { Scene, UpstreamCall } from '../../base/raw-upstream.ts'
import { type Format, formats } from '../../base/recorded-traffic.ts'
import { sendGoodResponse, sleep } from '../../base/upstream-responses.ts'
import type { Check, CheckContext, Pair, Target } from '../check.ts'
import { bodyFor, exchange, headersFor, pathFor, rawExchange, type TargetRequest } from '../client.ts'
import { inParallel, tally } from '../measurements.ts'
import { mediaOf } from './media.ts'

/** One way to make a gateway call another host. */
interface Attempt {
  readonly name: string
  readonly headers?: Readonly<Record<string, string>>
  /** Additional body fields, which replace those of the same name. */
  readonly more?: Readonly<Record<string, unknown>>
  readonly model?: string
  /** Returns the request target; the query is appended. */
  target?(path: string): string
  readonly method?: string
}

/** Headers that set the destination in some gateway, proxy or SDK. */
const hostHeaders = ({ host, origin }: Trap): Readonly<Record<string, string>> => ({
  'x-portkey-custom-host': origin,
  'x-portkey-config': JSON.stringify({ provider: 'openai', custom_host: origin, api_key: 'x' }),
  'x-portkey-provider': 'openai',
  'x-custom-host': origin,
  'x-base-url': origin,
  'x-api-base': origin,
  'api-base': origin,
  'openai-base-url': origin,
  'anthropic-base-url': origin,
  'x-upstream': origin,
  'x-upstream-url': origin,
  'x-target-url': origin,
  'x-forwarded-host': host,
  'x-forwarded-server': host,
  'x-forwarded-proto': 'http',
  'x-forwarded-prefix': '/../evil',
  'x-host': host,
  forwarded: `host=${host};proto=http`,
  'x-original-url': `${origin}/v1/files`,
  'x-original-host': host,
  'x-rewrite-url': `${origin}/v1/files`,
  'x-http-method-override': 'DELETE',
  'x-azure-endpoint': origin,
  'x-goog-api-client': origin,
  'helicone-target-url': origin,
  'helicone-openai-api-base': origin,
  'cf-aig-custom-host': origin,
  'x-litellm-api-base': origin,
  destination: origin,
  referer: `${origin}/v1/`,
  origin,
  via: `1.1 ${host}`,
  'alt-used': host,
  'proxy-connection': 'keep-alive',
})

/** Fields that set the destination in some SDK or gateway. */
const hostFields = ({ host, origin }: Trap): Readonly<Record<string, unknown>> => ({
  base_url: origin,
  baseURL: origin,
  baseUrl: origin,
  api_base: origin,
  apiBase: origin,
  custom_host: origin,
  host,
  endpoint: origin,
  url: origin,
  target: origin,
  upstream: origin,
  proxy: origin,
  proxies: { http: origin, https: origin },
  api_key: 'sk-of-the-client',
  provider: { base_url: origin, order: [origin] },
  custom_llm_provider: 'openai',
  config: { base_url: origin },
  httpOptions: { baseUrl: origin },
  http_options: { base_url: origin },
  extra_headers: { host },
  extra_body: { base_url: origin },
  fallbacks: [{ model: 'x', api_base: origin }],
  model_list: [{ litellm_params: { model: 'x', api_base: origin } }],
  metadata: { base_url: origin },
  routing: { url: origin },
  webhook_url: origin,
  callback: origin,
  store: false,
})

/** Model names that would change the host or path if they became part of a URL. */
const hostModels = ({ host, origin }: Trap, model: string): readonly string[] => [
  `openai/${origin}`,
  `${origin}/v1`,
  `@${host}/`,
  `${model}@${host}`,
  `../../${model}`,
  `..%2f..%2f${model}`,
  `..\\..\\${model}`,
  `/${model}`,
  `//${host}/${model}`,
  `\\\\${host}\\${model}`,
  `${model}?key=x`,
  `${model}#x`,
  `${model}\r\nhost: ${host}`,
  `${model}\u0000`,
  `models/../../v1/files`,
  `.`,
  `..`,
  `%2e%2e`,
]

/** Request targets that a proxy would read as a URL, or that leave the path. */
const targets = ({ host, origin }: Trap): readonly Pick<Attempt, 'name' | 'target'>[] => [
  { name: 'absolute target', target: (path) => `${origin}${path}` },
  { name: 'absolute target with credentials', target: (path) => `http://x:y@${host}${path}` },
  { name: 'target of another scheme', target: (path) => `ftp://${host}${path}` },
  { name: 'target with two slashes', target: (path) => `//${host}${path}` },
  { name: 'target behind @', target: (path) => `@${host}${path}` },
  { name: 'target after a backslash', target: (path) => `/\\${host}${path}` },
  { name: 'encoded slash', target: (path) => path.replace(/\/(?=[^/]*$)/, '%2F') },
  { name: 'leading dots', target: (path) => `/x/..${path}` },
  { name: 'encoded dots', target: (path) => `/x/%2e%2e${path}` },
  { name: 'trailing dots', target: (path) => `${path}/../../files` },
  { name: 'encoded trailing dots', target: (path) => `${path}/%2e%2e/%2e%2e/files` },
  { name: 'backslashes', target: (path) => path.replaceAll('/', '\\') },
  { name: 'a path parameter', target: (path) => `${path};host=${host}` },
  { name: 'a URL in the query', target: (path) => `${path}?host=${host}&base_url=${origin}&key=${host}` },
  { name: 'a fragment', target: (path) => `${path}#@${host}/` },
]

/** Returns the destination of a call. */
const placeOf = ({ method, path, headers }: UpstreamCall): string => `${method} ${headers.host} ${path}`

/** Returns the destination of the pair's calls without an attack. */
async function usualPlace({ target, upstream }: CheckContext, pair: Pair): Promise<string | undefined> {
  const scene = upstream.play(sendGoodResponse)
  await exchange(target, { ...pair, text: scene.marker })
  scene.end()
  const [received] = scene.calls
  return received === undefined ? undefined : placeOf(received)
}

/** Returns the request's bytes without the corrections of a library. */
function rawAttempt(
  target: Target,
  ask: TargetRequest,
  { headers = {}, target: line, method = 'POST' }: Attempt,
): string {
  const body = bodyFor(target, ask)
  const path = pathFor(target, ask)
  const all = {
    host: new URL(target.origin).host,
    ...headersFor(target, ask),
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${line?.(path) ?? path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

interface Found {
  tried: number
  reached: number
  readonly complaints: string[]
}

/** Makes the attempt. Whatever the gateway responds, an upstream call must have the usual destination. */
async function attempt(
  setting: CheckContext,
  target: Target,
  pair: Pair,
  usual: string,
  way: Attempt,
  found: Found,
): Promise<void> {
  const scene: Scene = setting.upstream.play(sendGoodResponse)
  const ask: TargetRequest = {
    ...pair,
    text: scene.marker,
    ...(way.model === undefined ? {} : { model: way.model }),
    ...(way.more === undefined ? {} : { more: way.more }),
  }
  await rawExchange(target, [rawAttempt(target, ask, way)], 5000)
  scene.end()
  found.tried++
  found.reached += scene.calls.length
  for (const received of scene.calls)
    if (placeOf(received) !== usual)
      found.complaints.push(`${pair.client} to ${pair.upstream}, ${way.name}: the call went to ${placeOf(received)}`)
}

const attemptsOf = (trap: Trap, model: string, short: boolean): readonly Attempt[] => [
  ...Object.entries(hostHeaders(trap)).map(([name, value]) => ({ name, headers: { [name]: value } })),
  { name: 'all headers', headers: hostHeaders(trap) },
  { name: 'the host header', headers: { host: trap.host } },
  ...(short
    ? []
    : Object.entries(hostFields(trap)).map(([name, value]) => ({ name: `field ${name}`, more: { [name]: value } }))),
  { name: 'all fields', more: hostFields(trap) },
  ...hostModels(trap, model).map((name) => ({ name: `model ${name}`, model: name })),
  ...targets(trap),
  { name: 'CONNECT', method: 'CONNECT', target: () => trap.host },
  { name: 'TRACE', method: 'TRACE' },
]

/** Names that match a pattern come from clients and may contain anything. */
async function openNames(setting: CheckContext, trap: Trap, found: Found): Promise<void> {
  const models = Object.fromEntries(formats.map((format) => [`any-${format}/*`, { upstream: format, model: '*' }]))
  const target = await setting.fresh({ models })
  if (target === undefined) return
  const pairs = formats.map((format) => ({ client: format, upstream: format }))
  for (const pair of pairs) {
    // The name may become one or more segments below the same path, and nothing else.
    const good = pair.upstream === 'gemini' ? /^\/v1beta\/models\/[^?#\\]+:generateContent$/ : undefined
    const usual = await usualPlace(setting, pair)
    for (const name of hostModels(trap, 'm')) {
      const scene = setting.upstream.play(sendGoodResponse)
      const answer = await exchange(target, { ...pair, text: scene.marker, model: `any-${pair.upstream}/${name}` })
      scene.end()
      found.tried++
      found.reached += scene.calls.length
      for (const received of scene.calls) {
        const { path } = received
        const segments = path.split('/').map((segment) => decodeURIComponent(segment))
        const strays = segments.some((segment) => segment === '..' || segment === '.' || segment.includes('\\..'))
        if (good === undefined ? placeOf(received) !== usual : !good.test(path) || strays)
          found.complaints.push(`model any-${pair.upstream}/${name}: the call went to ${placeOf(received)}`)
      }
      if (answer.status >= 500) found.complaints.push(`model any-${pair.upstream}/${name}: status ${answer.status}`)
    }
  }
}

/** URLs of images, files and tools are plain text: the gateway forwards or rejects them, but never fetches them. */
async function sendMedia(setting: CheckContext, trap: Trap, found: Found): Promise<number> {
  const { target, upstream } = setting
  const jobs = target.pairs.flatMap((pair) => mediaOf(pair.client, trap.origin).map((media) => ({ pair, ...media })))
  await inParallel(jobs, 8, async ({ pair, name, body }) => {
    const scene = upstream.play(sendGoodResponse)
    const ask: TargetRequest = { ...pair, text: scene.marker }
    const own = JSON.parse(bodyFor(target, ask)) as Record<string, unknown>
    await exchange(target, { ...ask, body: JSON.stringify({ ...own, ...body(scene.marker) }) })
    scene.end()
    found.tried++
    if (scene.calls.length > 1)
      found.complaints.push(`${pair.client} to ${pair.upstream}, ${name}: ${scene.calls.length} calls`)
  })
  return jobs.length
}

/** Clients must not influence the destination of upstream calls. */
export const chosenHost: Check = {
  row: 38,
  group: 'Auth and secrets',
  title: 'No client-chosen host',
  promise: 'headers/body/config cannot alter the upstream origin; image URLs never fetched by default',
  perServer: true,
  async run(setting) {
    const { target, short } = setting
    const trap = await startTrap()
    const found: Found = { tried: 0, reached: 0, complaints: [] }
    try {
      const pairs = short ? target.pairs.filter(({ client, upstream }) => client === upstream) : target.pairs
      for (const pair of pairs) {
        const usual = await usualPlace(setting, pair)
        if (usual === undefined) {
          found.complaints.push(`${pair.client} to ${pair.upstream}: no call reached the upstream`)
          continue
        }
        const ways = attemptsOf(trap, target.model(pair.upstream as Format), short)
        await inParallel(ways, 8, (way) => attempt(setting, target, pair, usual, way, found))
      }
      await openNames(setting, trap, found)
      const media = await sendMedia(setting, trap, found)
      // Time for delayed fetches.
      await sleep(500)
      if (trap.connections > 0)
        found.complaints.push(...trap.requestLines.map((line) => `the trap was called: ${line}`))
      return {
        held: found.complaints.length === 0 && trap.connections === 0,
        figure: `${trap.connections} calls to the trap; ${found.tried - media} attempts, of which ${found.reached} reached the upstream, ${found.complaints.length} at a wrong destination; ${media} bodies with media URLs, none fetched`,
        notes: tally(found.complaints),
      }
    } finally {
      await trap.close()
    }
  },
}

/** A server that must never be called. */
export interface Trap {
  readonly port: number
  /** `127.0.0.1:port`. */
  readonly host: string
  readonly origin: string
  /** Number of connections. */
  readonly connections: number
  /** First lines of the received requests. */
  readonly requestLines: readonly string[]
  close(): Promise<void>
}

async function startTrap(): Promise<Trap> {
  let dials = 0
  const received: string[] = []
  const server = createServer((socket) => {
    dials++
    socket.on('error', () => {})
    socket.once('data', (data) => {
      received.push(data.toString('latin1').split('\r\n', 1)[0]?.slice(0, 120) ?? '')
      socket.end(
        'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}',
      )
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const host = `127.0.0.1:${port}`
  return {
    port,
    host,
    origin: `http://${host}`,
    get connections() {
      return dials
    },
    requestLines: received,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
