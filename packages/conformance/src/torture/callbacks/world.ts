import { anthropic, createGateway, type Gateway, type GatewayConfig, gemini, openai } from '@modelgate/core'
import { pathOf, queryOf } from '../../base/client-formats.ts'
import { type Format, formats } from '../../base/recorded-traffic.ts'
import { good } from '../../base/streams.ts'
import { wholeResponse } from '../../base/upstream-responses.ts'
import { readError } from '../read-responses.ts'
import { callbackMs } from './behaviours.ts'

/** A call as the upstream received it. */
export interface Sent {
  readonly url: string
  readonly headers: Headers
  readonly body: string
}

export interface World {
  readonly gateway: Gateway
  readonly sent: Sent[]
  readonly logged: string[]
}

const output: Readonly<Record<Format, object>> = {
  chat: { messages: [{ role: 'user', content: 'x' }] },
  messages: { messages: [{ role: 'user', content: 'x' }], max_tokens: 10 },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'x' }] }] },
  responses: { input: 'x' },
}

/** The upstreams by host name, which is their format. */
export const upstreams = {
  chat: openai({ apiKey: 'k', baseURL: 'http://chat/v1', formats: ['chat'] }),
  messages: anthropic({ apiKey: 'k', baseURL: 'http://messages' }),
  gemini: gemini({ apiKey: 'k', baseURL: 'http://gemini' }),
  responses: openai({ apiKey: 'k', baseURL: 'http://responses/v1', formats: ['responses'] }),
} as const

/** Returns the upstream's response by host and request. */
export function answerOf({ url, body }: Pick<Sent, 'url' | 'body'>): { readonly type: string; readonly text: string } {
  const host = new URL(url).host as Format
  if (url.includes('/audio/')) return { type: 'application/json', text: '{"text":"three"}' }
  const streams = url.includes(':stream') || /"stream":\s*true/.test(body)
  if (good[host] === undefined) return { type: 'application/json', text: JSON.stringify(wholeResponse.chat) }
  return streams
    ? { type: 'text/event-stream', text: good[host].join('') }
    : { type: 'application/json', text: JSON.stringify(wholeResponse[host]) }
}

/** Creates a `fetch` for the upstreams that records the calls. */
export function fetchOver(sent: Sent[], respond = (call: Sent): Response => respondTo(call)): typeof fetch {
  return async (input, init = {}) => {
    const call = {
      url: String(input),
      headers: new Headers(init.headers),
      body: await new Response(init.body ?? null).text(),
    }
    sent.push(call)
    return respond(call)
  }
}

export function respondTo(call: Sent): Response {
  const { type, text } = answerOf(call)
  return new Response(text, { headers: { 'content-type': type } })
}

/** Creates a gateway for every format with a cell's additional configuration. */
export function worldWith(config: Partial<GatewayConfig<string>> = {}): World {
  const sent: Sent[] = []
  const logged: string[] = []
  const log = (message: string): void => void logged.push(message)
  const gateway = createGateway<string>({
    auth: () => ({ id: 'me' }),
    upstreams,
    models: Object.fromEntries(formats.map((format) => [`${format}-model`, format])),
    retry: false,
    breaker: false,
    logger: { warn: log, error: log },
    fetch: fetchOver(sent),
    ...config,
    limits: { callbackMs, ...config.limits },
  })
  return { gateway, sent, logged }
}

/** A response as a client received it. */
export interface ClientResponse {
  /** Name of the call, for complaints. */
  readonly what: string
  readonly format: Format
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Differences of a call from the smallest one of its format. */
export interface Ask {
  readonly stream?: boolean
  /** Default: the model of an upstream of the same format. */
  readonly model?: string
  readonly more?: object
  readonly query?: string
}

/** Returns the smallest call of a format. */
export function requestFor(
  format: Format,
  { stream = false, model = `${format}-model`, more = {}, query = '' }: Ask = {},
): Request {
  const requested = { model, stream }
  const body = { ...(format === 'gemini' ? {} : requested), ...output[format], ...more }
  const given = queryOf(format, requested)
  return new Request(
    `http://gateway${pathOf(format, requested)}${given}${query === '' ? '' : `${given === '' ? '?' : '&'}${query}`}`,
    {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: 'Bearer token',
        ...(format === 'messages' ? { 'anthropic-version': '2023-06-01' } : {}),
      },
      body: JSON.stringify(body),
    },
  )
}

export async function send(gateway: Pick<Gateway, 'fetch'>, request: Request, format: Format): Promise<ClientResponse> {
  const what = `${request.method} ${new URL(request.url).pathname}`
  try {
    const response = await gateway.fetch(request)
    return { what, format, status: response.status, headers: response.headers, text: await response.text() }
  } catch (error) {
    // `gateway.fetch` must not reject here.
    return { what, format, status: 0, headers: new Headers(), text: String(error) }
  }
}

/** Calls every format, unstreamed and streamed. */
export const sendAll = (gateway: Pick<Gateway, 'fetch'>, ask: Ask = {}): Promise<readonly ClientResponse[]> =>
  Promise.all(
    formats.flatMap((format) =>
      [false, true].map((stream) => send(gateway, requestFor(format, { ...ask, stream }), format)),
    ),
  )

const shown = ({ what, status, text }: ClientResponse): string => `${what}: ${status} ${text.slice(0, 120)}`

/** Returns complaints about responses that are not successful. */
export const notServed = (replies: readonly ClientResponse[]): readonly string[] =>
  replies
    .filter(({ status, text }) => status !== 200 || !text.includes('three'))
    .map((reply) => `not served: ${shown(reply)}`)

/**
 * Returns complaints about responses that do not have one of these statuses in the client's dialect, or reveal the
 * exception.
 */
export const notRefused = (replies: readonly ClientResponse[], statuses: readonly number[]): readonly string[] =>
  replies
    .filter(
      (reply) =>
        !statuses.includes(reply.status) ||
        readError(reply.format, { ...reply, headers: Object.fromEntries(reply.headers) }) === undefined ||
        /callbackMs|did not settle/.test(reply.text),
    )
    .map((reply) => `not rejected with ${statuses.join(' or ')} in the dialect: ${shown(reply)}`)

export const complainIf = (isWrong: boolean, words: string): readonly string[] => (isWrong ? [words] : [])
