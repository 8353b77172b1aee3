import { createGateway, type Gateway, type Route } from '@modelgate/core'
import { createFakeProvider, type FakeProvider, type ListeningProvider, listen } from '@modelgate/testing'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { forgetful, pathOf, queryOf, upstreamKey, upstreamOf } from '../base/gateways.ts'
import { objectOf, parseJson, textOf } from '../base/json.ts'
import { type RawAnswer, type RawCall, rawCall } from '../base/raw-http.ts'
import { type Format, formats } from '../base/recorded-traffic.ts'
import type { Running, ServerKind } from '../base/servers.ts'

export const token = 'client-token-of-alice-77f3'
export const narrowToken = 'client-token-of-bob-19c2'

/** The smallest question of each dialect. */
const questions: Readonly<Record<Format, object>> = {
  chat: { messages: [{ role: 'user', content: 'hello' }] },
  messages: { messages: [{ role: 'user', content: 'hello' }], max_tokens: 100 },
  gemini: { contents: [{ parts: [{ text: 'hello' }] }] },
  responses: { input: 'hello' },
}

/** Returns a minimal generation request of each dialect. For Gemini the path has the model and selects streaming. */
export function bodyOf(format: Format, more: Record<string, unknown> = {}): string {
  const { model: _model, stream: _stream, ...rest } = more
  const named = { model: `${format}-model`, ...more }
  return JSON.stringify({ ...questions[format], ...(format === 'gemini' ? rest : named) })
}
/** The path to it, for the same `more`. */
export const targetOf = (format: Format, { model, stream }: Record<string, unknown> = {}): string => {
  const asked = { model: typeof model === 'string' ? model : `${format}-model`, stream: stream === true }
  return `${pathOf(format, asked)}${queryOf(format, asked)}`
}
/** Every path that takes such a body: chat alone has none to count tokens. */
export function targetsOf(format: Format, model = `${format}-model`): readonly string[] {
  const counts: Readonly<Record<Format, readonly string[]>> = {
    chat: [],
    messages: ['/v1/messages/count_tokens'],
    gemini: [`/v1beta/models/${model}:countTokens`],
    responses: ['/v1/responses/input_tokens'],
  }
  return [targetOf(format, { model }), ...counts[format]]
}
export const json = { 'content-type': 'application/json' }
export const version = { 'anthropic-version': '2023-06-01' }
export const bearer = { authorization: `Bearer ${token}` }
export const good = { ...json, ...version, ...bearer }

export interface ToldError {
  readonly message: string
  /** The kind in the dialect's own words; Google's `status`. */
  readonly type: string
  readonly param: unknown
  readonly code: unknown
}

/** The message of an error in the dialect it must be in; throws for any other shape. */
export function errorIn(format: Format, answer: RawAnswer): ToldError {
  expect(answer.headers['content-type']).toMatch(/^application\/json/)
  const body = objectOf(parseJson(answer.text))
  const error = objectOf(body.error)
  expect(textOf(error.message)).not.toBe('')
  const message = textOf(error.message)
  switch (format) {
    case 'messages':
      expect(Object.keys(body).sort()).toEqual(['error', 'request_id', 'type'])
      expect(body.type).toBe('error')
      break
    case 'gemini': {
      expect(Object.keys(body)).toEqual(['error'])
      expect(Object.keys(error).filter((key) => key !== 'details')).toEqual(['code', 'message', 'status'])
      expect(error.code).toBe(answer.status)
      return { message, type: textOf(error.status), param: fieldIn(error.details), code: error.details }
    }
    default:
      expect(Object.keys(body)).toEqual(['error'])
      expect(Object.keys(error).sort()).toEqual(['code', 'message', 'param', 'type'])
  }
  return { message, type: textOf(error.type), param: error.param, code: error.code }
}

const fieldIn = (details: unknown): unknown =>
  (Array.isArray(details) ? details : [])
    .flatMap((detail) => objectOf(detail).fieldViolations ?? [])
    .map((violation) => objectOf(violation).field)[0]

/** How each dialect says 400 and 401. */
export const invalid: Readonly<Record<Format, string>> = {
  chat: 'invalid_request_error',
  messages: 'invalid_request_error',
  gemini: 'INVALID_ARGUMENT',
  responses: 'invalid_request_error',
}

export function expectUnknownToken(format: Format, answer: RawAnswer, operation?: string): void {
  expect(answer.headers['x-should-retry']).toBe('false')
  if (operation === 'rerank') {
    // Its clients read the message where Cohere has it.
    expect([answer.status, objectOf(parseJson(answer.text)).message]).toEqual([401, expect.any(String)])
    return
  }
  const error = errorIn(format, answer)
  if (format === 'gemini') {
    // Google calls it a bad argument.
    expect([answer.status, error.type]).toEqual([400, 'INVALID_ARGUMENT'])
    expect(error.code).toEqual(expect.arrayContaining([expect.objectContaining({ reason: 'API_KEY_INVALID' })]))
  } else
    expect([answer.status, error.type]).toEqual([
      401,
      format === 'messages' ? 'authentication_error' : 'invalid_request_error',
    ])
}

/** A route with its open places filled in, and a body it takes. */
export interface RouteCall {
  readonly route: Route
  readonly method: string
  readonly path: string
  readonly body?: string
}
export const callsOf = (gateway: Gateway): readonly RouteCall[] =>
  gateway.routes.map((route) => {
    const { method, format } = route
    const path = route.path.replace('{model}', `${format}-model`).replace('{id}', 'resp_unknown')
    return method === 'POST' ? { route, method, path, body: bodyOf(format) } : { route, method, path }
  })

/** One server with a gateway in front of a fake provider that speaks all formats. */
export interface HttpSetting {
  readonly fake: FakeProvider
  readonly provider: ListeningProvider
  readonly gateway: Gateway
  /** The same with a limit of 4 kB on bodies. */
  readonly smallPlace: Running
  /** One exchange; everything that comes back is kept for `expectNoSecrets`. */
  call(raw: RawCall, to?: Running): Promise<RawAnswer>
  /** A generation call with this very body, on the path of the dialect's own model. */
  post(format: Format, body: RawCall['body'], headers?: Record<string, string>): Promise<RawAnswer>
  /** The smallest question, with more in it, or with another model. */
  ask(format: Format, more?: Record<string, unknown>, headers?: Record<string, string>): Promise<RawAnswer>
}

let exchanges = 0
/** Exchanges made by all settings of this file. */
export const exchangesMade = (): number => exchanges

/** Starts and stops with the tests of the surrounding `describe`, and closes them with the search for secrets. */
export function useHttpSetting(server: ServerKind): { readonly current: HttpSetting; searchForSecrets(): void } {
  const answers: string[] = []
  const asked: string[] = []
  let current: HttpSetting | undefined
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
          ...Object.fromEntries(formats.map((format) => [`${format}-model`, format])),
          ...Object.fromEntries(
            formats.map((format) => [`${format}-alias`, { upstream: format, model: `upstream-${format}-name` }]),
          ),
        },
        limits: { bodyBytes },
        logger: false,
        // One exchange is looked at: what is tried after a failure has tests of its own.
        retry: false,
        breaker: false,
        health: forgetful,
      })
    const gateway = gatewayWith(4 * 1024 * 1024)
    const place = await server.start(gateway)
    const smallPlace = await server.start(gatewayWith(4096))
    places = [place, smallPlace]
    const call: HttpSetting['call'] = async (raw, to = place) => {
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
      asked.push(JSON.stringify(headers), bodyText, query)
    current?.fake.reset()
  })
  afterAll(async () => {
    for (const place of places) await place.close()
    await current?.provider.close()
  })

  return {
    get current() {
      if (current === undefined) throw new Error('the setting exists while tests run')
      return current
    },
    searchForSecrets() {
      test('no upstream key in any answer, no client token in any upstream request', () => {
        expect(answers.length).toBeGreaterThan(50)
        expect(answers.filter((text) => text.includes(upstreamKey))).toEqual([])
        expect(asked.length).toBeGreaterThan(20)
        expect(asked.filter((text) => text.includes(token) || text.includes(narrowToken))).toEqual([])
      })
    },
  }
}
