import type { IncomingHttpHeaders } from 'node:http'
import type { UpstreamCall } from '../../base/raw-upstream.ts'
import { good } from '../../base/streams.ts'
import { formatOf, wholeResponse } from '../../base/upstream-responses.ts'
import type { CheckContext, Target } from '../check.ts'
import { exchange, type HttpResponse } from '../client.ts'
import { inParallel } from '../measurements.ts'
import { canary } from './leaks.ts'

/** Headers of clients, proxies and browsers; none may reach an upstream, except those with its own version. */
const fromClients = [
  'accept-language',
  'anthropic-beta',
  'anthropic-dangerous-direct-browser-access',
  'baggage',
  'cache-control',
  'cf-connecting-ip',
  'cookie',
  'dnt',
  'forwarded',
  'from',
  'helicone-auth',
  'idempotency-key',
  'if-none-match',
  'openai-beta',
  'openai-organization',
  'openai-project',
  'origin',
  'originator',
  'pragma',
  'priority',
  'proxy-authorization',
  'range',
  'referer',
  'sec-fetch-mode',
  'session-id',
  'thread-id',
  'true-client-ip',
  'user-agent',
  'via',
  'x-amz-date',
  'x-amz-security-token',
  'x-api-version',
  'x-app',
  'x-claude-code-session-id',
  'x-client-request-id',
  'x-correlation-id',
  'x-csrf-token',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-goog-api-client',
  'x-goog-user-project',
  'x-http-method-override',
  'x-openrouter-title',
  'x-portkey-virtual-key',
  'x-real-ip',
  'x-request-id',
  'x-secret',
  'x-session-id',
  'x-stainless-lang',
  'x-stainless-retry-count',
  'x-stainless-timeout',
  'x-user-email',
]

/** Headers of upstreams; none may reach a client. */
const fromUpstreams = [
  'access-control-allow-origin',
  'access-control-expose-headers',
  'alt-svc',
  'anthropic-organization-id',
  'anthropic-ratelimit-requests-remaining',
  'cf-cache-status',
  'cf-ray',
  'clear-site-data',
  'content-language',
  'content-location',
  'content-security-policy',
  'etag',
  'expires',
  'last-modified',
  'link',
  'location',
  'nel',
  'openai-model',
  'openai-organization',
  'openai-processing-ms',
  'openai-project',
  'openai-version',
  'p3p',
  'refresh',
  'report-to',
  'request-id',
  'server',
  'server-timing',
  'set-cookie',
  'strict-transport-security',
  'via',
  'warning',
  'www-authenticate',
  'x-amzn-requestid',
  'x-content-type-options',
  'x-debug',
  'x-envoy-upstream-service-time',
  'x-frame-options',
  'x-goog-api-key',
  'x-groq-region',
  'x-powered-by',
  'x-ratelimit-limit-tokens',
  'x-request-id',
  'x-robots-tag',
  'x-served-by',
  'x-should-retry',
  'x-upstream-host',
]

/** Client headers that an upstream of this format receives unchanged (its `passHeaders`). */
const passedOn = new Set(['messages anthropic-beta', 'messages anthropic-version'])

/** Headers that the gateway itself sends to an upstream. */
const ownToUpstream = new Set([
  'accept',
  'accept-encoding',
  'anthropic-version',
  'authorization',
  'connection',
  'content-length',
  'content-type',
  'host',
  'transfer-encoding',
  'x-api-key',
  'x-goog-api-key',
])

/** Headers of a response that the gateway or the host creates. */
const ownToClient = new Set([
  'cache-control',
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'request-id',
  'retry-after',
  'transfer-encoding',
  'x-accel-buffering',
  // AWS's SDKs read them. Values of an upstream are found by `back`.
  'x-amzn-errortype',
  'x-amzn-requestid',
  'x-request-id',
  'x-should-retry',
  // Express identifies itself.
  'x-powered-by',
])
const isOwn = (name: string): boolean => ownToClient.has(name) || name.startsWith('modelgate-')

const valued = (names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, canary('h').replaceAll(/[/+]/g, 'y')]))

function answerWith(received: UpstreamCall, status: number, headers: Readonly<Record<string, string>>): void {
  const format = formatOf(received)
  for (const [name, value] of Object.entries(headers)) received.response.setHeader(name, value)
  if (received.stream && status === 200) {
    received.response.writeHead(200, { 'content-type': 'text/event-stream' })
    received.response.end(good[format].join(''))
    return
  }
  const body =
    status === 200
      ? wholeResponse[format]
      : { type: 'error', error: { message: 'no', type: 'api_error', code: status } }
  received.response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const valuesIn = (headers: IncomingHttpHeaders): string => JSON.stringify(headers)

export interface HeaderReport {
  readonly sent: number
  /** Headers that passed unchanged, by direction and name. */
  readonly onward: ReadonlySet<string>
  readonly back: ReadonlySet<string>
  readonly complaints: readonly string[]
}

/** Finds the client headers that reach an upstream, and the upstream headers that reach the client. */
export async function tryHeaders({ upstream }: CheckContext, target: Target): Promise<HeaderReport> {
  const onward = new Set<string>()
  const back = new Set<string>()
  const complaints: string[] = []
  const jobs = target.pairs.flatMap((pair) =>
    [false, true].flatMap((stream) => [200, 400, 429, 500].map((status) => ({ pair, stream, status }))),
  )
  await inParallel(jobs, 8, async ({ pair, stream, status }) => {
    const requestHeaders = valued(fromClients)
    const given = valued(fromUpstreams)
    const scene = upstream.play((received) => answerWith(received, status, given))
    const answer: HttpResponse = await exchange(target, {
      ...pair,
      text: scene.marker,
      stream,
      headers: requestHeaders,
    })
    scene.end()
    const what = `${pair.client} to ${pair.upstream}, ${status}`
    for (const received of scene.calls) {
      const text = valuesIn(received.headers)
      for (const [name, value] of Object.entries(requestHeaders))
        if (text.includes(value)) onward.add(`${pair.upstream} ${name}`)
      for (const name of Object.keys(received.headers))
        if (!ownToUpstream.has(name) && !passedOn.has(`${pair.upstream} ${name}`))
          complaints.push(`${what}: the upstream received ${name}`)
    }
    const text = valuesIn(answer.headers)
    for (const [name, value] of Object.entries(given)) if (text.includes(value)) back.add(name)
    for (const name of Object.keys(answer.headers))
      if (!isOwn(name)) complaints.push(`${what}: the client received ${name}`)
  })
  for (const name of onward) if (!passedOn.has(name)) complaints.push(`from the client to the upstream of ${name}`)
  for (const name of back) complaints.push(`from the upstream to the client: ${name}`)
  return { sent: fromClients.length + fromUpstreams.length, onward, back, complaints }
}
