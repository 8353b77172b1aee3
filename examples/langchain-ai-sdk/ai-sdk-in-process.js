// Vercel's AI SDK without a server: its providers call the gateway as a function, with models of any vendor.
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { anthropic, createGateway, gemini, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { APICallError, embed, generateText, Output, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'

const { OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY } = process.env
const isDemo = [OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY].every((key) => key === undefined)

const gateway = createGateway({
  // The API key of a provider is the identity of its calls.
  auth: (key) => (key.startsWith('user-') ? { id: key } : null),
  upstreams: {
    openai: openai({ apiKey: OPENAI_API_KEY ?? 'no key' }),
    claude: anthropic({ apiKey: ANTHROPIC_API_KEY ?? 'no key' }),
    google: gemini({ apiKey: GEMINI_API_KEY ?? 'no key' }),
  },
  models: { 'gpt-*': 'openai', 'text-embedding-*': 'openai', 'claude-*': 'claude', 'gemini-*': 'google' },
  responses: { store: false },
  ...(isDemo ? { fetch: createFakeProvider().fetch } : {}),
})

const settings = { baseURL: 'http://gateway/v1', fetch: gateway.fetch }
const modelgate = createOpenAI({ ...settings, apiKey: 'user-1' })
const claude = createAnthropic({ ...settings, apiKey: 'user-1' })

const weather = tool({
  description: 'The weather in a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `It is sunny in ${city}.`,
})
const models = {
  'openai provider, claude-opus-5': modelgate.chat('claude-opus-5'),
  'openai provider, gemini-3-flash': modelgate.chat('gemini-3-flash'),
  'anthropic provider, gpt-5': claude('gpt-5'),
  'anthropic provider, claude-opus-5': claude('claude-opus-5'),
}

for (const [name, model] of Object.entries(models)) {
  // The gateway does the retries.
  const call = { model, maxOutputTokens: 1024, maxRetries: 0 }
  const { text } = await generateText({ ...call, prompt: 'Say hello in one sentence.' })
  console.log(`${name}, text:`, text)

  const stream = streamText({ ...call, prompt: 'Say hello in one sentence.' })
  console.log(`${name}, stream:`, await stream.text)

  const withTools = await generateText({
    ...call,
    prompt: 'Use get_weather: what is the weather in Paris?',
    tools: { get_weather: weather },
    stopWhen: stepCountIs(3),
  })
  console.log(`${name}, tools:`, withTools.text)

  const { output } = await generateText({
    ...call,
    prompt: 'Name a city.',
    output: Output.object({ schema: z.object({ city: z.string() }) }),
  })
  console.log(`${name}, object:`, typeof output.city)
}

const { embedding } = await embed({ model: modelgate.embeddingModel('text-embedding-3-small'), value: 'hello' })
console.log('embedding:', embedding.length > 0)

const unauthenticated = createOpenAI({ ...settings, apiKey: 'unknown' })
try {
  await generateText({ model: unauthenticated.chat('gpt-5'), maxRetries: 0, prompt: 'Say hello.' })
} catch (error) {
  console.log('unknown key:', APICallError.isInstance(error) ? error.statusCode : error)
}
