import { createFakeProvider } from '@modelgate/testing'
import { expect, it } from 'vitest'
import { gatewayTo } from '../base/gateways.ts'
import type { Format } from '../base/recorded-traffic.ts'
import { anthropicClient, openaiClient } from '../base/sdk-clients.ts'

const behind = (upstream: Format) => {
  // The fake provider does not know the latest field values.
  const fake = createFakeProvider({ validate: false })
  const gateway = gatewayTo(upstream, { fetch: fake.fetch })
  const place = { origin: 'http://gateway.test', fetch: gateway.fetch, token: 'any' }
  return { fake, openai: openaiClient(place), anthropic: anthropicClient(place) }
}

it.each([
  ['chat', { service_tier: 'fast' }],
  ['responses', { service_tier: 'fast' }],
  ['gemini', { serviceTier: 'priority' }],
] as const)('passes service tiers of the Anthropic SDK through to a %s upstream', async (upstream, sent) => {
  const { fake, anthropic } = behind(upstream)
  const body = { ...{ speed: 'fast' as const }, model: 'demo', max_tokens: 99, messages: [] }
  await anthropic.messages.create({ ...body, messages: [{ role: 'user', content: 'hello' }] })
  expect(fake.requests.at(-1)?.body).toMatchObject(sent)
})

it('passes service tiers of the OpenAI SDK through to a Messages upstream', async () => {
  const { fake, openai } = behind('messages')
  const body = { ...{ service_tier: 'fast' as never }, model: 'demo', input: 'hello' }
  await openai.responses.create(body)
  expect(fake.requests.at(-1)?.body).toMatchObject({ speed: 'fast' })
})
