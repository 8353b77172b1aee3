// Vercel's AI SDK without a server: its models call the gateway as a function, with models of any vendor.
import { createModelgate } from '@modelgate/ai-sdk'
import { anthropic, createGateway, gemini, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { APICallError, embed, generateText, Output, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'

const { OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY } = process.env
const isDemo = [OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY].every((key) => key === undefined)

const gateway = createGateway({
  // In this process, a token may be the user's name.
  auth: (key) => (key.startsWith('user-') ? { id: key } : null),
  upstreams: {
    openai: openai({ apiKey: OPENAI_API_KEY ?? 'no key' }),
    claude: anthropic({ apiKey: ANTHROPIC_API_KEY ?? 'no key' }),
    google: gemini({ apiKey: GEMINI_API_KEY ?? 'no key' }),
  },
  models: { 'gpt-*': 'openai', 'text-embedding-*': 'openai', 'claude-*': 'claude', 'gemini-*': 'google' },
  // The provider sends complete conversations.
  responses: { store: false },
  ...(isDemo ? { fetch: createFakeProvider().fetch } : {}),
})

const modelgate = createModelgate(gateway, { apiKey: 'user-1' })

const weather = tool({
  description: 'The weather in a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `It is sunny in ${city}.`,
})

for (const name of ['gpt-5', 'claude-opus-5', 'gemini-3-flash']) {
  // The gateway does the retries.
  const call = { model: modelgate(name), maxOutputTokens: 1024, maxRetries: 0 }
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

const unauthenticated = createModelgate(gateway, { apiKey: 'unknown' })
try {
  await generateText({ model: unauthenticated('gpt-5'), maxRetries: 0, prompt: 'Say hello.' })
} catch (error) {
  console.log('unknown key:', APICallError.isInstance(error) ? error.statusCode : error)
}
