import { createGateway, type Gateway, type Route } from '@modelgate/core'
import { createFakeProvider, type FakeProvider, type ListeningProvider, listen } from '@modelgate/testing'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import {
  type ClientFormat,
  clientFormatRows,
  type DialectError,
  errorNameIn,
  isClientFormat,
  pathOf,
  queryOf,
} from '../base/client-formats.ts'
import { noSharedHealth, upstreamKey, upstreamOf } from '../base/gateways.ts'
import { type JsonObject, objectOf, parseJson } from '../base/json.ts'
import { type RawAnswer, type RawCall, rawCall } from '../base/raw-http.ts'
import { formats } from '../base/recorded-traffic.ts'
import type { Running, ServerKind } from '../base/servers.ts'

export const token = 'client-token-of-alice-77f3'
export const narrowToken = 'client-token-of-bob-19c2'

/** Returns the model of a client's requests: one of an upstream of its own format, if there is one. */
const modelOf = (format: ClientFormat): string => `${clientFormatRows[format].upstream}-model`

/** Returns a minimal generation request. Some formats have model and streaming in the path instead. */
export function bodyOf(format: ClientFormat, more: Record<string, unknown> = {}): string {
  const { model: _model, stream: _stream, ...rest } = more
  const { inPath, prompt } = clientFormatRows[format]
  const named = { model: modelOf(format), stream: false, ...more }
  return JSON.stringify({ ...prompt('hello'), ...(inPath ? rest : named) })
}
/** Returns the path of the request, for the same `more`. */
export const targetOf = (format: ClientFormat, { model, stream }: Record<string, unknown> = {}): string => {
  const requested = { model: typeof model === 'string' ? model : modelOf(format), stream: stream === true }
  return `${pathOf(format, requested)}${queryOf(format, requested)}`
}
/** Returns every path that accepts such a body. Chat and Ollama have none for token counts. */
export function targetsOf(format: ClientFormat, model = modelOf(format)): readonly string[] {
  const counts = clientFormatRows[format].countPath?.(model)
  return [targetOf(format, { model }), ...(counts === undefined ? [] : [counts])]
}
export const json = { 'content-type': 'application/json' }
export const version = { 'anthropic-version': '2023-06-01' }
export const bearer = { authorization: `Bearer ${token}` }
export const good = { ...json, ...version, ...bearer }

const objectForm = (names: readonly string[]) => (body: JsonObject) => {
  const error = objectOf(body.error)
  // OpenRouter's clients also get `metadata`, Google's `details`.
  const more = ['metadata', 'details']
  const own = Object.keys(error).filter((name) => !more.includes(name))
  expect(own.sort()).toEqual(names)
}
const openaiForm = objectForm(['code', 'message', 'param', 'type'])

/** Expects the exact members of an error body. */
const errorForms: Readonly<Record<ClientFormat, (body: JsonObject) => void>> = {
  chat(body) {
    // Cohere's clients read the message at the top.
    if (body.message === undefined) expect(Object.keys(body)).toEqual(['error'])
    else expect(body).toMatchObject({ id: expect.any(String), message: objectOf(body.error).message })
    openaiForm(body)
  },
  messages(body) {
    expect(Object.keys(body).sort()).toEqual(['error', 'request_id', 'type'])
    objectForm(['message', 'type'])(body)
  },
  gemini(body) {
    expect(Object.keys(body)).toEqual(['error'])
    objectForm(['code', 'message', 'status'])(body)
  },
  responses(body) {
    expect(Object.keys(body)).toEqual(['error'])
    openaiForm(body)
  },
  ollama: (body) => expect(Object.keys(body)).toEqual(['error']),
  converse: (body) => expect(Object.keys(body)).toEqual(['message']),
}

/** Returns an error in the expected dialect; throws for any other shape. */
export function errorIn(format: ClientFormat, { status, headers, text }: RawAnswer): DialectError {
  expect(headers['content-type']).toMatch(/^application\/json/)
  const body = objectOf(parseJson(text))
  errorForms[format](body)
  const error = clientFormatRows[format].readError(body, { status, name: errorNameIn(format, (name) => headers[name]) })
  if (error === undefined) throw new Error(`the error is not in the dialect of ${format}: ${text}`)
  return error
}

/** Status and error type for an unknown token. Google reports an invalid key as an invalid argument. */
const unknownToken: Readonly<Record<ClientFormat, readonly [status: number, type: string]>> = {
  chat: [401, 'invalid_request_error'],
  messages: [401, 'authentication_error'],
  gemini: [400, 'INVALID_ARGUMENT'],
  responses: [401, 'invalid_request_error'],
  ollama: [401, ''],
  converse: [403, 'UnrecognizedClientException'],
}

export function expectUnknownToken(format: ClientFormat, answer: RawAnswer, operation?: string): void {
  expect(answer.headers['x-should-retry']).toBe('false')
  if (operation === 'rerank') {
    // Clients of rerank read the message where Cohere has it.
    expect([answer.status, objectOf(parseJson(answer.text)).message]).toEqual([401, expect.any(String)])
    return
  }
  expect([answer.status, errorIn(format, answer).type]).toEqual(unknownToken[format])
  const { details } = objectOf(objectOf(parseJson(answer.text)).error)
  if (format === 'gemini')
    expect(details).toEqual(expect.arrayContaining([expect.objectContaining({ reason: 'API_KEY_INVALID' })]))
}

/** A route with its parameters filled in, and a valid body. */
export interface RouteCall {
  readonly route: Route & { readonly format: ClientFormat }
  readonly method: string
  readonly path: string
  readonly body?: string
}
export const callsOf = (gateway: Gateway): readonly RouteCall[] =>
  gateway.routes.flatMap((route) => {
    const { method, format } = route
    if (!isClientFormat(format)) return []
    const path = route.path
      .replace('{model}', modelOf(format))
      .replace('{id}', 'resp_unknown')
      .replace('{publisher}', 'org')
      .replaceAll(/\{\w+\}/g, 'name')
    const call = { route: { ...route, format }, method, path }
    if (method !== 'POST') return [call]
    const body = bodyOf(format)
    const { countBody } = clientFormatRows[format]
    const counts = route.operation === 'count-tokens' && countBody !== undefined
    return [{ ...call, body: counts ? JSON.stringify(countBody(objectOf(parseJson(body)))) : body }]
  })

/** One server with a gateway and a fake provider of all formats. */
export interface HttpFixture {
  readonly fake: FakeProvider
  readonly provider: ListeningProvider
  readonly gateway: Gateway
  /** The same with a body limit of 4 kB. */
  readonly smallPlace: Running
  /** Sends one request; the response is recorded for `expectNoSecrets`. */
  call(raw: RawCall, to?: Running): Promise<RawAnswer>
  /** Sends a generation call with this body, on the path of the format's own model. */
  post(format: ClientFormat, body: RawCall['body'], headers?: Record<string, string>): Promise<RawAnswer>
  /** Sends the smallest request with additional fields or another model. */
  ask(format: ClientFormat, more?: Record<string, unknown>, headers?: Record<string, string>): Promise<RawAnswer>
}

let exchanges = 0
/** Returns the number of requests that all fixtures of this file have sent. */
export const exchangesMade = (): number => exchanges

/**
 * Starts and stops with the tests of the surrounding `describe`, and adds a final test that searches for leaked
 * secrets.
 */
export function useHttpFixture(server: ServerKind): { readonly current: HttpFixture; searchForSecrets(): void } {
  const answers: string[] = []
  const received: string[] = []
  let current: HttpFixture | undefined
  let places: Running[] = []

  beforeAll(async () => {
    const fake = createFakeProvider({ apiKey: upstreamKey })
    const provider = await listen(fake)
    const gatewayWith = (bodyBytes: number): Gateway =>
      createGateway({
        auth: (credential) =>
          credential === token
            ? { id: 'alice' }
            : credential === narrowToken
              ? { id: 'bob', models: ['chat-model'] }
              : null,
        upstreams: {
          chat: upstreamOf('chat', provider.origin),
          messages: upstreamOf('messages', provider.origin),
          gemini: upstreamOf('gemini', provider.origin),
          responses: upstreamOf('responses', provider.origin),
        },
        models: {
          // Vertex AI names the publisher in the path.
          'org/*': 'gemini',
          ...Object.fromEntries(formats.map((format) => [`${format}-model`, format])),
          ...Object.fromEntries(
            formats.map((format) => [`${format}-alias`, { upstream: format, model: `upstream-${format}-name` }]),
          ),
        },
        limits: { bodyBytes },
        logger: false,
        // Retries have their own tests; these tests observe a single exchange.
        retry: false,
        breaker: false,
        health: noSharedHealth,
      })
    const gateway = gatewayWith(4 * 1024 * 1024)
    const place = await server.start(gateway)
    const smallPlace = await server.start(gatewayWith(4096))
    places = [place, smallPlace]
    const call: HttpFixture['call'] = async (raw, to = place) => {
      const answer = await rawCall(to, raw)
      answers.push(JSON.stringify(answer.headers), answer.text)
      exchanges++
      return answer
    }
    current = {
      fake,
      provider,
      gateway,
      smallPlace,
      call,
      post: (format, body, headers = good) =>
        call({ path: targetOf(format), headers, ...(body === undefined ? {} : { body }) }),
      ask: (format, more = {}, headers = good) =>
        call({ path: targetOf(format, more), headers, body: bodyOf(format, more) }),
    }
  })
  afterEach(() => {
    for (const { headers, bodyText, query } of current?.fake.requests ?? [])
      received.push(JSON.stringify(headers), bodyText, query)
    current?.fake.reset()
  })
  afterAll(async () => {
    for (const place of places) await place.close()
    await current?.provider.close()
  })

  return {
    get current() {
      if (current === undefined) throw new Error('the fixture exists only while tests run')
      return current
    },
    searchForSecrets() {
      test('leaks no upstream key in any response and no client token in any upstream request', () => {
        expect(answers.length).toBeGreaterThan(50)
        expect(answers.filter((text) => text.includes(upstreamKey))).toEqual([])
        expect(received.length).toBeGreaterThan(20)
        expect(received.filter((text) => text.includes(token) || text.includes(narrowToken))).toEqual([])
      })
    },
  }
}
