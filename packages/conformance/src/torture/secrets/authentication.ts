import { objectOf, parseJson, textOf } from '../../base/json.ts'
import type { Format } from '../../base/recorded-traffic.ts'
import { sleep } from '../../base/upstream-responses.ts'
import type { Check, CheckContext, GatewayRoute, LocalGateway, Outcome, Target } from '../check.ts'
import { bodyFor, rawExchange } from '../client.ts'
import { inParallel, tally } from '../measurements.ts'
import { readError } from '../read-responses.ts'
import {
  bearer,
  type CallOutcome,
  type Carrier,
  call,
  carriers,
  generationPaths,
  inFolder,
  withoutCredential,
  withTokens,
} from './callers.ts'

/** A route to attack. */
interface AttackedRoute {
  readonly method: string
  readonly path: string
  readonly format: Format
  readonly formatByHeader: Readonly<Record<string, Format>>
  readonly queryKey: boolean
  readonly operation: string
}

/** An invalid credential. */
interface Bad {
  readonly name: string
  readonly token: string
}

const fixedRoutes: readonly GatewayRoute[] = Object.entries(generationPaths).map(([format, path]) => ({
  method: 'POST',
  path,
  operation: 'generate',
  format: format as Format,
  formatByHeader: {},
  bare: false,
  queryKey: format === 'gemini',
  protocolKey: false,
}))

/**
 * Returns every route in every accepted spelling: without its version, with one too many, with a trailing slash, HEAD
 * for GET.
 */
function doorsOf(routes: readonly GatewayRoute[], target: Target, short: boolean): AttackedRoute[] {
  return routes.flatMap(({ method, path, operation, format, formatByHeader, bare, queryKey }) => {
    const whole = path
      .replace('{model}', target.model('gemini'))
      .replace('{id}', 'resp_0')
      .replaceAll(/\{\w+\}/g, 'name')
    const doubled = /^\/v1(?:beta)?\//.test(whole) ? [`/v1${whole}`] : []
    const paths = short ? [whole] : [whole, `${whole}/`, ...doubled, ...(bare ? [whole.slice(3)] : [])]
    const methods = method === 'GET' ? ['GET', 'HEAD'] : [method]
    return methods.flatMap((method) =>
      paths.map((path) => ({ method, path, operation, format, formatByHeader, queryKey })),
    )
  })
}

/** Returns whether a route is one of Bedrock's, whose clients the rest of the kit does not have. */
const isBedrock = (format: string): boolean => format === 'converse'

/** Returns a body that the operation accepts. */
function bodyOf(target: Target, { operation, format }: Pick<AttackedRoute, 'operation' | 'format'>): string {
  if (isBedrock(format)) return JSON.stringify({ messages: [{ role: 'user', content: [{ text: 'hello' }] }] })
  if (operation === 'generate') return bodyFor(target, { client: format, upstream: format, text: 'hello' })
  const model = target.model(format)
  return JSON.stringify({
    model,
    input: 'hello',
    prompt: 'hello',
    query: 'hello',
    documents: ['hello'],
    voice: 'alloy',
  })
}

/** Returns the dialect of an authentication error. One path serves three dialects, selected by headers. */
const dialectOf = ({ format, formatByHeader }: AttackedRoute, carrier: Carrier | undefined): Format =>
  formatByHeader[carrier?.name ?? ''] ?? format

async function knock(
  target: Target,
  door: AttackedRoute,
  carrier: Carrier | undefined,
  token: string,
): Promise<string | undefined> {
  const query = carrier?.query(token) ?? ''
  const bodied = door.method !== 'GET' && door.method !== 'HEAD'
  const answer = await call(
    target,
    door.method,
    query === '' ? door.path : `${door.path}?${query}`,
    {
      ...withoutCredential(target, door.format),
      ...(bodied ? { 'content-type': 'application/json' } : {}),
      ...(door.format === 'messages' ? { 'anthropic-version': '2023-06-01' } : {}),
      ...carrier?.headers(token),
    },
    bodied ? bodyOf(target, door) : undefined,
  )
  const wrong = notRefused(door, carrier, answer)
  if (wrong !== undefined) return wrong
  return token.length > 8 && answer.text.includes(token) ? `${answer.status} repeats the token` : undefined
}

/** Google's error for an invalid key is a 400 with a reason, which its clients rely on (docs/reference/errors.md). */
const isBadKey = (text: string): boolean => text.includes('"reason":"API_KEY_INVALID"')

function notRefused(door: AttackedRoute, carrier: Carrier | undefined, answer: CallOutcome): string | undefined {
  const { status, text } = answer
  const format = dialectOf(door, carrier)
  const refusal = status === 401 || status === 403
  // A HEAD response has only a status.
  if (door.method === 'HEAD' && (refusal || (status === 400 && format === 'gemini'))) return undefined
  if (!refusal && !(status === 400 && format === 'gemini' && isBadKey(text)))
    return `returned status ${status} ${text.slice(0, 80).replaceAll(/\s+/g, ' ')}`
  const isInDialect = isBedrock(format)
    ? textOf(objectOf(parseJson(text)).message) !== ''
    : readError(format, answer) !== undefined
  return !isInDialect ? `${status} not in the dialect: ${text.slice(0, 80)}` : undefined
}

const handshake = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dG9ydHVyZS10b3J0dXJlIQ==',
]

/** Returns the opening of a WebSocket as raw bytes. @param more header lines */
const opening = (target: Target, query: string, more: readonly string[]): string =>
  `${[
    `GET /v1/realtime?model=${target.model('chat')}${query} HTTP/1.1`,
    `Host: ${new URL(target.origin).host}`,
    ...Object.entries(withoutCredential(target)).map(([name, value]) => `${name}: ${value}`),
    ...handshake,
    ...more,
  ].join('\r\n')}\r\n\r\n`

async function knockByUpgrade(target: Target, query: string, more: readonly string[]): Promise<string | undefined> {
  const { status, raw } = await rawExchange(target, [opening(target, query, more)], 2000)
  if (status !== 401 && status !== 403) return `returned status ${status}`
  const text = raw.slice(raw.indexOf('\r\n\r\n') + 4)
  return readError('chat', { status, text }) === undefined ? `${status} not in the dialect` : undefined
}

const subprotocol = (token: string): string => `Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.${token}`

async function knockEverywhere(
  { upstream, short }: CheckContext,
  target: Target,
  routes: readonly GatewayRoute[],
  bad: readonly Bad[],
): Promise<{ total: number; complaints: string[]; reached: number }> {
  const before = upstream.requests
  const connections = await upstream.connections()
  const complaints: string[] = []
  const knocks = doorsOf(routes, target, short).flatMap((door) => [
    { door, carrier: undefined, name: 'no token', token: '' },
    ...carriers.flatMap((carrier) => bad.map(({ name, token }) => ({ door, carrier, name, token }))),
  ])
  const answers = await inParallel(knocks, 16, ({ door, carrier, token }) => knock(target, door, carrier, token))
  for (const [place, wrong] of answers.entries()) {
    if (wrong === undefined) continue
    const { door, carrier, name } = knocks[place] as (typeof knocks)[number]
    complaints.push(
      `${door.method} ${door.path}, ${name}${carrier === undefined ? '' : ` as ${carrier.name}`}: ${wrong}`,
    )
  }
  const upgrades = [
    { name: 'no token', query: '', more: [] as string[] },
    ...bad.flatMap(({ name, token }) => [
      ...carriers.map((carrier) => ({
        name: `${name} as ${carrier.name}`,
        query: carrier.query(token) === '' ? '' : `&${carrier.query(token)}`,
        more: Object.entries(carrier.headers(token)).map(([header, value]) => `${header}: ${value}`),
      })),
      { name: `${name} as subprotocol`, query: '', more: [subprotocol(token)] },
    ]),
  ]
  for (const { name, query, more } of upgrades) {
    const wrong = await knockByUpgrade(target, query, more)
    if (wrong !== undefined) complaints.push(`WebSocket, ${name}: ${wrong}`)
  }
  const reached = upstream.requests - before
  const dialled = (await upstream.connections()) - connections
  if (reached > 0) complaints.push(`${reached} requests reached the upstream`)
  if (dialled > 0) complaints.push(`${dialled} connections to the upstream were opened`)
  return { total: knocks.length + upgrades.length, complaints, reached }
}

/** The valid token must be accepted on the same routes, otherwise the rejections prove nothing. */
async function openDoors(setting: CheckContext, target: Target, secret: string): Promise<string[]> {
  const path = generationPaths.gemini.replace('{model}', target.model('gemini'))
  const complaints: string[] = []
  for (const carrier of carriers) {
    const query = carrier.query(secret)
    const headers = { 'content-type': 'application/json', ...carrier.headers(secret) }
    const at = query === '' ? path : `${path}?${query}`
    const { status } = await call(
      target,
      'POST',
      at,
      headers,
      bodyOf(target, { operation: 'generate', format: 'gemini' }),
    )
    if (status !== 200) complaints.push(`the valid token as ${carrier.name}: status ${status}`)
  }
  const before = setting.upstream.requests
  await rawExchange(target, [opening(target, '', [subprotocol(secret)])], 2000)
  if (setting.upstream.requests === before) complaints.push('the valid token as subprotocol: no upstream connection')
  // URLs end up in logs: the query is accepted only for clients that have no other way.
  const misplaced = await call(
    target,
    'POST',
    `/v1/chat/completions?${inQueryOf(secret)}`,
    { 'content-type': 'application/json' },
    bodyOf(target, { operation: 'generate', format: 'chat' }),
  )
  if (misplaced.status !== 401)
    complaints.push(`the valid token in the query of chat completions: status ${misplaced.status}`)
  return complaints
}

const inQueryOf = (secret: string): string => `key=${encodeURIComponent(secret)}`

/** A model that a token may not use must look like a missing one, so that names are not revealed. */
async function knockAtModels({ upstream }: CheckContext, target: Target, secret: string): Promise<string[]> {
  const before = upstream.requests
  const complaints: string[] = []
  for (const [format, path] of Object.entries(generationPaths)) {
    const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...bearer.headers(secret) }
    const at = path.replace('{model}', target.model('gemini'))
    const answer = await call(
      target,
      'POST',
      at,
      headers,
      bodyOf(target, { operation: 'generate', format: format as Format }),
    )
    if (![401, 403, 404].includes(answer.status))
      complaints.push(`a forbidden model, ${format}: status ${answer.status}`)
  }
  if (upstream.requests !== before) complaints.push('a forbidden model: the upstream was called')
  return complaints
}

async function asOwner(setting: CheckContext, folder: string): Promise<Outcome | undefined> {
  const target = await withTokens(setting, `${folder}/ours`)
  const other = await withTokens(setting, `${folder}/theirs`)
  if (target === undefined || other === undefined) return undefined
  const { local }: { local: LocalGateway } = target
  const good = await local.issue({ owner: 'ours' })
  const revoked = await local.issue({})
  await local.revoke(revoked.id)
  const expired = await local.issue({ expiresAt: Date.now() + 300 })
  const narrow = await local.issue({ models: ['none-of-these'] })
  const foreign = await other.local.issue({ owner: 'theirs' })
  await sleep(400)
  const bad: readonly Bad[] = [
    { name: 'malformed token', token: 'mg-not-a-token' },
    { name: 'mistyped token', token: `${good.secret.slice(0, -1)}${good.secret.endsWith('0') ? '1' : '0'}` },
    { name: 'revoked token', token: revoked.secret },
    { name: 'expired token', token: expired.secret },
    { name: "other tenant's token", token: foreign.secret },
  ]
  const { total, complaints, reached } = await knockEverywhere(setting, target, await local.routes(), bad)
  complaints.push(
    ...(await openDoors(setting, target, good.secret)),
    ...(await knockAtModels(setting, target, narrow.secret)),
  )
  return figureOf(total, complaints, (await local.routes()).length, reached)
}

const figureOf = (total: number, complaints: readonly string[], routes: number, reached: number): Outcome => ({
  held: complaints.length === 0,
  figure:
    `${total - Math.min(total, complaints.length)}/${total} rejected in the dialect (401, 403, Google's 400 API_KEY_INVALID),` +
    `${routes} routes and the WebSocket, ${reached} upstream calls`,
  notes: tally(complaints),
})

/** A client without a valid token gets nothing on any route. */
export const authentication: Check = {
  row: 35,
  group: 'Auth and secrets',
  title: 'Every route and WebSocket upgrade without, or with a bad, expired, revoked or other tenant’s token',
  promise: '401/403 in dialect, 0 upstream dials; all 5 carriers (Bearer, x-api-key, x-goog-api-key, api-key, ?key=)',
  perServer: true,
  async run(setting) {
    const ours = await inFolder((folder) => asOwner(setting, folder))
    if (ours !== undefined) return ours
    const bad = [{ name: 'bad token', token: 'wrong-token-5b1f0e22' }]
    const { total, complaints, reached } = await knockEverywhere(setting, setting.target, fixedRoutes, bad)
    return figureOf(total, complaints, fixedRoutes.length, reached)
  },
}
