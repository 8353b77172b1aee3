import type Anthropic from '@anthropic-ai/sdk'
import type { BedrockRuntimeClient } from '@aws-sdk/client-bedrock-runtime'
import type { GoogleGenAI } from '@google/genai'
import { createGateway, type FinishEvent, type Gateway, type Loss, openai } from '@modelgate/core'
import { createFakeProvider, createResponsesSockets, type FakeProvider, listen } from '@modelgate/testing'
import { until } from '@modelgate/testing/test-support'
import type { Ollama } from 'ollama'
import type OpenAI from 'openai'
import { bedrockRuntime } from '../base/bedrock-client.ts'
import { noSharedHealth, upstreamKey, upstreamOf } from '../base/gateways.ts'
import { ollamaClient } from '../base/ollama-client.ts'
import type { Format } from '../base/recorded-traffic.ts'
import { anthropicClient, googleClient, openaiClient } from '../base/sdk-clients.ts'
import type { ServerKind } from '../base/servers.ts'

/** A capability that an official client must have with every server and upstream. */
export interface Case {
  readonly name: string
  /** Runs on two servers only: the case does not depend on the server. */
  readonly rare?: true
  run(setting: SdkFixture): Promise<void>
}

export const onTwoServers = (cases: readonly Case[]): readonly Case[] => cases.map((one) => ({ ...one, rare: true }))

export const modelNames = ['demo', 'org/model-2', 'renamed', 'nameless', 'signing']
export const clientToken = 'client-token-93b1f2c4'

/** A server with the gateway, a fake provider of one format as its upstream, and the official clients. */
export interface SdkFixture {
  readonly upstream: Format
  readonly fake: FakeProvider
  /** The name under which the model `demo` responds. */
  readonly responseModel: string
  readonly origin: string
  readonly fetch: typeof fetch
  readonly openai: OpenAI
  readonly anthropic: Anthropic
  readonly google: GoogleGenAI
  readonly ollama: Ollama
  readonly bedrock: BedrockRuntimeClient
  /** The same clients with an unknown token. */
  readonly unknownTokenClients: Pick<SdkFixture, 'openai' | 'anthropic' | 'google' | 'ollama'>
  /** Events of finished calls. */
  readonly finished: FinishEvent[]
  readonly gateway: Gateway
  close(): Promise<void>
}

/**
 * @param upstreamModel the upstream's name for the models of the cases. Default: their own names. With a real model's
 * name, the fake provider enforces its restrictions.
 */
export async function createSdkFixture(
  server: ServerKind,
  upstream: Format,
  upstreamModel?: string,
  /** The upstream accepts a WebSocket. */
  webSocket = false,
): Promise<SdkFixture> {
  const fake = createFakeProvider({ apiKey: upstreamKey, chatReasoning: 'reasoning_content' })
  const provider = await listen(fake, webSocket ? { upgrade: (await createResponsesSockets(fake)).upgrade } : {})
  const finished: FinishEvent[] = []
  const gateway = createGateway({
    auth: (token) => (token === clientToken ? { id: 'client' } : null),
    upstreams: {
      up: webSocket
        ? openai({ apiKey: upstreamKey, baseURL: provider.url, formats: ['responses'], webSocket })
        : upstreamOf(upstream, provider.origin),
    },
    models: {
      demo: upstreamModel === undefined ? 'up' : { upstream: 'up', model: upstreamModel },
      'org/model-2': 'up',
      renamed: { upstream: 'up', model: 'upstream-name' },
      // Tool calls of this model have no ids if its own format omits them.
      nameless: { upstream: 'up', model: 'gemini-2.5-flash' },
      // Google requires the signatures of this model's tool calls.
      signing: { upstream: 'up', model: 'gemini-3-pro-preview' },
    },
    plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
    logger: false,
    // Retries have their own tests; each case fails on its first error.
    retry: false,
    breaker: false,
    health: noSharedHealth,
  })
  const running = await server.start(gateway)
  const place = { ...running, token: clientToken }
  const stranger = { ...running, token: 'nobody-knows-this-token' }
  return {
    upstream,
    fake,
    responseModel: upstreamModel ?? 'demo',
    origin: running.origin,
    fetch: running.fetch ?? fetch,
    openai: openaiClient(place),
    anthropic: anthropicClient(place),
    google: googleClient(place),
    ollama: ollamaClient(place),
    bedrock: bedrockRuntime(place),
    unknownTokenClients: {
      openai: openaiClient(stranger),
      anthropic: anthropicClient(stranger),
      google: googleClient(stranger),
      ollama: ollamaClient(stranger),
    },
    finished,
    gateway,
    async close() {
      await running.close()
      await provider.close()
      await gateway.close({ graceMs: 0 })
    },
  }
}

/** Returns the rejection of a promise; fails the test if it resolves. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { [key: string]: unknown }> {
  try {
    await promise
  } catch (error) {
    return error as Error & { [key: string]: unknown }
  }
  throw new Error('the call succeeded, but was expected to fail')
}

/** Returns the losses of the only call made meanwhile, without notes by default. */
export async function lossesOf(
  setting: SdkFixture,
  call: () => Promise<unknown>,
  notes = false,
): Promise<readonly Loss[]> {
  const known = new Set(setting.finished)
  const fresh = (): FinishEvent | undefined =>
    setting.finished.find((event) => !known.has(event) && event.outcome !== 'aborted')
  await call()
  await until(() => fresh() !== undefined, 'the call to be settled')
  return (fresh()?.losses ?? []).filter(({ severity }) => notes || severity !== 'note')
}

/** A PNG of one red pixel. */
export const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
export const pixelBytes = 70

export { citySchema } from '../base/city-schema.ts'

/** Only Messages has status 529: overloaded is 503 in other formats. */
export const overloadedAt = (upstream: Format, text: string): string =>
  upstream === 'messages' ? text : text.replace('529', '503')

/** Makes the demo model call two tools at once. */
export const twoCalls = '[[tool:get_weather {"city":"Paris"}]] [[tool:get_time {"city":"Oslo"}]]'
export const callResults: Readonly<Record<string, string>> = { get_weather: '18 degrees', get_time: 'half past nine' }
