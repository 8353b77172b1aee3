import { anthropic, createGateway, type Gateway, openai } from '@modelgate/core'
import { createFakeProvider, type FakeProvider, type ListeningProvider, listen } from '@modelgate/testing'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { WireFormat } from './fixtures.ts'
import { pathOf, upstreamKey } from './gateways.ts'
import { objectOf, parseJson, textOf } from './json.ts'
import { type RawAnswer, type RawCall, rawCall } from './raw-http.ts'
import type { Running, ServerKind } from './servers.ts'

export const token = 'client-token-of-alice-77f3'
export const narrowToken = 'client-token-of-bob-19c2'
export const formats: readonly WireFormat[] = ['chat', 'messages']

/** What every generation call needs, in either dialect. */
export const bodyOf = (format: WireFormat, more: Record<string, unknown> = {}): string =>
  JSON.stringify({
    model: `${format}-model`,
    messages: [{ role: 'user', content: 'hello' }],
    ...(format === 'messages' ? { max_tokens: 100 } : {}),
    ...more,
  })
export const json = { 'content-type': 'application/json' }
export const version = { 'anthropic-version': '2023-06-01' }
export const bearer = { authorization: `Bearer ${token}` }
export const good = { ...json, ...version, ...bearer }

/** The message of an error in the dialect it must be in; throws for any other shape. */
export function errorIn(
  format: WireFormat,
  answer: RawAnswer,
): { message: string; type: string; param: unknown; code: unknown } {
  expect(answer.headers['content-type']).toMatch(/^application\/json/)
  const body = objectOf(parseJson(answer.text))
  const error = objectOf(body.error)
  if (format === 'messages') {
    expect(Object.keys(body).sort()).toEqual(['error', 'request_id', 'type'])
    expect(body.type).toBe('error')
  } else {
    expect(Object.keys(body)).toEqual(['error'])
    expect(Object.keys(error).sort()).toEqual(['code', 'message', 'param', 'type'])
  }
  expect(textOf(error.message)).not.toBe('')
  return { message: textOf(error.message), type: textOf(error.type), param: error.param, code: error.code }
}

/** One server with a gateway in front of a fake provider that speaks both formats. */
export interface HttpSetting {
  readonly fake: FakeProvider
  readonly provider: ListeningProvider
  readonly gateway: Gateway
  /** The same with a limit of 4 kB on bodies. */
  readonly smallPlace: Running
  /** One exchange; everything that comes back is kept for `expectNoSecrets`. */
  call(raw: RawCall, to?: Running): Promise<RawAnswer>
  post(format: WireFormat, body: RawCall['body'], headers?: Record<string, string>): Promise<RawAnswer>
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
          chat: openai({ apiKey: upstreamKey, baseURL: provider.url }),
          messages: anthropic({ apiKey: upstreamKey, baseURL: provider.origin }),
        },
        models: {
          'chat-model': 'chat',
          'messages-model': 'messages',
          'chat-alias': { upstream: 'chat', model: 'upstream-chat-name' },
          'messages-alias': { upstream: 'messages', model: 'upstream-messages-name' },
        },
        limits: { bodyBytes },
        logger: false,
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
        call({ path: pathOf(format), headers, ...(body === undefined ? {} : { body }) }),
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
