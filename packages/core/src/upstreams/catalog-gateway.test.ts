import { describe, expect, it } from 'vitest'
import type { GatewayConfig } from '../config/config.ts'
import { type Answer, asJson, asStream, chunk, completion, setUp } from '../gateway/create-gateway.test-support.ts'
import { deepseek } from './deepseek.ts'
import { groq } from './groq.ts'
import { ollama } from './local-servers.ts'
import { mistral } from './mistral.ts'
import { perplexity } from './perplexity.ts'

const apiKey = 'catalog-key-canary-1'
const hi = [{ role: 'user', content: 'hi' }]

function gatewayTo(answer: Answer = asJson(completion), config: Partial<GatewayConfig> = {}) {
  const hosts = ['api.mistral.ai', 'api.groq.com', 'api.deepseek.com', 'api.perplexity.ai', 'localhost:11434']
  const set = setUp(Object.fromEntries(hosts.map((host) => [host, answer])), {
    upstreams: {
      mistral: mistral({ apiKey }),
      groq: groq({ apiKey }),
      deepseek: deepseek({ apiKey }),
      perplexity: perplexity({ apiKey }),
      ollama: ollama(),
    },
    models: {
      'mistral-*': 'mistral',
      'llama-*': 'groq',
      'deepseek-*': 'deepseek',
      'sonar*': 'perplexity',
      'qwen*': 'ollama',
      either: [
        { upstream: 'groq', model: 'llama-x' },
        { upstream: 'mistral', model: 'mistral-x' },
      ],
    },
    retry: false,
    ...config,
  })
  const sent = (): Record<string, unknown> => JSON.parse(set.seen.at(-1)?.body ?? '{}')
  return { ...set, sent }
}

const lost = (reply: Response): string => reply.headers.get('modelgate-loss') ?? ''

describe('calls in the chat format', () => {
  it('remove fields that a provider would reject', async () => {
    const { post, sent } = gatewayTo()
    const reply = await post('/v1/chat/completions', {
      model: 'mistral-x',
      messages: [{ role: 'developer', content: 'Be brief.' }, ...hi],
      max_completion_tokens: 5,
      seed: 1,
      store: true,
      logit_bias: { 50: 1 },
    })
    expect(reply.status).toBe(200)
    expect(sent()).toEqual({
      model: 'mistral-x',
      messages: [{ role: 'system', content: 'Be brief.' }, ...hi],
      max_tokens: 5,
      random_seed: 1,
    })
    expect(lost(reply)).toContain('/logit_bias')
  })

  it('keep their bytes if the provider rejects none of their fields', async () => {
    const { post, seen } = gatewayTo()
    const body =
      '{ "model":"mistral-x", "messages":[{"role":"user","content":"hi"}], "top_p":0.50, "new_field": 12345678901234567890 }'
    const reply = await post('/v1/chat/completions', body)
    expect(seen[0]?.body).toBe(body)
    expect(lost(reply)).toBe('')
  })

  it('report fields that a provider ignores and send them unchanged', async () => {
    const { post, sent } = gatewayTo()
    const body = {
      model: 'qwen3',
      messages: hi,
      tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
      tool_choice: 'required',
    }
    const reply = await post('/v1/chat/completions', body)
    expect(sent()).toEqual(body)
    expect(lost(reply)).toContain('/tool_choice')
  })

  it('choose the provider that accepts the whole request', async () => {
    const { post, seen } = gatewayTo()
    await post('/v1/chat/completions', { model: 'either', messages: hi, n: 2 })
    expect(seen.map(({ url }) => new URL(url).host)).toEqual(['api.mistral.ai'])
  })

  it('are rejected with onLoss: reject if a field would be removed', async () => {
    const { post, seen } = gatewayTo(asJson(completion), { onLoss: 'reject' })
    const reply = await post('/v1/chat/completions', { model: 'llama-x', messages: hi, logit_bias: { 50: 1 } })
    expect(reply.status).toBe(400)
    expect(await reply.json()).toMatchObject({ error: { param: 'logit_bias' } })
    expect(seen).toEqual([])
  })

  it('accept a stream without [DONE] from providers that omit it', async () => {
    const { post, finished } = gatewayTo(asStream([chunk({ content: 'hello' }), chunk({}, 'stop')]))
    const reply = await post('/v1/chat/completions', { model: 'sonar', messages: hi, stream: true })
    expect(await reply.text()).toContain('hello')
    expect(finished[0]?.outcome).toBe('finished')
  })
})

describe('calls in the messages format', () => {
  const version = { 'anthropic-version': '2023-06-01' }
  const call = { id: 'toolu_01A09q90qw90lq917835lq9', name: 'f', input: {} }
  const turns = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: [{ type: 'tool_use', ...call }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: '4' }] },
  ]

  it('use tool call ids that the provider accepts', async () => {
    const { post, sent } = gatewayTo()
    const tools = [{ name: 'f', input_schema: { type: 'object' } }]
    const reply = await post('/v1/messages', { model: 'mistral-x', max_tokens: 9, messages: turns, tools }, version)
    expect(reply.status).toBe(200)
    const [, assistantMessage, result] = sent().messages as { tool_calls?: { id: string }[]; tool_call_id?: string }[]
    expect(assistantMessage?.tool_calls?.[0]?.id).toMatch(/^[a-zA-Z0-9]{9}$/)
    expect(result?.tool_call_id).toBe(assistantMessage?.tool_calls?.[0]?.id)
  })

  it('use a provider’s messages endpoint at its own path', async () => {
    const { post, seen } = gatewayTo(() =>
      Response.json({
        type: 'message',
        id: 'm',
        role: 'assistant',
        model: 'd',
        content: [],
        stop_reason: 'end_turn',
        stop_sequence: null,
        usage: { input_tokens: 1, output_tokens: 1 },
      }),
    )
    const reply = await post('/v1/messages', { model: 'deepseek-x', max_tokens: 9, messages: hi }, version)
    expect(reply.status).toBe(200)
    expect(seen[0]?.url).toBe('https://api.deepseek.com/anthropic/v1/messages')
    expect(seen[0]?.headers.get('authorization')).toBe(`Bearer ${apiKey}`)
    expect(seen[0]?.headers.get('anthropic-version')).toBe('2023-06-01')
  })
})
