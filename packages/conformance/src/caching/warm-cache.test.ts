import { anthropic, bedrock, createGateway, type GatewayConfig, gemini, openai } from '@modelgate/core'
import { createFakeProvider, type FakeProvider } from '@modelgate/testing'
import { describe, expect, test } from 'vitest'
import { listOf, objectOf } from '../base/json.ts'
import { agentModel, runSession, type SessionResult } from './run-session.ts'
import { markedMessages, type SessionClient, sessionClients } from './session-clients.ts'

const { chat, messages, responses, gemini: geminiClient, converse, ollama } = sessionClients

const gatewayOn = (
  provider: FakeProvider,
  target: GatewayConfig<'claude' | 'gpt' | 'google'>['models'][string],
  keys: string | readonly string[] = 'key',
) =>
  createGateway({
    auth: (token) => ({ id: token }),
    upstreams: {
      claude: anthropic({ apiKey: keys }),
      gpt: openai({ apiKey: keys, formats: ['responses'] }),
      google: gemini({ apiKey: keys }),
    },
    models: { '*': target },
    fetch: provider.fetch,
    logger: false,
  })
const authorized = { authorization: 'Bearer ann' }

/** Runs a session, and returns what the upstream's cache gave. */
async function upstreamShare(
  client: SessionClient,
  target: Parameters<typeof gatewayOn>[1],
  keys?: readonly string[],
): Promise<{ share: number; seen: SessionResult; provider: FakeProvider }> {
  const provider = createFakeProvider({ brain: agentModel, cacheMinTokens: 1024 })
  const seen = await runSession(gatewayOn(provider, target, keys), client, 20, authorized)
  return { share: seen.read / seen.input, seen, provider }
}

const claude = { upstream: 'claude', model: 'claude-sonnet-4-5' } as const
const gpt = { upstream: 'gpt', model: 'gpt-5' } as const
const google = { upstream: 'google', model: 'gemini-3-pro' } as const
const automatic = { ...claude, cache: 'auto' } as const

/** The share of a client that speaks the upstream's format. */
const native = {
  claude: () => upstreamShare(markedMessages, claude),
  gpt: () => upstreamShare(responses, gpt),
  google: () => upstreamShare(geminiClient, google),
}

describe('a session of 20 turns', () => {
  test.each<[string, SessionClient, Parameters<typeof gatewayOn>[1], keyof typeof native]>([
    ['Claude Code on GPT', markedMessages, gpt, 'gpt'],
    ['Codex on Claude', responses, automatic, 'claude'],
    ['a chat client on Claude', chat, automatic, 'claude'],
    ['a Gemini client on Claude', geminiClient, automatic, 'claude'],
    ['a Converse client on Claude', converse, automatic, 'claude'],
    ['a Messages client without marks on Claude', messages, automatic, 'claude'],
    ['a Messages client with marks on Claude', markedMessages, automatic, 'claude'],
    ['a chat client on Gemini', chat, google, 'google'],
    ['Codex on Gemini', responses, google, 'google'],
    ['Claude Code on Gemini', markedMessages, google, 'google'],
  ])('reads nearly as much from the cache as the native client: %s', async (_name, client, target, upstream) => {
    const { share: own } = await native[upstream]()
    const { share } = await upstreamShare(client, target)
    expect(own).toBeGreaterThan(0.8)
    expect(share / own).toBeGreaterThan(0.95)
  })

  test('reads nothing on Claude if nothing asks for it', async () => {
    expect((await upstreamShare(chat, claude)).share).toBe(0)
  })

  test('stays on one of several keys', async () => {
    const one = await upstreamShare(chat, google)
    const many = await upstreamShare(chat, google, ['key-1', 'key-2', 'key-3'])
    expect(many.share).toBe(one.share)
  })

  test('of an Ollama client gets marks at its instructions, its newest turn and the turn before the last response', async () => {
    const { provider } = await upstreamShare(ollama, automatic)
    const marks = provider.requests.map(({ body }) => JSON.stringify(body).split('"cache_control"').length - 1)
    expect(Math.max(...marks)).toBe(3)
    // Instructions, the last turn, and from the second request on the turn before it. The tools alone are below the minimum.
    expect(marks.slice(0, 3)).toEqual([2, 3, 3])
    const { system } = objectOf(provider.requests[0]?.body)
    expect(objectOf(listOf(system)[0]).cache_control).toEqual({ type: 'ephemeral' })
  })
})

test.each(['amazon.nova-pro-v1:0', 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0'])(
  'a session on Bedrock gets cache points at the same places: %s',
  async (model) => {
    const bodies: string[] = []
    const text = { output: { message: { role: 'assistant', content: [{ text: 'Done.' }] } }, stopReason: 'end_turn' }
    const usage = { inputTokens: 10, outputTokens: 2, totalTokens: 12 }
    const gateway = createGateway({
      auth: (token) => ({ id: token }),
      upstreams: { bedrock: bedrock({ region: 'eu-west-1', apiKey: 'key', formats: ['converse'] }) },
      models: { '*': { upstream: 'bedrock', model, cache: 'auto' } },
      fetch: (async (url: string, init: RequestInit) => {
        expect(url).toMatch(/\/converse$/)
        bodies.push(await new Response(init.body).text())
        return Response.json({ ...text, usage, metrics: { latencyMs: 1 } })
      }) as typeof fetch,
      logger: false,
    })
    await runSession(gateway, chat, 3, authorized)
    expect(bodies.map((body) => body.split('"cachePoint"').length - 1)).toEqual([2, 3, 3])
  },
)

describe('the cache key of OpenAI', () => {
  const keysOf = (provider: FakeProvider): Set<unknown> =>
    new Set(provider.requests.map(({ body }) => objectOf(body).prompt_cache_key))

  test('names each conversation of each caller, if the target is automatic', async () => {
    const provider = createFakeProvider({ brain: agentModel })
    const gateway = gatewayOn(provider, { ...gpt, cache: 'auto' })
    await runSession(gateway, messages, 3, authorized)
    const [key] = keysOf(provider)
    expect(keysOf(provider).size).toBe(1)
    expect(key).toMatch(/^mg-[0-9a-z]{8,12}$/)
    await runSession(gateway, messages, 3, { authorization: 'Bearer ben' })
    expect(keysOf(provider).size).toBe(2)
  })

  test('is not added otherwise', async () => {
    const { provider } = await upstreamShare(messages, gpt)
    expect(keysOf(provider)).toEqual(new Set([undefined]))
  })
})

describe('a request that only fills the cache', () => {
  const system = 'rules '.repeat(2000)
  const body = (more: object): string =>
    JSON.stringify({
      model: 'demo',
      system: [{ type: 'text', text: system, cache_control: { type: 'ephemeral' } }],
      messages: [{ role: 'user', content: 'Hi' }],
      ...more,
    })
  const send = (gateway: ReturnType<typeof gatewayOn>, text: string): Promise<Response> =>
    gateway.fetch(
      new Request('http://gateway.test/v1/messages', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...authorized },
        body: text,
      }),
    )

  test('fills it for the next request', async () => {
    const gateway = gatewayOn(createFakeProvider({ brain: agentModel }), claude)
    const usages = []
    for (const max_tokens of [0, 100]) {
      const response = await send(gateway, body({ max_tokens }))
      expect(response.status).toBe(200)
      usages.push(objectOf(objectOf(await response.json()).usage))
    }
    expect(usages[0]?.cache_creation_input_tokens).toBeGreaterThan(1000)
    expect(usages[0]?.output_tokens).toBe(0)
    expect(usages[1]?.cache_read_input_tokens).toBe(usages[0]?.cache_creation_input_tokens)
  })

  test('is rejected with the reason where a response cannot be prevented', async () => {
    const provider = createFakeProvider({ brain: agentModel })
    const response = await send(gatewayOn(provider, google), body({ max_tokens: 0 }))
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('cannot fill the prompt cache without generating a response')
    expect(provider.requests).toEqual([])
  })
})
