// The providers of Vercel's AI SDK through the gateway: each uses its own vendor's format with any model.
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'

const { MODELGATE_URL = 'http://127.0.0.1:3000', MODELGATE_TOKEN: apiKey = 'demo-token' } = process.env

const openai = createOpenAI({ apiKey, baseURL: `${MODELGATE_URL}/v1` })
const anthropic = createAnthropic({ apiKey, baseURL: `${MODELGATE_URL}/v1` })
const google = createGoogleGenerativeAI({ apiKey, baseURL: `${MODELGATE_URL}/v1beta` })
const models = {
  'openai, responses': openai('claude-opus-5'),
  'openai, chat completions': openai.chat('claude-opus-5'),
  anthropic: anthropic('gemini-3-flash'),
  google: google('gpt-5'),
}

const weather = tool({
  description: 'The weather in a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `It is sunny in ${city}.`,
})

for (const [name, model] of Object.entries(models)) {
  const { text } = await generateText({ model, maxOutputTokens: 1024, prompt: 'Say hello in one sentence.' })
  console.log(`${name}, text:`, text)

  const stream = streamText({ model, maxOutputTokens: 1024, prompt: 'Say hello in one sentence.' })
  console.log(`${name}, stream:`, await stream.text)

  const result = await generateText({
    model,
    maxOutputTokens: 1024,
    prompt: 'Use get_weather: what is the weather in Paris?',
    tools: { get_weather: weather },
    stopWhen: stepCountIs(3),
  })
  console.log(`${name}, tools:`, result.text)
}
