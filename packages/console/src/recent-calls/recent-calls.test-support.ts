import { createGateway, type GatewayConfig, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { consolePages } from '../index.ts'
import type { RecentCallsOptions } from './recent-calls.ts'

const adminToken = 'admin-token-of-the-test'

/** Strings that no page and no API may contain, by where they are sent. */
export const canaries = {
  apiKey: 'sk-canary-0123456789abcdef',
  clientToken: 'mg-canary-client-0123456789',
  question: 'canary words of the question',
  answer: 'canary words of the answer',
}

/** A credential that neither the gateway nor its client knows, as a proxy of the upstream could repeat it. */
const foreignCredential = 'canary-of-somebody-else-7'

/** Every credential of the tests, with parts of it. */
export const credentials = [
  canaries.apiKey,
  canaries.clientToken,
  adminToken,
  foreignCredential,
  canaries.apiKey.slice(0, 14),
  canaries.clientToken.slice(-14),
  btoa(canaries.apiKey).slice(0, 16),
]

/** Creates a gateway with recent calls whose upstream answers, fails or repeats the request in its error, depending on the model. */
export function recentGateway(options: Partial<RecentCallsOptions> = {}, config: Partial<GatewayConfig> = {}) {
  const provider = createFakeProvider({ apiKey: canaries.apiKey, brain: () => ({ text: canaries.answer }) })
  const repeated = `${canaries.apiKey} ${btoa(canaries.apiKey)} Authorization: Bearer ${foreignCredential}`
  const repeats = async (): Promise<Response> =>
    Response.json(
      { error: { message: `Invalid: '${canaries.question}' from ${repeated}`, type: 'invalid_request_error' } },
      { status: 400, headers: { 'x-request-id': canaries.apiKey, 'x-echo': canaries.apiKey } },
    )
  const echoes = async (): Promise<Response> =>
    Response.json({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'echo',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: `${repeated} ${canaries.clientToken}` },
          finish_reason: 'stop',
        },
      ],
    })
  const at = { apiKey: canaries.apiKey, baseURL: 'http://provider.test/v1' }
  const gateway = createGateway({
    auth: (token) => (token === canaries.clientToken ? { id: 'team-1', name: 'Team One' } : null),
    upstreams: {
      good: openai({ ...at, formats: ['chat'] }),
      bad: openai({ ...at, baseURL: 'http://bad.test/v1', formats: ['chat'] }),
      repeating: openai({ ...at, baseURL: 'http://repeating.test/v1', formats: ['chat'] }),
      echoing: openai({ ...at, baseURL: 'http://echoing.test/v1', formats: ['chat'] }),
    },
    models: {
      'plain-model': 'good',
      'fallback-model': [
        { upstream: 'bad', model: 'bad-model' },
        { upstream: 'good', model: 'good-model' },
      ],
      'failing-model': 'bad',
      'repeating-model': 'repeating',
      'echoing-model': 'echoing',
    },
    breaker: false,
    fetch: (input, init) => {
      const { hostname } = new URL(input instanceof Request ? input.url : input)
      if (hostname === 'bad.test') return Promise.resolve(new Response('no', { status: 401 }))
      if (hostname === 'echoing.test') return echoes()
      return hostname === 'repeating.test' ? repeats() : provider.fetch(input, init)
    },
    plugins: [
      { name: 'prices', costOf: () => ({ amount: 0.25, currency: 'EUR' }) },
      consolePages({
        recentCalls: { authorize: ({ header }) => header('Authorization') === `Bearer ${adminToken}`, ...options },
      }),
    ],
    logger: false,
    ...config,
  })
  const ask = async (model: string, body: object = {}): Promise<string> => {
    const response = await gateway.fetch('http://gateway.test/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: `Bearer ${canaries.clientToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: canaries.question }], ...body }),
    })
    await response.text()
    return response.headers.get('modelgate-request-id') ?? ''
  }
  const read = (path: string, token: string = adminToken, init: RequestInit = {}): Promise<Response> =>
    gateway.fetch(`http://gateway.test/console/${path}`, { headers: { authorization: `Bearer ${token}` }, ...init })
  return { gateway, ask, read }
}
