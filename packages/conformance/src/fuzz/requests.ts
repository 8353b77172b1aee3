import { type ClientFormat, clientFormatRows, clientFormats, pathOf, queryOf } from '../base/client-formats.ts'
import type { JsonObject } from '../base/json.ts'
import { formats } from '../base/recorded-traffic.ts'
import { bodies } from './bodies.ts'
import { mutateBytes } from './byte-mutations.ts'
import { mutateJson, type Node, nodeOf, pick, type Step } from './json-mutations.ts'
import { operationCalls } from './operations.ts'

/** A request before its mutations. */
interface Base {
  readonly path: string
  readonly query: string
  readonly dialect: ClientFormat
  /** A format or another upstream; the model `<upstream>-model` leads to it. */
  readonly upstream: string
  readonly body: Node
  readonly generates: boolean
}

const named = (body: JsonObject, model: string): JsonObject =>
  JSON.parse(JSON.stringify(body).replaceAll('{model}', model)) as JsonObject

/** @param model returns the gateway's model name for an upstream */
export const requestBases = (model: (upstream: string) => string, withOperations: boolean): readonly Base[] => {
  const generations = clientFormats.flatMap((client) =>
    formats.flatMap((upstream) =>
      bodies[client].map((body, place) => {
        const requested = {
          model: model(upstream),
          stream: clientFormatRows[client].inPath ? place > 0 : body.stream === true,
        }
        return {
          path: pathOf(client, requested),
          query: queryOf(client, requested),
          dialect: client,
          upstream,
          body: nodeOf(clientFormatRows[client].inPath ? body : { model: requested.model, ...body }),
          generates: true,
        }
      }),
    ),
  )
  const operations = operationCalls.flatMap(({ path, dialect, models, body }) =>
    models.map((upstream) => {
      const name = model(upstream)
      const inPath = path.includes('{model}') || JSON.stringify(body).includes('{model}')
      return {
        path: path.replaceAll('{model}', encodeURIComponent(name)),
        query: '',
        dialect,
        upstream,
        body: nodeOf(named(inPath ? body : { model: name, ...body }, name)),
        generates: false,
      }
    }),
  )
  return withOperations ? [...generations, ...generations, ...operations] : generations
}

const contentTypes: readonly string[] = [
  ...[
    'text/plain',
    'application/json; charset=utf-8',
    'application/json;charset=latin1',
    '',
    ';',
    'application/',
    'json',
  ],
  ...[
    'multipart/form-data',
    'multipart/form-data; boundary=a',
    'application/x-www-form-urlencoded',
    'application/vnd.a+json',
  ],
  ...['APPLICATION/JSON', 'application/json, text/plain', 'a'.repeat(3000), 'application/json; q="\\"'],
]
const headerChanges: readonly (readonly [string, string])[] = [
  ...contentTypes.map((type) => ['content-type', type] as const),
  ...['', '*', 'text/event-stream', 'application/xml;q=0', 'a'.repeat(2000)].map((value) => ['accept', value] as const),
  ...['reject', 'warn', 'ignore', 'REJECT', '', 'x', '\u00ff', '__proto__'].map(
    (value) => ['modelgate-on-loss', value] as const,
  ),
  ...['', '2023-06-01', 'yesterday', '9999-99-99', '2023-06-01, 2023-06-01', '0000-00-00'].map(
    (value) => ['anthropic-version', value] as const,
  ),
  ...['', 'a,b', 'x'.repeat(1000), '\u00e9'].map((value) => ['anthropic-beta', value] as const),
  ...['gzip', 'identity', 'br, gzip', ''].map((value) => ['content-encoding', value] as const),
  ...['', '-1', '1e9', 'x'].map((value) => ['x-stainless-retry-count', value] as const),
  ...['', 'req', 'x'.repeat(500)].map((value) => ['x-request-id', value] as const),
  ...['', 'key-1', '\u00ff'.repeat(200)].map((value) => ['idempotency-key', value] as const),
  ...['', '00-0-0-00', 'garbage'].map((value) => ['traceparent', value] as const),
  ...['', 'Bearer', 'Bearer ', 'bearer  x', 'Basic YTpi', 'Digest', '\u00ff'].map(
    (value) => ['authorization', value] as const,
  ),
]
const queries: readonly string[] = [
  ...[
    'alt=sse',
    'alt=json',
    'alt',
    '=',
    '&&&',
    '%',
    '%ff',
    'key=',
    'key=%00',
    'key=a&key=b',
    'modelgate=explain',
    'modelgate=',
  ],
  ...['a'.repeat(4000), 'alt=sse&alt=x', '__proto__=1', 'alt=%73se', '?', 'api-version=2024', 'beta=true'],
]
const segments: readonly string[] = [
  ...[
    '%',
    '%ff',
    '%00',
    '..%2f..',
    '..',
    'models%2Fa',
    'a:b',
    ':',
    '%3A',
    '*',
    '__proto__',
    'constructor',
    'a'.repeat(3000),
  ],
  ...['%F0%9F%98%80', '%ED%A0%80', 'a%0d%0ab', ' ', 'a//b', 'tunedModels/x', '{model}', '%7Bmodel%7D', 'null'],
]

/** The numbers that determine a request. */
export interface RequestRecipe {
  readonly base: number
  readonly steps: readonly Step[]
  readonly bytes: readonly Step[]
  /** Usually empty, because an invalid head ends most calls. */
  readonly head: readonly Step[]
}

export interface FuzzRequest {
  readonly path: string
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly dialect: ClientFormat
  readonly upstream: string
  readonly generates: boolean
}

export function requestOf(bases: readonly Base[], { base, steps, bytes, head }: RequestRecipe): FuzzRequest {
  const { path, query, dialect, upstream, body, generates } = pick(bases, base)
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    ...(dialect === 'messages' ? { 'anthropic-version': '2023-06-01' } : {}),
  }
  const address = { path, query }
  for (const [what, where, how] of head) {
    if (what % 4 === 0) address.query = pick(queries, how)
    else if (what % 4 === 1) address.path = respelled(address.path, where, how)
    else {
      const [name, value] = pick(headerChanges, how)
      headers[name] = value
    }
  }
  return { ...address, headers, body: mutateBytes(mutateJson(body, steps), bytes), dialect, upstream, generates }
}

/** Returns the path with another model or another version prefix. */
function respelled(path: string, where: number, how: number): string {
  const named = /^(.*\/models\/)(.+)(:\w+)$/.exec(path)
  if (named !== null) return `${named[1]}${pick(segments, how)}${named[3]}`
  return pick([path, `/v1${path}`, path.replace('/v1/', '/'), `${path}/`, `${path}/${pick(segments, how)}`], where)
}

const fatal = new TextDecoder('utf-8', { fatal: true })

/** Returns true for a JSON object that nests no deeper than this. */
export function isGood(body: Uint8Array, depth: number): boolean {
  try {
    const value: unknown = JSON.parse(fatal.decode(body))
    return typeof value === 'object' && value !== null && !Array.isArray(value) && levelsOf(value) <= depth
  } catch {
    return false
  }
}

/** Returns the nesting depth of objects and lists; without recursion, which deep values would overflow. */
export function levelsOf(value: unknown): number {
  let deepest = 0
  const open: { value: unknown; level: number }[] = [{ value, level: 1 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next.value !== 'object' || next.value === null) continue
    const { level } = next
    deepest = Math.max(deepest, level)
    for (const inner of Object.values(next.value)) open.push({ value: inner, level: level + 1 })
  }
  return deepest
}
