import { connect } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'

/** The second response that a hostile upstream hides in the body of its first one. */
const hidden =
  'HTTP/1.1 200 OK\r\nx-hidden: yes\r\ncontent-type: application/json\r\ncontent-length: 14\r\n\r\n{"hidden":"x"}'

const response = (headers: readonly string[], body: Uint8Array | string): Buffer =>
  Buffer.concat([Buffer.from(['HTTP/1.1 200 OK', ...headers, '', ''].join('\r\n'), 'latin1'), Buffer.from(body)])

/** Returns a body whose hidden response begins at the length of its compressed form. */
function packed(pack: (body: string) => Buffer): Buffer {
  let filler = 100
  for (let round = 0; round < 100; round++) {
    const { length } = pack('a'.repeat(filler) + hidden)
    if (length === filler) break
    filler = length
  }
  return pack('a'.repeat(filler) + hidden)
}

const encoded = (encoding: string, pack: (body: string) => Buffer): Buffer => {
  const body = packed(pack)
  return response(['content-type: audio/mpeg', `content-encoding: ${encoding}`, `content-length: ${body.length}`], body)
}

const audio = 'content-type: audio/mpeg'
const chunked = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`

/** Raw responses of a hostile upstream to a download (`/audio/speech`). It closes the connection afterwards. */
export const hostileResponses: Readonly<Record<string, Buffer>> = {
  'gzip with the length of the compressed body': encoded('gzip', gzipSync),
  'GZIP in capitals': encoded('GZIP', gzipSync),
  'deflate with the length of the compressed body': encoded('deflate', deflateSync),
  'br with the length of the compressed body': encoded('br', brotliCompressSync),
  'gzip twice': encoded('gzip, gzip', (body) => gzipSync(gzipSync(body))),
  'truncated gzip': encoded('gzip', gzipSync).subarray(0, -20),
  'a body longer than its content-length': response([audio, 'content-length: 3'], `abc${hidden}`),
  'a body shorter than its content-length': response([audio, 'content-length: 500'], 'abc'),
  'two content-length headers': response(
    [audio, 'content-length: 3', `content-length: ${3 + hidden.length}`],
    `abc${hidden}`,
  ),
  'a content-length list': response([audio, `content-length: 3, ${3 + hidden.length}`], `abc${hidden}`),
  'a content-length that is not a number': response([audio, 'content-length: 0x3'], `abc${hidden}`),
  'a negative content-length': response([audio, 'content-length: -3'], `abc${hidden}`),
  'a content-length with chunked encoding': response(
    [audio, 'content-length: 3', 'transfer-encoding: chunked'],
    chunked(`abc${hidden}`),
  ),
  'a content-length in a folded line': response([audio, 'content-length:', ' 3'], `abc${hidden}`),
  'a content type with a line break': response(['content-type: audio/mpeg', ' \r x-hidden: yes'], 'abc'),
  'a content type with a bare carriage return': response(['content-type: audio/mpeg\rx-hidden: yes'], 'abc'),
  'a content type with control characters': response(['content-type: audio/mpeg\x01\x7f'], 'abc'),
  'a web page with a content type in capitals': response(['content-type: TEXT/HTML'], '<script>hidden</script>'),
}

/** One response as a client reads it. */
export interface ReadResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** True if it ended by its length or its last chunk. */
  readonly isComplete: boolean
}

/** Splits the bytes of a connection into responses like any client. */
export function cutResponses(bytes: Buffer): readonly ReadResponse[] {
  const found: ReadResponse[] = []
  let rest = bytes.toString('latin1')
  while (rest !== '') {
    const headEnd = rest.indexOf('\r\n\r\n')
    if (headEnd < 0) return [...found, { status: 0, headers: {}, body: rest, isComplete: false }]
    const [statusLine = '', ...lines] = rest.slice(0, headEnd).split('\r\n')
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(statusLine)?.[1] ?? 0)
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    )
    rest = rest.slice(headEnd + 4)
    const { body, length, isComplete } = cutBody(headers, rest)
    rest = rest.slice(length)
    found.push({ status, headers, body, isComplete })
  }
  return found
}

function cutBody(
  headers: Readonly<Record<string, string>>,
  rest: string,
): { readonly body: string; readonly length: number; readonly isComplete: boolean } {
  const announced = headers['content-length']
  if (announced !== undefined) {
    const length = Math.min(Number(announced), rest.length)
    return { body: rest.slice(0, length), length, isComplete: rest.length >= Number(announced) }
  }
  let body = ''
  let at = 0
  for (;;) {
    const lineEnd = rest.indexOf('\r\n', at)
    if (lineEnd < 0) return { body, length: rest.length, isComplete: false }
    const size = Number.parseInt(rest.slice(at, lineEnd), 16)
    at = lineEnd + 2
    if (size === 0) return { body, length: Math.min(at + 2, rest.length), isComplete: rest.length >= at + 2 }
    if (!(size > 0) || rest.length < at + size + 2) return { body, length: rest.length, isComplete: false }
    body += rest.slice(at, at + size)
    at += size + 2
  }
}

/** Returns a POST request as raw bytes, on a keep-alive connection. */
export const keptAlive = (path: string, headers: Readonly<Record<string, string>>, body: object): string => {
  const text = JSON.stringify(body)
  const all = { host: 'gateway', 'content-type': 'application/json', 'content-length': String(text.length), ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`
}

/** Sends requests on one connection, each after the complete previous response, until the gateway closes it. */
export function sendInTurn(origin: string, requests: readonly string[], withinMs = 5000): Promise<Buffer> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(origin)
    const socket = connect(Number(port), hostname)
    const left = [...requests]
    let received = Buffer.alloc(0)
    let sent = 0
    const send = (): void => {
      sent++
      socket.write(left.shift() as string)
    }
    const end = (): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(received)
    }
    const timer = setTimeout(end, withinMs)
    let quiet: NodeJS.Timeout | undefined
    socket.on('connect', send)
    socket.on('data', (part: Buffer) => {
      received = Buffer.concat([received, part])
      clearTimeout(quiet)
      const complete = cutResponses(received).filter(({ isComplete }) => isComplete).length
      if (complete < sent) return
      // Unrequested data may follow immediately.
      quiet = setTimeout(left.length > 0 ? send : end, 20)
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(quiet)
      end()
    })
  })
}

/** Returns the error in the responses to a hostile download and to the next call, or undefined. */
export function judgeResponses(bytes: Buffer, secondBody: string): string | undefined {
  const [first, second, ...more] = cutResponses(bytes)
  if (first === undefined || first.status === 0) return 'the response is not HTTP'
  if (`${JSON.stringify(first.headers)}${JSON.stringify(second?.headers)}`.includes('x-hidden'))
    return 'the client received a response that the upstream wrote'
  if (/html/i.test(first.headers['content-type'] ?? '')) return 'a web page reached the client'
  if (more.length > 0) return `${more.length} more responses than requests`
  // A connection that is closed or breaks after the first response is correct.
  if (second !== undefined && !second.body.includes(secondBody))
    return 'the second response does not belong to the second call'
  return undefined
}
