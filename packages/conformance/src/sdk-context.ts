import type Anthropic from '@anthropic-ai/sdk'
import { createGateway, type FinishEvent, type Gateway } from '@modelgate/core'
import { createFakeProvider, type FakeProvider, listen } from '@modelgate/testing'
import type OpenAI from 'openai'
import type { WireFormat } from './fixtures.ts'
import { upstreamKey, upstreamOf } from './gateways.ts'
import { anthropicClient, openaiClient } from './sdk.ts'
import type { ServerKind } from './servers.ts'

export const clientToken = 'client-token-93b1f2c4'

/** A server with the gateway, behind it a fake provider that speaks one format, in front of it the official clients. */
export interface Setting {
  readonly upstream: WireFormat
  readonly fake: FakeProvider
  readonly origin: string
  readonly fetch: typeof fetch
  readonly openai: OpenAI
  readonly anthropic: Anthropic
  /** The same clients with a token nobody knows. */
  readonly strangers: { readonly openai: OpenAI; readonly anthropic: Anthropic }
  /** What the gateway said of each call when it was over. */
  readonly finished: FinishEvent[]
  readonly gateway: Gateway
  close(): Promise<void>
}

export async function createSetting(server: ServerKind, upstream: WireFormat): Promise<Setting> {
  const fake = createFakeProvider({ apiKey: upstreamKey, chatReasoning: 'reasoning_content' })
  const provider = await listen(fake)
  const finished: FinishEvent[] = []
  const gateway = createGateway({
    auth: (token) => (token === clientToken ? { id: 'client' } : null),
    upstreams: { up: upstreamOf(upstream, provider.origin) },
    models: { demo: 'up', 'org/model-2': 'up', renamed: { upstream: 'up', model: 'upstream-name' } },
    plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
    logger: false,
  })
  const running = await server.start(gateway)
  const place = { ...running, token: clientToken }
  return {
    upstream,
    fake,
    origin: running.origin,
    fetch: running.fetch ?? fetch,
    openai: openaiClient(place),
    anthropic: anthropicClient(place),
    strangers: {
      openai: openaiClient({ ...place, token: 'nobody-knows-this-token' }),
      anthropic: anthropicClient({ ...place, token: 'nobody-knows-this-token' }),
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

/** Waits until `done` says so; what is waited for happens on other ends of sockets. */
export async function until(done: () => boolean | Promise<boolean>, what: string, ms = 5000): Promise<void> {
  const limit = Date.now() + ms
  while (!(await done())) {
    if (Date.now() > limit) throw new Error(`Waited ${ms} ms in vain: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** What a promise is rejected with; fails the test if it is not. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { [key: string]: unknown }> {
  try {
    await promise
  } catch (error) {
    return error as Error & { [key: string]: unknown }
  }
  throw new Error('the call was expected to fail, and did not')
}

/** A PNG of one red pixel. */
export const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
export const pixelBytes = 70

export const citySchema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
} as const

/** Asks the demo model for two calls at once. */
export const twoCalls = '[[tool:get_weather {"city":"Paris"}]] [[tool:get_time {"city":"Oslo"}]]'
export const callResults: Readonly<Record<string, string>> = { get_weather: '18 degrees', get_time: 'half past nine' }
