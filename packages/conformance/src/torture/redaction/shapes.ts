import type { Endpoint } from './endpoints.ts'

/** Placeholders for the secret and for the upstream's address. */
export const mark = 'SECRET-IS-HERE'
export const addressMark = 'ADDRESS-IS-HERE'
export const words = `Key ${mark} no at ${addressMark}`

/** Response of an upstream instead of a good one, or in addition. */
export interface UpstreamReply {
  readonly status: number
  /** The reason phrase. */
  readonly reason?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly trailers?: Readonly<Record<string, string>>
}

/** A place outside of content where an upstream may write its secret. */
export interface Shape {
  readonly name: string
  /** Reports a failure, so that the upstream's address must be hidden too. */
  readonly tellsFailure: boolean
  /** Undefined for endpoints that cannot respond this way. */
  play(endpoint: Endpoint): UpstreamReply | undefined
}

const json = { 'content-type': 'application/json' }
const sse = { 'content-type': 'text/event-stream' }

/** Fields that report a failure. */
const failures: Readonly<Record<string, object>> = {
  'an error': { error: { message: words, type: 'server_error', param: mark, code: mark } },
  'an error as a text': { error: words },
  'an error of another vendor': { type: 'error', error: { type: 'api_error', message: words }, request_id: mark },
  "Google's error with details": {
    error: {
      code: 400,
      status: 'INVALID_ARGUMENT',
      message: 'no',
      details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: mark, metadata: { key: mark } }],
    },
  },
  errors: { errors: [{ message: words }, words] },
  'a message': { message: words },
  'a Message': { Message: words, __type: mark },
  'a detail': { detail: words },
  'details in a list': { detail: [{ loc: ['header', mark], msg: words, type: mark }] },
  "vLLM's error": { object: 'error', message: words, type: 'BadRequestError', param: null, code: 400 },
  'a status that failed': { status: 'failed', error: { code: 'server_error', message: words } },
  'a blocked prompt': { promptFeedback: { blockReason: 'OTHER', blockReasonMessage: words } },
  'an incomplete response': { status: 'incomplete', incomplete_details: { reason: words } },
  warnings: { warnings: [words], meta: { warnings: [words] } },
}

/** Other places outside of content. */
const oddities: Readonly<Record<string, object>> = {
  'an unknown field': { debug_note: mark, x_request: { deep: [[{ headers: mark }]] } },
  'a name of a field': { [mark]: 1 },
  'an id': { id: mark, system_fingerprint: mark },
}

/** Returns a good response with the fields in its first choice, candidate, item or result. */
function inFirst(answer: object, fields: object): object {
  for (const [name, value] of Object.entries(answer))
    if (Array.isArray(value) && typeof value[0] === 'object')
      return { ...answer, [name]: [{ ...value[0], ...fields }, ...value.slice(1)] }
  return { ...answer, data: [], ...fields }
}

const whole = (name: string, status: number, tellsFailure: boolean, of: (endpoint: Endpoint) => object): Shape => ({
  name: `${status} with ${name}`,
  tellsFailure,
  play: (endpoint) =>
    endpoint.stream && status === 200 ? undefined : { status, headers: json, body: JSON.stringify(of(endpoint)) },
})

const bodies: readonly Shape[] = [
  ...Object.entries(failures).flatMap(([name, fields]) => [
    whole(name, 200, true, () => fields),
    whole(`${name} next to a response`, 200, true, ({ answer }) => ({ ...answer, ...fields })),
    whole(`${name} without data`, 200, true, () => ({ data: [], choices: [], ...fields })),
    whole(`${name} within a response`, 200, true, ({ answer }) => inFirst(answer, fields)),
    ...[400, 401, 403, 404, 429, 500, 503].map((status) => whole(name, status, true, () => fields)),
  ]),
  ...Object.entries(oddities).flatMap(([name, fields]) => [
    whole(`${name} next to a response`, 200, false, ({ answer }) => ({ ...answer, ...fields })),
    whole(`${name} within a response`, 200, false, ({ answer }) => inFirst(answer, fields)),
    whole(name, 400, true, () => ({ ...fields, error: { message: 'no', ...fields } })),
  ]),
]

const page = `<!DOCTYPE html><html><body><h1>Error</h1><p>${words}</p></body></html>`
const text = (status: number, type: string, body: string): Shape => ({
  name: `${status} as ${type}`,
  tellsFailure: true,
  // A text response is itself a transcript.
  play: ({ bytes, name }) =>
    status === 200 && bytes === undefined && /transcri|transla/.test(name)
      ? undefined
      : { status, headers: { 'content-type': type }, body },
})
const texts: readonly Shape[] = [200, 400, 500].flatMap((status) => [
  text(status, 'text/html', page),
  text(status, 'text/plain', words),
  text(status, 'application/xml', `<Error><Message>${words}</Message></Error>`),
  text(status, 'application/json', `"${words}"`),
  text(status, 'application/problem+json', `{"title":"no","detail":"${words}"`),
])

const headers = Object.fromEntries(
  [
    ...['x-request-id', 'request-id', 'set-cookie', 'www-authenticate', 'retry-after', 'openai-organization'],
    ...['x-should-retry', 'x-debug', 'etag', 'link', 'server', 'via', 'x-amzn-errortype', 'location'],
  ].map((name) => [name, mark]),
)
const goodBody = ({ stream, events = [], answer, bytes }: Endpoint): string =>
  stream ? events.join('') : (bytes?.body ?? JSON.stringify(answer))
const goodType = ({ stream, bytes }: Endpoint): string =>
  stream ? sse['content-type'] : (bytes?.type ?? 'application/json')

const beside: readonly Shape[] = [
  ...[200, 302, 400, 500].map(
    (status): Shape => ({
      name: `${status} in headers and the reason phrase`,
      tellsFailure: true,
      play: (endpoint) => ({
        status,
        reason: mark,
        headers: { ...headers, 'content-type': `${goodType(endpoint)}; key="${mark}"` },
        body: status === 200 ? goodBody(endpoint) : '{"error":{"message":"no"}}',
      }),
    }),
  ),
  {
    name: '200 in trailers',
    tellsFailure: true,
    play: (endpoint) => ({
      status: 200,
      headers: { 'content-type': goodType(endpoint), trailer: 'x-error' },
      body: goodBody(endpoint),
      trailers: { 'x-error': mark },
    }),
  },
]

/** Within a stream: after its first events, or before all. */
const streamed = (name: string, tellsFailure: boolean, events: string): readonly Shape[] =>
  [0, 3].map((place) => ({
    name: `${name}, ${place === 0 ? 'first' : 'in mid-stream'}`,
    tellsFailure,
    play: ({ stream, events: all = [] }) =>
      stream
        ? { status: 200, headers: sse, body: [...all.slice(0, place), events, ...all.slice(place)].join('') }
        : undefined,
  }))

const streams: readonly Shape[] = [
  ...Object.entries({ ...failures, ...oddities }).flatMap(([name, fields]) => {
    const data = JSON.stringify(fields)
    const fails = name in failures
    return [
      ...streamed(`an event with ${name}`, fails, `data: ${data}\n\n`),
      ...streamed(`an event called error with ${name}`, fails, `event: error\ndata: ${data}\n\n`),
      ...streamed(
        `a failure with ${name}`,
        fails,
        `data: ${JSON.stringify({ type: 'response.failed', response: fields })}\n\n`,
      ),
      ...streamed(
        `a chunk with ${name}`,
        fails,
        `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, ...fields }] })}\n\n`,
      ),
      ...streamed(`${name} outside of events`, fails, `${JSON.stringify(fields, null, 1)}\n\n`),
      ...streamed(`${name} in two lines`, fails, `data: ${data.slice(0, 1)}\ndata: ${data.slice(1)}\n\n`),
    ]
  }),
  ...streamed('a comment', true, `: ${words}\n\n`),
  ...streamed('a comment within an event', true, `: ${words}\ndata: {"choices":[]}\n\n`),
  ...streamed('an id', true, `id: ${mark}\nretry: 10\ndata: {"choices":[]}\n\n`),
  ...streamed("an event's name", true, `event: ${mark}\ndata: {"choices":[]}\n\n`),
  ...streamed('an invalid field', true, `error: ${words}\n\n`),
  ...streamed('plain text', true, `event: error\ndata: ${words}\n\n`),
]

export const shapes: readonly Shape[] = [...bodies, ...texts, ...beside, ...streams]
