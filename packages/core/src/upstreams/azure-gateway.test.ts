import { describe, expect, it } from 'vitest'
import type { GatewayConfig } from '../config/config.ts'
import {
  type Answer,
  asJson,
  asStream,
  chunk,
  completion,
  message,
  setUp,
} from '../gateway/create-gateway.test-support.ts'
import { azure } from './azure.ts'

const key = 'azure-key-canary-1'

function gatewayTo(answer: Answer, config: Partial<GatewayConfig> = {}) {
  return setUp(
    { 'res.openai.azure.com': answer, 'res.services.ai.azure.com': answer },
    {
      upstreams: {
        v1: azure({ resource: 'res', apiKey: key }),
        old: azure({ resource: 'res', apiKey: key, apiVersion: '2024-10-21' }),
        foundry: azure({ resource: 'res', apiKey: key, formats: ['chat', 'messages'] }),
        entra: azure({ resource: 'res', token: async () => 'entra-canary-token' }),
      },
      models: {
        real: 'v1',
        dated: { upstream: 'old', model: 'my deployment' },
        'claude*': 'foundry',
        'grok*': 'foundry',
        entra: 'entra',
      },
      retry: false,
      ...config,
    },
  )
}

/** Azure's first event: no choices, only the content filter results of the prompt. */
const filtered = `data: ${JSON.stringify({
  id: '',
  object: '',
  created: 0,
  model: '',
  choices: [],
  prompt_filter_results: [{ prompt_index: 0, content_filter_results: { hate: { filtered: false, severity: 'safe' } } }],
})}\n\n`
const streamed = [
  filtered,
  chunk({ role: 'assistant', content: '' }),
  chunk({ content: 'hello' }),
  chunk({}, 'stop'),
  'data: [DONE]\n\n',
]

const hi = [{ role: 'user', content: 'hi' }]
/** One call by a client of each format. */
const clients = (model: string, stream: boolean) =>
  ({
    chat: ['/v1/chat/completions', { model, messages: hi, stream }],
    messages: ['/v1/messages', { model, max_tokens: 10, messages: hi, stream }],
    responses: ['/v1/responses', { model, input: 'hi', stream, store: false }],
    gemini: [
      `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
      { contents: [{ parts: [{ text: 'hi' }] }] },
    ],
  }) as const

const deployed =
  'https://res.openai.azure.com/openai/deployments/my%20deployment/chat/completions?api-version=2024-10-21'

describe('calls to Azure', () => {
  it.each(['chat', 'messages', 'responses', 'gemini'] as const)(
    'in the format %s receive whole and streamed responses',
    async (format) => {
      for (const stream of [false, true]) {
        const { post, seen, finished } = gatewayTo(stream ? asStream(streamed) : asJson(completion))
        const [path, body] = clients('dated', stream)[format]
        const reply = await post(path, body, { 'anthropic-version': '2023-06-01', 'api-key': 'good' })
        const text = await reply.text()
        expect([reply.status, text], text).toEqual([200, expect.stringContaining('hello')])
        expect(text).not.toMatch(/"error":\s*\{/)
        expect(seen.map(({ url }) => url)).toEqual([deployed])
        expect(seen[0]?.headers.get('api-key')).toBe(key)
        expect(seen[0]?.headers.get('authorization')).toBeNull()
        expect(finished[0]).toMatchObject({ outcome: 'finished', upstream: 'old', upstreamModel: 'my deployment' })
      }
    },
  )

  it('send native formats to the v1 API with the deployment in the body', async () => {
    const { post, seen } = gatewayTo(asJson(completion))
    await post(...clients('real', false).chat)
    await post('/v1/embeddings', { model: 'real', input: 'hi' })
    expect(seen.map(({ url }) => url)).toEqual([
      'https://res.openai.azure.com/openai/v1/chat/completions',
      'https://res.openai.azure.com/openai/v1/embeddings',
    ])
    expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({ model: 'real' })
  })

  it('send uploads to the deployment named in the form', async () => {
    const { gateway, seen } = gatewayTo(asJson({ text: 'hello' }))
    const form = new FormData()
    form.set('model', 'dated')
    form.set('file', new File(['RIFF'], 'a.wav', { type: 'audio/wav' }))
    const headers = { authorization: 'Bearer good' }
    const reply = await gateway.fetch(
      new Request('http://gw/v1/audio/transcriptions', { method: 'POST', headers, body: form }),
    )
    expect(await reply.json()).toEqual({ text: 'hello' })
    expect(seen[0]?.url).toBe(deployed.replace('chat/completions', 'audio/transcriptions'))
  })

  it('pass Azure’s prompt annotations to clients of the same format', async () => {
    const { chat } = gatewayTo(asStream(streamed))
    expect(await (await chat({ stream: true })).text()).toContain('prompt_filter_results')
  })

  it('use an Entra ID token and do not expose it', async () => {
    const refusal = { error: { code: 'bad', message: 'The token entra-canary-token has no access', param: null } }
    const { chat, seen, finished, logged } = gatewayTo(asJson(refusal, { status: 400 }))
    const reply = await chat({ model: 'entra' })
    expect(seen[0]?.headers.get('authorization')).toBe('Bearer entra-canary-token')
    const shown = [await reply.text(), JSON.stringify(finished), JSON.stringify(logged)].join()
    expect(shown).toContain('has no access')
    expect(shown).not.toContain('entra-canary-token')
  })

  it('reach Claude through messages and other Foundry models through chat', async () => {
    const { post, seen } = gatewayTo(({ url }) =>
      asJson(url.includes('/anthropic/') ? message : completion)({ url, headers: new Headers(), body: '' }, undefined),
    )
    const claude = await post(...clients('claude-x', false).chat)
    expect(await claude.json()).toMatchObject({ choices: [{ message: { content: 'hello' } }] })
    const grok = await post(...clients('grok-x', false).messages, { 'anthropic-version': '2023-06-01' })
    expect(await grok.json()).toMatchObject({ content: [{ text: 'hello' }] })
    expect(seen.map(({ url }) => url)).toEqual([
      'https://res.services.ai.azure.com/anthropic/v1/messages',
      'https://res.services.ai.azure.com/openai/v1/chat/completions',
    ])
    expect(seen[0]?.headers.get('x-api-key')).toBe(key)
    expect(seen[0]?.headers.get('anthropic-version')).toBe('2023-06-01')
  })
})

const policy = {
  error: {
    message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    type: null,
    param: 'prompt',
    code: 'content_filter',
    status: 400,
    innererror: { code: 'ResponsibleAIPolicyViolation', content_filter_result: { violence: { filtered: true } } },
  },
}

describe("Azure's errors", () => {
  it('from the content filter look like those of OpenAI', async () => {
    const { chat } = gatewayTo(asJson(policy, { status: 400 }))
    const reply = await chat()
    expect([reply.status, await reply.json()]).toEqual([
      400,
      { error: { ...policy.error, type: 'invalid_request_error' } },
    ])
  })

  it.each(['messages', 'responses', 'gemini'] as const)(
    'from the content filter are invalid requests for clients of %s',
    async (format) => {
      const { post } = gatewayTo(asJson(policy, { status: 400 }))
      const [path, body] = clients('dated', true)[format]
      const reply = await post(path, body, { 'anthropic-version': '2023-06-01' })
      expect([reply.status, await reply.text()]).toEqual([400, expect.stringContaining('content management policy')])
    },
  )

  it.each([
    [
      'a wrong key',
      401,
      { error: { code: '401', message: 'Access denied due to invalid subscription key.' } },
      502,
      'upstream_auth',
    ],
    [
      'a closed network',
      403,
      { error: { code: '403', message: 'Access denied due to Virtual Network/Firewall rules.' } },
      502,
      'upstream_auth',
    ],
    [
      'an unknown deployment',
      404,
      { error: { code: 'DeploymentNotFound', message: 'The API deployment for this resource does not exist.' } },
      404,
      'DeploymentNotFound',
    ],
    ['a wrong path', 404, { error: { code: '404', message: 'Resource not found' } }, 404, '404'],
    ['a rate limit', 429, { error: { code: '429', message: 'Requests have exceeded call rate limit.' } }, 429, '429'],
    [
      'a rate limit of Foundry',
      429,
      { error: { code: 'RateLimitReached', message: 'Your requests have exceeded rate limit.', details: 'the same' } },
      429,
      'RateLimitReached',
    ],
    [
      'an operation of another model',
      400,
      {
        error: {
          code: 'OperationNotSupported',
          message: 'The chatCompletion operation does not work with the specified model.',
        },
      },
      400,
      'OperationNotSupported',
    ],
  ])('are mapped for %s', async (_, status, body, expected, code) => {
    const { chat } = gatewayTo(asJson(body, { status }))
    const reply = await chat()
    expect([reply.status, await reply.json()]).toMatchObject([expected, { error: { code } }])
  })

  it('contain the retry delay, in milliseconds if Azure sends them', async () => {
    const limited = { error: { code: '429', message: 'Please retry after 2 seconds.' } }
    const { chat } = gatewayTo(() =>
      Response.json(limited, { status: 429, headers: { 'retry-after-ms': '1750', 'retry-after': '5' } }),
    )
    const reply = await chat()
    expect([reply.status, reply.headers.get('retry-after')]).toEqual([429, '2'])
  })
})
