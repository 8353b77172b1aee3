import { pick } from './json-mutations.ts'

/** The delivery of an upstream response. */
export interface Play {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  readonly bytes: Uint8Array
  /** Chunk size in bytes; 0: one chunk. */
  readonly piece: number
  readonly ending: Ending
}

type Ending = 'end' | 'hang' | 'no response' | { readonly throws: unknown; readonly when: 'sync' | 'head' | 'body' }

const code = (name: string): Error => Object.assign(new Error(`connect ${name} 10.0.0.7:443`), { code: name })

/** Exceptions of transports, ordinary and unusual ones. */
const thrown: readonly unknown[] = [
  ...[
    new Error('ECONNRESET'),
    new TypeError('fetch failed', { cause: code('ECONNREFUSED') }),
    code('UND_ERR_CONNECT_TIMEOUT'),
  ],
  ...[code('UND_ERR_SOCKET'), code('ENOTFOUND'), code('CERT_HAS_EXPIRED'), new DOMException('gone', 'AbortError')],
  ...[
    undefined,
    null,
    'a text',
    0,
    false,
    Symbol('s'),
    {},
    [],
    Object.create(null),
    { code: 7 },
    { message: { a: 1 } },
  ],
  Object.assign(new Error('x'), { message: undefined, stack: undefined, cause: null }),
  Object.freeze(new Error('frozen')),
]

const endings: readonly Ending[] = [
  ...Array.from({ length: 40 }, () => 'end' as const),
  'hang',
  'no response',
  ...thrown.map((throws) => ({ throws, when: 'body' }) as const),
  ...thrown.slice(0, 12).map((throws, at) => ({ throws, when: at % 2 === 0 ? 'sync' : 'head' }) as const),
]

const types: readonly string[] = [
  ...['application/json', 'application/json; charset=utf-8', 'text/html', 'text/plain', '', 'application/octet-stream'],
  ...[
    'text/event-stream',
    'TEXT/EVENT-STREAM; charset=utf-8',
    'text/event-streamx',
    'audio/mpeg',
    'application/x-ndjson',
    ';;;',
  ],
]
const statuses: readonly number[] = [
  ...[
    200, 201, 202, 203, 204, 205, 206, 226, 299, 300, 301, 302, 304, 307, 308, 399, 400, 401, 402, 403, 404, 405, 406,
    408, 409,
  ],
  ...[410, 413, 415, 418, 422, 425, 429, 431, 451, 499, 500, 501, 502, 503, 504, 507, 511, 520, 524, 529, 599],
]
const more: readonly (readonly [string, string])[] = [
  ...['0', '-1', '1e9', 'x', '', 'Wed, 21 Oct 2099 07:28:00 GMT', '3, 4', '99999999999999999999', 'NaN', '0.5'].map(
    (value) => ['retry-after', value] as const,
  ),
  ...['', 'x', '-7', '1e400'].map((value) => ['retry-after-ms', value] as const),
  ...['true', 'false', ''].map((value) => ['x-should-retry', value] as const),
  ...['', 'req_1', '\u00ff', 'x'.repeat(3000)].map((value) => ['x-request-id', value] as const),
  ...['http://10.0.0.7/', '', '//evil.example'].map((value) => ['location', value] as const),
  ...['0', '5', '99999999', 'x', ''].map((value) => ['content-length', value] as const),
  ...['gzip', 'identity', 'x'].map((value) => ['content-encoding', value] as const),
  ...['a=b', ''].map((value) => ['set-cookie', value] as const),
  ['transfer-encoding', 'chunked'],
]
const bodiless = new Set([204, 205, 304])

/** The numbers that determine the delivery of a response. */
export interface PlayRecipe {
  /** Mutations of the status, the content type and one more header; a missing entry leaves the default. */
  readonly head: readonly number[]
  readonly cuts: number
  readonly ending: number
}

/** @param good the expected content type */
export function playOf(bytes: Uint8Array, { head, cuts, ending }: PlayRecipe, good: string): Play {
  const [status = 200, type = 0, header = 0] = head
  const given = head.length === 0 ? 200 : pick(statuses, status)
  const headers: (readonly [string, string])[] = [
    ['content-type', head.length > 1 ? pick(types, type) : good],
    ...(head.length > 2 ? [pick(more, header)] : []),
  ]
  return {
    status: given,
    headers,
    bytes: bodiless.has(given) ? new Uint8Array(0) : bytes,
    piece: pick([0, 0, 1, 7, 64, 500, 3], cuts),
    ending: bodiless.has(given) ? 'end' : pick(endings, ending),
  }
}

/** Returns the bytes that a completed delivery has sent; empty if it never starts. */
export const sentBytes = ({ bytes, ending }: Play): Uint8Array =>
  ending === 'no response' || (typeof ending === 'object' && ending.when !== 'body') ? new Uint8Array(0) : bytes

/** Delivers a response like `fetch`. May throw synchronously, as some transports do. */
export function play(
  { status, headers, bytes, piece, ending }: Play,
  signal: AbortSignal | null | undefined,
): Promise<Response> {
  const aborted = (): Promise<never> =>
    new Promise((_, reject) => {
      if (signal?.aborted) reject(signal.reason)
      signal?.addEventListener('abort', () => reject(signal.reason))
    })
  if (ending === 'no response') return aborted()
  if (typeof ending === 'object' && ending.when === 'sync') throw ending.throws
  if (typeof ending === 'object' && ending.when === 'head') return Promise.reject(ending.throws)
  if (bodiless.has(status))
    return Promise.resolve(new Response(null, { status, headers: headers as [string, string][] }))
  let at = 0
  // A million chunks would only be slow.
  const size = piece === 0 ? Math.max(1, bytes.length) : Math.max(piece, Math.ceil(bytes.length / 3000))
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (at < bytes.length) {
          controller.enqueue(bytes.slice(at, at + size))
          at += size
          return
        }
        if (ending === 'end') return controller.close()
        if (ending === 'hang') return aborted()
        controller.error(ending.throws)
      },
    },
    { highWaterMark: 0 },
  )
  return Promise.resolve(new Response(body, { status, headers: headers as [string, string][] }))
}
