import type { UpstreamCall } from '../../base/raw-upstream.ts'
import type { Format } from '../../base/recorded-traffic.ts'
import { errorEvent, good } from '../../base/streams.ts'
import { beginStream, formatOf, sendGoodResponse, sendJson, wholeResponse } from '../../base/upstream-responses.ts'

/** A way in which an upstream repeats its own key. */
export interface Echo {
  readonly name: string
  /** Undefined: streamed and unstreamed calls. */
  readonly stream?: boolean
  /** @param said the key, in some spelling */
  play(call: UpstreamCall, said: string): void
}

/** Returns the credential of a received call. */
export const keyOf = ({ headers }: UpstreamCall): string => keyIn(headers)

export const keyIn = (headers: UpstreamCall['headers']): string =>
  [headers.authorization?.replace(/^Bearer /i, ''), headers['x-api-key'], headers['x-goog-api-key']].find(
    (value): value is string => typeof value === 'string' && value !== '',
  ) ?? ''

/** Keeps escapes that the text already contains. */
const inJson = (said: string): string => said.replaceAll('"', '\\"')

/** Error of each format's vendor, as JSON text. */
const errorOf: Readonly<Record<Format, (said: string, status: number) => string>> = {
  chat: (said) => `{"error":{"message":"Key ${inJson(said)} no","type":"server_error","param":null,"code":null}}`,
  messages: (said) => `{"type":"error","error":{"type":"api_error","message":"Key ${inJson(said)} no"}}`,
  gemini: (said, status) => `{"error":{"code":${status},"message":"Key ${inJson(said)} no","status":"INTERNAL"}}`,
  responses: (said) =>
    `{"error":{"message":"Key ${inJson(said)} no","type":"server_error","param":null,"code":"server_error"}}`,
}

/** The same in fields other than the message. */
const besides: Readonly<Record<Format, (said: string) => object>> = {
  chat: (said) => ({
    error: { message: 'no', type: said, param: said, code: said, metadata: { raw: said }, request: { headers: said } },
  }),
  messages: (said) => ({
    type: 'error',
    error: { type: said, message: 'no', details: { error_code: said, request: said } },
    request_id: said,
  }),
  gemini: (said) => ({
    error: {
      code: 400,
      message: 'no',
      status: 'INVALID_ARGUMENT',
      details: [
        { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: said, domain: said, metadata: { key: said } },
        { fieldViolations: [{ field: said, description: said }] },
      ],
    },
  }),
  responses: (said) => ({ error: { message: 'no', type: said, param: said, code: said, metadata: { raw: said } } }),
}

const page = (said: string): string => `<!DOCTYPE html><html><body><h1>Error</h1><p>${said}</p></body></html>`

const statuses = [400, 401, 403, 404, 409, 413, 422, 429, 500, 503, 529]

/** With an error status. */
const refusals: readonly Echo[] = [
  ...statuses.map(
    (status): Echo => ({
      name: `${status}`,
      play: (call, said) => sendJson(call, status, errorOf[formatOf(call)](said, status)),
    }),
  ),
  ...[400, 429, 500].flatMap((status): Echo[] => [
    { name: `${status} in fields`, play: (call, said) => sendJson(call, status, besides[formatOf(call)](said)) },
    {
      name: `${status} as text`,
      play: (call, said) => sendJson(call, status, said, { 'content-type': 'text/plain' }),
    },
    {
      name: `${status} as HTML`,
      play: (call, said) => sendJson(call, status, page(said), { 'content-type': 'text/html' }),
    },
    { name: `${status} as a JSON text`, play: (call, said) => sendJson(call, status, `"${inJson(said)}"`) },
    {
      name: `${status} in a list`,
      play: (call, said) => sendJson(call, status, `[${errorOf[formatOf(call)](said, status)}]`),
    },
    {
      name: `${status} at the length where messages are truncated`,
      play: (call, said) => sendJson(call, status, errorOf[formatOf(call)](`${'word '.repeat(98)}${said}`, status)),
    },
    {
      name: `${status} with every received header`,
      play: (call) =>
        sendJson(call, status, errorOf[formatOf(call)](JSON.stringify(call.headers).replaceAll('"', "'"), status)),
    },
    {
      name: `${status} in Latin-1 that is invalid UTF-8`,
      play(call, said) {
        const body = Buffer.from(errorOf[formatOf(call)](`\u00e9 ${said}`, status), 'latin1')
        call.response.writeHead(status, { 'content-type': 'application/json' }).end(body)
      },
    },
  ]),
]

const headersWith = (said: string): Record<string, string | string[]> => ({
  'x-request-id': said,
  'request-id': said,
  'set-cookie': [`key=${said}`],
  'www-authenticate': `Bearer realm="${said}"`,
  'retry-after': said,
  'openai-organization': said,
  'x-ratelimit-remaining-requests': said,
  'x-should-retry': said,
  'x-debug': said,
  etag: `"${said}"`,
  link: `<https://${said}>`,
  server: said,
})

/** In headers: of errors, of redirects, of good responses. */
const inHeaders: readonly Echo[] = [
  ...[301, 302, 307, 308].map(
    (status): Echo => ({
      name: `${status} elsewhere`,
      play(call, said) {
        call.response.writeHead(status, { location: `https://elsewhere.test/?key=${said}` }).end(page(said))
      },
    }),
  ),
  ...[400, 429, 503].map(
    (status): Echo => ({
      name: `${status} in headers`,
      play(call, said) {
        const body = errorOf[formatOf(call)]('none', status)
        call.response
          .writeHead(status, { 'content-type': `application/json; key="${said}"`, ...headersWith(said) })
          .end(body)
      },
    }),
  ),
  {
    name: '200 in headers',
    play(call, said) {
      for (const [name, value] of Object.entries(headersWith(said))) call.response.setHeader(name, value)
      sendGoodResponse(call)
    },
  },
]

/** With a success status. */
const under200: readonly Echo[] = [
  { name: '200 with an error', play: (call, said) => sendJson(call, 200, errorOf[formatOf(call)](said, 400)) },
  {
    name: '200 with an error in a list',
    play: (call, said) => sendJson(call, 200, `[${errorOf[formatOf(call)](said, 400)}]`),
  },
  { name: '200 with an error in fields', play: (call, said) => sendJson(call, 200, besides[formatOf(call)](said)) },
  { name: '200 with HTML', play: (call, said) => sendJson(call, 200, page(said), { 'content-type': 'text/html' }) },
  { name: '200 with text', play: (call, said) => sendJson(call, 200, said, { 'content-type': 'text/plain' }) },
  {
    name: '200 with a truncated error',
    play: (call, said) => sendJson(call, 200, errorOf[formatOf(call)](said, 400).slice(0, -2)),
  },
  {
    name: '200 that breaks off within an error',
    play(call, said) {
      const body = errorOf[formatOf(call)](said, 400)
      call.response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length + 10 })
      call.response.write(body, () => call.socket.resetAndDestroy())
    },
  },
  {
    name: '200 with a failed response',
    stream: false,
    play: (call, said) =>
      formatOf(call) === 'responses'
        ? sendJson(call, 200, {
            ...wholeResponse.responses,
            status: 'failed',
            error: { code: 'server_error', message: said },
            output: [],
          })
        : sendJson(call, 200, errorOf[formatOf(call)](said, 400)),
  },
]

/** Returns an error event in the format's shape with the key. */
const eventOf = (format: Format, said: string): string => errorEvent[format].replace('Boom', `Boom ${inJson(said)}`)
const dataOf = (format: Format, said: string): string => eventOf(format, said).split('data: ')[1]?.trimEnd() ?? ''
const nameOf = (format: Format): string => (format === 'messages' || format === 'responses' ? 'event: error\n' : '')

/** Stream events by format. @param said the key */
const streamed: Readonly<Record<string, (format: Format, said: string) => string>> = {
  'an error event': eventOf,
  'an error event with CRLF': (format, said) => eventOf(format, said).replaceAll(/\r?\n/g, '\r\n'),
  'an error event that shares its event with an empty line of data': (format, said) =>
    `${nameOf(format)}data: ${dataOf(format, said)}\ndata:\n\n`,
  'an error event that shares its event with the mark of the end': (format, said) =>
    `${nameOf(format)}data: ${dataOf(format, said)}\ndata: [DONE]\n\n`,
  'an error event after another line of data': (format, said) =>
    `${nameOf(format)}data: {"choices":[]}\ndata: ${dataOf(format, said)}\n\n`,
  'an error event before another line of data': (format, said) =>
    `${nameOf(format)}data: ${dataOf(format, said)}\ndata: {"choices":[],"candidates":[],"type":"ping"}\n\n`,
  'two error events in one': (format, said) =>
    `${nameOf(format)}data: ${dataOf(format, 'nothing')}\ndata: ${dataOf(format, said)}\n\n`,
  'an error over two lines of data': (format, said) =>
    `${nameOf(format)}data: ${dataOf(format, said).replace('"error":{', '"error":\ndata: {')}\n\n`,
  'an error event without a name': (format, said) => `data: ${dataOf(format, said)}\n\n`,
  'an error event of another name': (format, said) => `event: failure\ndata: ${dataOf(format, said)}\n\n`,
  'an error event with id and retry': (format, said) =>
    `id: ${said}\nretry: 10\n${nameOf(format)}data: ${dataOf(format, said)}\n\n`,
  'an error as plain text': (_, said) => `event: error\ndata: ${said}\n\n`,
  'an error as a JSON string': (_, said) => `event: error\ndata: "${inJson(said)}"\n\n`,
  'an error with a revealing name': (_, said) => `event: ${said}\ndata: {}\n\n`,
  'a truncated error': (format, said) => `${nameOf(format)}data: ${dataOf(format, said).slice(0, -2)}\n\n`,
  'an error outside of events': (format, said) =>
    `${JSON.stringify(JSON.parse(errorOf[format](said.replaceAll('\\', ''), 400)), null, 2)}\n\n`,
  'an error in an invalid field': (format, said) => `error: ${dataOf(format, said)}\n\n`,
  'HTML instead of an event': (_, said) => `${page(said)}\n\n`,
  'a comment': (_, said) => `: ${said}\n\n`,
  'two errors one after the other': (format, said) => `${eventOf(format, 'nothing')}${eventOf(format, said)}`,
  'an error cut off by the end': (format, said) => `${nameOf(format)}data: ${dataOf(format, said)}`,
}

const streams: readonly Echo[] = Object.entries(streamed).flatMap(([name, text]): Echo[] => [
  {
    name: `${name}, first`,
    stream: true,
    play(call, said) {
      beginStream(call)
      call.response.end(text(formatOf(call), said))
    },
  },
  {
    name: `${name}, in mid-stream`,
    stream: true,
    play(call, said) {
      const format = formatOf(call)
      beginStream(call)
      for (const event of good[format].slice(0, 3)) call.response.write(event)
      call.response.end(text(format, said))
    },
  },
  {
    name: `${name}, after the end`,
    stream: true,
    play(call, said) {
      const format = formatOf(call)
      beginStream(call)
      for (const event of good[format]) call.response.write(event)
      call.response.end(text(format, said))
    },
  },
])

/** All echoes. The content of a successful response belongs to the client, whatever it is. */
export const echoes: readonly Echo[] = [...refusals, ...inHeaders, ...under200, ...streams]
