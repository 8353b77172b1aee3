/** Parts of raw requests: a path with a body, the headers of a call, and bodies with the scene's marker. */
export interface Words {
  readonly path: string
  /** Headers of a call without its length, each with its line end. */
  readonly headers: string
  readonly host: string
  readonly body: string
  /** A complete good request: if it is smuggled in, it reaches the upstream. */
  readonly hidden: string
}

export interface RawCase {
  readonly name: string
  readonly steps: (words: Words) => string
  /** 0 means that the connection is closed without a response. */
  readonly expected: readonly number[]
}

const post = ({ path, host, headers }: Words, more: string): string =>
  `POST ${path} HTTP/1.1\r\nhost: ${host}\r\n${headers}${more}\r\n`
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
const chunkedBody = (body: string): string => `${chunk(body)}0\r\n\r\n`
const length = (body: string): string => `content-length: ${Buffer.byteLength(body)}\r\n`

const refused = [400] as const
/** Node rejects with 400; closing the connection is just as safe. */
const orClosed = [400, 0] as const

const raw = (name: string, steps: RawCase['steps'], expected: readonly number[] = refused): RawCase => ({
  name,
  steps,
  expected,
})

/** A good call with headers that frame it in two ways, followed by another call. */
const framedBy = (name: string, headers: (words: Words) => string, expected?: readonly number[]): RawCase =>
  raw(name, (words) => post(words, headers(words)) + chunkedBody(words.body) + words.hidden, expected)

const badChunk = (name: string, body: (words: Words) => string, expected?: readonly number[]): RawCase =>
  raw(name, (words) => post(words, 'transfer-encoding: chunked\r\n') + body(words) + words.hidden, expected)

const withLength = (name: string, value: (body: string) => string, expected?: readonly number[]): RawCase =>
  raw(name, (words) => post(words, `content-length: ${value(words.body)}\r\n`) + words.body + words.hidden, expected)

/** Requests that two readers would frame differently, and invalid heads. */
export const frames: readonly RawCase[] = [
  framedBy('CL and TE', () => 'content-length: 4\r\ntransfer-encoding: chunked\r\n'),
  framedBy('TE and CL', () => 'transfer-encoding: chunked\r\ncontent-length: 4\r\n'),
  framedBy('CL of the whole and TE', ({ body }) => `${length(chunkedBody(body))}transfer-encoding: chunked\r\n`),
  framedBy('CL 0 and TE', () => 'content-length: 0\r\ntransfer-encoding: chunked\r\n'),
  raw('two CLs that differ', (words) => `${post(words, `content-length: 4\r\n${length(words.body)}`)}${words.body}`),
  raw('two CLs that agree', (words) => `${post(words, length(words.body).repeat(2))}${words.body}`),
  withLength('CL as a list', (body) => `${body.length}, ${body.length}`),
  withLength('CL with a plus', (body) => `+${body.length}`),
  withLength('CL with a minus', (body) => `-${body.length}`),
  withLength('CL in hexadecimal', (body) => `0x${body.length.toString(16)}`),
  withLength('CL with a dot', (body) => `${body.length}.0`),
  withLength('CL with a blank within', (body) => `${String(body.length)[0]} ${String(body.length).slice(1)}`),
  withLength('CL of nothing', () => ''),
  withLength('CL in words', () => 'many'),
  framedBy('TE: xchunked', () => 'transfer-encoding: xchunked\r\n'),
  framedBy('TE: identity', () => 'transfer-encoding: identity\r\n'),
  framedBy('TE: chunked, identity', () => 'transfer-encoding: chunked, identity\r\n'),
  framedBy('TE twice, the last not chunked', () => 'transfer-encoding: chunked\r\ntransfer-encoding: gzip\r\n'),
  framedBy('TE with a blank before the colon', () => 'transfer-encoding : chunked\r\n'),
  framedBy('TE with a tab before', () => '\ttransfer-encoding: chunked\r\n'),
  framedBy('TE folded', () => 'transfer-encoding:\r\n chunked\r\n', [400, 200]),
  framedBy('TE with a NUL', () => 'transfer-encoding: chunked\0\r\n'),
  framedBy('TE behind a bare CR', () => 'x: y\rtransfer-encoding: chunked\r\n'),
  framedBy('TE behind a bare LF', () => 'x: y\ntransfer-encoding: chunked\r\n', [400, 200]),
  badChunk('a chunk of size -1', () => '-1\r\n\r\n'),
  badChunk('a chunk of size zz', () => 'zz\r\n\r\n'),
  badChunk('a chunk of size 0x5', () => '0x5\r\nhello\r\n0\r\n\r\n'),
  badChunk('a chunk larger than all', () => 'ffffffffffffffffff\r\n\r\n'),
  badChunk('a chunk longer than its length', ({ body }) => `5\r\n${body}\r\n0\r\n\r\n`),
  badChunk('a chunk behind a bare LF', ({ body }) => `${body.length.toString(16)}\n${body}\n0\n\n`),
  badChunk('a chunk with a bare CR for its end', ({ body }) => `${body.length.toString(16)}\r\n${body}\rX0\r\n\r\n`),
  badChunk(
    'a chunk whose extension never ends',
    ({ body }) => `${body.length.toString(16)};${'x'.repeat(100_000)}\r\n`,
    [...orClosed, 413, 431],
  ),
  raw('line feeds alone', (words) => `${post(words, length(words.body)).replaceAll('\r\n', '\n')}${words.body}`),
  raw('carriage returns alone', (words) => `${post(words, length(words.body)).replaceAll('\r\n', '\r')}${words.body}`),
  raw('a folded header', (words) => `${post(words, `x-folded: a\r\n b\r\n${length(words.body)}`)}${words.body}`),
  raw('a folded first header', (words) => `POST ${words.path} HTTP/1.1\r\n x: y\r\nhost: ${words.host}\r\n\r\n`),
  raw('a header without a colon', (words) => `${post(words, `nonsense\r\n${length(words.body)}`)}${words.body}`),
  raw('a header without a name', (words) => `${post(words, `: x\r\n${length(words.body)}`)}${words.body}`),
  raw('a header with a blank in its name', (words) => `${post(words, `x y: z\r\n${length(words.body)}`)}${words.body}`),
  raw('a NUL in a header', (words) => `${post(words, `x: a\0b\r\n${length(words.body)}`)}${words.body}`),
  raw('no Host', (words) => `POST ${words.path} HTTP/1.1\r\n${words.headers}${length(words.body)}\r\n${words.body}`),
  raw('a NUL in the path', (words) => post({ ...words, path: `${words.path}\0x` }, length(words.body)) + words.body),
  raw('a blank in the path', (words) => post({ ...words, path: `${words.path} x` }, length(words.body)) + words.body),
  raw('a method that there is not', (words) => post(words, length(words.body)).replace('POST', 'PSOT') + words.body),
  raw('HTTP/9.9', (words) => post(words, length(words.body)).replace('HTTP/1.1', 'HTTP/9.9') + words.body),
  raw('HTTP/2 in plain text', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', orClosed),
  raw('TLS', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', orClosed),
  raw('not HTTP at all', () => 'hello?\r\n\r\n', orClosed),
  raw('a tunnel', ({ host }) => `CONNECT internal:22 HTTP/1.1\r\nhost: ${host}\r\n\r\n`, [400, 404, 405, 0]),
]

/** Oversized heads: the server's own 431. */
export const largeHeads: readonly RawCase[] = [
  raw(
    'a header of 20 kB',
    (words) => `${post(words, `x: ${'y'.repeat(20_000)}\r\n${length(words.body)}`)}${words.body}`,
    [431],
  ),
  raw('a credential of 20 kB', (words) => `${post(words, `x-api-key: ${'k'.repeat(20_000)}\r\n`)}`, [431]),
  raw(
    'two thousand headers',
    (words) => post(words, Array.from({ length: 2000 }, (_, i) => `x-${i}: yyyyyy\r\n`).join('')),
    [431],
  ),
  raw('a name of a header of 20 kB', (words) => post(words, `${'x'.repeat(20_000)}: y\r\n`), [431]),
  raw('a path of 20 kB', (words) => post({ ...words, path: `${words.path}?${'x'.repeat(20_000)}` }, ''), [431, 414]),
  raw('a head without an end', (words) => post(words, `x: ${'y'.repeat(200_000)}`), [431]),
  raw(
    'a trailer of 40 kB',
    (words) => `${post(words, 'transfer-encoding: chunked\r\n')}${chunk('{}')}0\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`,
    [400, 431],
  ),
]

/**
 * A second request within the body of the first: a server that rejects the first without reading it must not take its
 * body for the next request.
 */
export const hiding: readonly RawCase[] = [
  raw(
    'in the body of a 404',
    (words) => post({ ...words, path: '/v1/nothing' }, length(words.hidden)) + words.hidden,
    [404, 400, 502],
  ),
  raw(
    'in the body of a 405',
    (words) => `PUT${post(words, length(words.hidden)).slice(4)}${words.hidden}`,
    [405, 501, 502],
  ),
  raw(
    'in the body of a 401',
    (words) => post({ ...words, headers: '' }, length(words.hidden)) + words.hidden,
    [401, 400, 415, 502],
  ),
  raw(
    'in the body of a 415',
    (words) => post(words, length(words.hidden)).replace('application/json', 'text/plain') + words.hidden,
    [415, 400],
  ),
  raw('in a body of invalid JSON', (words) => post(words, length(words.hidden)) + words.hidden, [400]),
  raw(
    'in chunks of invalid JSON',
    (words) => post(words, 'transfer-encoding: chunked\r\n') + chunkedBody(words.hidden),
    [400],
  ),
  raw(
    'in the body of a GET',
    (words) =>
      `GET /v1/models HTTP/1.1\r\nhost: ${words.host}\r\n${words.headers}${length(words.hidden)}\r\n${words.hidden}`,
    [200, 400, 404, 502],
  ),
  raw(
    'in the body of a HEAD',
    (words) =>
      `HEAD /v1/models HTTP/1.1\r\nhost: ${words.host}\r\n${words.headers}${length(words.hidden)}\r\n${words.hidden}`,
    [200, 400, 404, 405, 502],
  ),
]
