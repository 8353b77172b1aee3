import { GoogleGenAI } from '@google/genai'
import { createGateway, openaiCompatible } from '@modelgate/core'
import { createFakeProvider, type FakeProvider } from '@modelgate/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { upstreamKey, upstreamOf } from '../base/gateways.ts'
import { anthropicClient, type ClientTarget, openaiClient } from '../base/sdk-clients.ts'
import { type Running, servers } from '../base/servers.ts'

/**
 * Counts tokens with the official clients and every upstream; the fake provider counts words and validates every body.
 */

const upstreams = {
  messages: upstreamOf('messages'),
  gemini: upstreamOf('gemini'),
  responses: upstreamOf('responses'),
  chat: upstreamOf('chat'),
  local: openaiCompatible({ baseURL: 'http://upstream.test/v1', apiKey: upstreamKey }),
}
type Name = keyof typeof upstreams
const names = Object.keys(upstreams) as Name[]
const endpoints: { readonly [N in Name]?: string } = {
  messages: '/v1/messages/count_tokens',
  gemini: '/v1beta/models/model:countTokens',
  responses: '/v1/responses/input_tokens',
}

interface Counted {
  readonly tokens: number | undefined
  readonly headers: Headers
}
const question = 'one two three four five six seven eight nine ten'
const system = 'eleven twelve thirteen'
const description = 'Tells the weather of a city.'
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const

/** Counts the tokens of the same input with each official client. */
const clients: { readonly [client: string]: (place: ClientTarget, model: string, rich: boolean) => Promise<Counted> } =
  {
    async anthropic(place, model, rich) {
      const { data, response } = await anthropicClient(place)
        .messages.countTokens({
          model,
          messages: [{ role: 'user', content: question }],
          ...(rich
            ? { system, tools: [{ name: 'get_weather', description, input_schema: { ...schema, required: ['city'] } }] }
            : {}),
        })
        .withResponse()
      return { tokens: data.input_tokens, headers: response.headers }
    },
    async openai(place, model, rich) {
      const { data, response } = await openaiClient(place)
        .responses.inputTokens.count({
          model,
          input: question,
          ...(rich
            ? {
                instructions: system,
                tools: [{ type: 'function', name: 'get_weather', description, parameters: schema, strict: false }],
              }
            : {}),
        })
        .withResponse()
      expect(data.object).toBe('response.input_tokens')
      return { tokens: data.input_tokens, headers: response.headers }
    },
    async google(place, model) {
      // The client itself rejects system text and tools here, so `rich` has no effect.
      const answer = await googleClient(place).models.countTokens({ model, contents: question })
      return { tokens: answer.totalTokens, headers: new Headers(answer.sdkHttpResponse?.headers) }
    },
  }
const googleClient = ({ origin }: ClientTarget): GoogleGenAI =>
  new GoogleGenAI({ apiKey: 'client-token', httpOptions: { baseUrl: origin ?? '', headers: {} } })

describe.each(servers.filter(({ name }) => name === 'node:http' || name === 'in process'))(
  'token counts on $name',
  ({ name, start }) => {
    let fake: FakeProvider
    let running: Running
    beforeAll(async () => {
      fake = createFakeProvider({ apiKey: upstreamKey })
      running = await start(
        createGateway({
          auth: 'none',
          upstreams,
          models: Object.fromEntries(names.map((upstream) => [upstream, { upstream, model: 'model' }])),
          logger: false,
          fetch: fake.fetch as typeof fetch,
        }),
      )
    })
    afterAll(() => running.close())

    // Google's client needs HTTP.
    const able = Object.keys(clients).filter((client) => name !== 'in process' || client !== 'google')
    test.each(able.flatMap((client) => names.map((upstream) => [client, upstream] as const)))(
      'are correct for the %s client with a model of a %s upstream',
      async (client, upstream) => {
        fake.reset()
        const count = clients[client] as (typeof clients)[string]
        const plain = await count(running, upstream, false)
        const rich = await count(running, upstream, true)
        const endpoint = endpoints[upstream]
        expect(fake.requests.map(({ path }) => path)).toEqual(endpoint === undefined ? [] : [endpoint, endpoint])
        for (const { tokens, headers } of [plain, rich]) {
          expect(headers.get('modelgate-estimate')).toBe(endpoint === undefined ? 'tokens;by="o200k_base"' : null)
          expect(tokens).toBeGreaterThanOrEqual(10)
          expect(tokens).toBeLessThan(100)
        }
        if (client === 'google') expect(rich.tokens).toBe(plain.tokens)
        else expect(rich.tokens).toBeGreaterThanOrEqual((plain.tokens ?? 0) + 5)
      },
    )
  },
)
