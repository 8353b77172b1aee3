import type { UpstreamCall } from '../../base/raw-upstream.ts'
import type { Format } from '../../base/recorded-traffic.ts'
import { errorEvent, good } from '../../base/streams.ts'
import { beginStream, formatOf, sendGoodResponse, sendJson, wholeResponse } from '../../base/upstream-responses.ts'

/** A way in which an upstream repeats its own key. */
export interface Echo {
  readonly name: string
  /** Undefined: streamed and unstreamed calls. */
  readonly stream?: boolean
  /** @param text the key, in some spelling */
  play(call: UpstreamCall, text: string): void
}

/** Returns the credential of a received call. */
export const keyOf = ({ headers }: UpstreamCall): string => keyIn(headers)

export const keyIn = (headers: UpstreamCall['headers']): string =>
  [headers.authorization?.replace(/^Bearer /i, ''), headers['x-api-key'], headers['x-goog-api-key']].find(
    (value): value is string => typeof value === 'string' && value !== '',
  ) ?? ''

/** Keeps escapes that the text already contains. */
const inJson = (text: string): string => text.replaceAll('"', '\\"')

/** Error of each format's vendor, as JSON text. */
const errorOf: Readonly<Record<Format, (text: string, status: number) => string>> = {
  chat: (text) => `{"error":{"message":"Key ${inJson(text)} no","type":"server_error","param":null,"code":null}}`,
  messages: (text) => `{"type":"error","error":{"type":"api_error","message":"Key ${inJson(text)} no"}}`,
  gemini: (text, status) => `{"error":{"code":${status},"message":"Key ${inJson(text)} no","status":"INTERNAL"}}`,
  responses: (text) =>
    `{"error":{"message":"Key ${inJson(text)} no","type":"server_error","param":null,"code":"server_error"}}`,
}

/** The same in fields other than the message. */
const besides: Readonly<Record<Format, (text: string) => object>> = {
  chat: (text) => ({
    error: { message: 'no', type: text, param: text, code: text, metadata: { raw: text }, request: { headers: text } },
  }),
  messages: (text) => ({
    type: 'error',
    error: { type: text, message: 'no', details: { error_code: text, request: text } },
    request_id: text,
  }),
  gemini: (text) => ({
    error: {
      code: 400,
      message: 'no',
      status: 'INVALID_ARGUMENT',
      details: [
        { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: text, domain: text, metadata: { key: text } },
        { fieldViolations: [{ field: text, description: text }] },
      ],
    },
  }),
  responses: (text) => ({ error: { message: 'no', type: text, param: text, code: text, metadata: { raw: text } } }),
}

const page = (text: string): string => `<!DOCTYPE html><html><body><h1>Error</h1><p>${text}</p></body></html>`

const statuses = [400, 401, 403, 404, 409, 413, 422, 429, 500, 503, 529]

/** With an error status. */
const refusals: readonly Echo[] = [
  ...statuses.map(
    (status): Echo => ({
      name: `${status}`,
      play: (call, text) => sendJson(call, status, errorOf[formatOf(call)](text, status)),
    }),
  ),
  ...[400, 429, 500].flatMap((status): Echo[] => [
    { name: `${status} in fields`, play: (call, text) => sendJson(call, status, besides[formatOf(call)](text)) },
    {
      name: `${status} as text`,
      play: (call, text) => sendJson(call, status, text, { 'content-type': 'text/plain' }),
    },
    {
      name: `${status} as HTML`,
      play: (call, text) => sendJson(call, status, page(text), { 'content-type': 'text/html' }),
    },
    { name: `${status} as a JSON text`, play: (call, text) => sendJson(call, status, `"${inJson(text)}"`) },
    {
      name: `${status} in a list`,
      play: (call, text) => sendJson(call, status, `[${errorOf[formatOf(call)](text, status)}]`),
    },
    {
      name: `${status} at the length where messages are truncated`,
      play: (call, text) => sendJson(call, status, errorOf[formatOf(call)](`${'word '.repeat(98)}${text}`, status)),
    },
    {
      name: `${status} with every received header`,
      play: (call) =>
        sendJson(call, status, errorOf[formatOf(call)](JSON.stringify(call.headers).replaceAll('"', "'"), status)),
    },
    {
      name: `${status} in Latin-1 that is invalid UTF-8`,
      play(call, text) {
        const body = Buffer.from(errorOf[formatOf(call)](`\u00e9 ${text}`, status), 'latin1')
        call.response.writeHead(status, { 'content-type': 'application/json' }).end(body)
      },
    },
  ]),
]

const headersWith = (text: string): Record<string, string | string[]> => ({
  'x-request-id': text,
  'request-id': text,
  'set-cookie': [`key=${text}`],
  'www-authenticate': `Bearer realm="${text}"`,
  'retry-after': text,
  'openai-organization': text,
  'x-ratelimit-remaining-requests': text,
  'x-should-retry': text,
  'x-debug': text,
  etag: `"${text}"`,
  link: `<https://${text}>`,
  server: text,
})

/** In headers: of errors, of redirects, of good responses. */
const inHeaders: readonly Echo[] = [
  ...[301, 302, 307, 308].map(
    (status): Echo => ({
      name: `${status} elsewhere`,
      play(call, text) {
        call.response.writeHead(status, { location: `https://elsewhere.test/?key=${text}` }).end(page(text))
      },
    }),
  ),
  ...[400, 429, 503].map(
    (status): Echo => ({
      name: `${status} in headers`,
      play(call, text) {
        const body = errorOf[formatOf(call)]('none', status)
        call.response
          .writeHead(status, { 'content-type': `application/json; key="${text}"`, ...headersWith(text) })
          .end(body)
      },
    }),
  ),
  {
    name: '200 in headers',
    play(call, text) {
      for (const [name, value] of Object.entries(headersWith(text))) call.response.setHeader(name, value)
      sendGoodResponse(call)
    },
  },
]

/** With a success status. */
const under200: readonly Echo[] = [
  { name: '200 with an error', play: (call, text) => sendJson(call, 200, errorOf[formatOf(call)](text, 400)) },
  {
    name: '200 with an error in a list',
    play: (call, text) => sendJson(call, 200, `[${errorOf[formatOf(call)](text, 400)}]`),
  },
  { name: '200 with an error in fields', play: (call, text) => sendJson(call, 200, besides[formatOf(call)](text)) },
  { name: '200 with HTML', play: (call, text) => sendJson(call, 200, page(text), { 'content-type': 'text/html' }) },
  { name: '200 with text', play: (call, text) => sendJson(call, 200, text, { 'content-type': 'text/plain' }) },
  {
    name: '200 with a truncated error',
    play: (call, text) => sendJson(call, 200, errorOf[formatOf(call)](text, 400).slice(0, -2)),
  },
  {
    name: '200 that is interrupted within an error',
    play(call, text) {
      const body = errorOf[formatOf(call)](text, 400)
      call.response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length + 10 })
      call.response.write(body, () => call.socket.resetAndDestroy())
    },
  },
  {
    name: '200 with a failed response',
    stream: false,
    play: (call, text) =>
      formatOf(call) === 'responses'
        ? sendJson(call, 200, {
            ...wholeResponse.responses,
            status: 'failed',
            error: { code: 'server_error', message: text },
            output: [],
          })
        : sendJson(call, 200, errorOf[formatOf(call)](text, 400)),
  },
]

/** Returns an error event in the format's shape with the key. */
const eventOf = (format: Format, text: string): string => errorEvent[format].replace('Boom', `Boom ${inJson(text)}`)
const dataOf = (format: Format, text: string): string => eventOf(format, text).split('data: ')[1]?.trimEnd() ?? ''
const nameOf = (format: Format): string => (format === 'messages' || format === 'responses' ? 'event: error\n' : '')

/** Stream events by format. @param text the key */
const streamed: Readonly<Record<string, (format: Format, text: string) => string>> = {
  'an error event': eventOf,
  'an error event with CRLF': (format, text) => eventOf(format, text).replaceAll(/\r?\n/g, '\r\n'),
  'an error event that shares its event with an empty line of data': (format, text) =>
    `${nameOf(format)}data: ${dataOf(format, text)}\ndata:\n\n`,
  'an error event that shares its event with the mark of the end': (format, text) =>
    `${nameOf(format)}data: ${dataOf(format, text)}\ndata: [DONE]\n\n`,
  'an error event after another line of data': (format, text) =>
    `${nameOf(format)}data: {"choices":[]}\ndata: ${dataOf(format, text)}\n\n`,
  'an error event before another line of data': (format, text) =>
    `${nameOf(format)}data: ${dataOf(format, text)}\ndata: {"choices":[],"candidates":[],"type":"ping"}\n\n`,
  'two error events in one': (format, text) =>
    `${nameOf(format)}data: ${dataOf(format, 'nothing')}\ndata: ${dataOf(format, text)}\n\n`,
  'an error over two lines of data': (format, text) =>
    `${nameOf(format)}data: ${dataOf(format, text).replace('"error":{', '"error":\ndata: {')}\n\n`,
  'an error event without a name': (format, text) => `data: ${dataOf(format, text)}\n\n`,
  'an error event of another name': (format, text) => `event: failure\ndata: ${dataOf(format, text)}\n\n`,
  'an error event with id and retry': (format, text) =>
    `id: ${text}\nretry: 10\n${nameOf(format)}data: ${dataOf(format, text)}\n\n`,
  'an error as plain text': (_, text) => `event: error\ndata: ${text}\n\n`,
  'an error as a JSON string': (_, text) => `event: error\ndata: "${inJson(text)}"\n\n`,
  'an error with a revealing name': (_, text) => `event: ${text}\ndata: {}\n\n`,
  'a truncated error': (format, text) => `${nameOf(format)}data: ${dataOf(format, text).slice(0, -2)}\n\n`,
  'an error outside of events': (format, text) =>
    `${JSON.stringify(JSON.parse(errorOf[format](text.replaceAll('\\', ''), 400)), null, 2)}\n\n`,
  'an error in an invalid field': (format, text) => `error: ${dataOf(format, text)}\n\n`,
  'HTML instead of an event': (_, text) => `${page(text)}\n\n`,
  'a comment': (_, text) => `: ${text}\n\n`,
  'two errors one after the other': (format, text) => `${eventOf(format, 'nothing')}${eventOf(format, text)}`,
  'an error cut off by the end': (format, text) => `${nameOf(format)}data: ${dataOf(format, text)}`,
}

const streams: readonly Echo[] = Object.entries(streamed).flatMap(([name, text]): Echo[] => [
  {
    name: `${name}, first`,
    stream: true,
    play(call, output) {
      beginStream(call)
      call.response.end(text(formatOf(call), output))
    },
  },
  {
    name: `${name}, in mid-stream`,
    stream: true,
    play(call, output) {
      const format = formatOf(call)
      beginStream(call)
      for (const event of good[format].slice(0, 3)) call.response.write(event)
      call.response.end(text(format, output))
    },
  },
  {
    name: `${name}, after the end`,
    stream: true,
    play(call, output) {
      const format = formatOf(call)
      beginStream(call)
      for (const event of good[format]) call.response.write(event)
      call.response.end(text(format, output))
    },
  },
])

/** All echoes. The content of a successful response belongs to the client, whatever it is. */
export const echoes: readonly Echo[] = [...refusals, ...inHeaders, ...under200, ...streams]
