// No server at all: the official SDKs call the gateway as a function, and any model answers either of them.
import Anthropic from '@anthropic-ai/sdk'
import { anthropic, createGateway, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import OpenAI from 'openai'

const { OPENAI_API_KEY, ANTHROPIC_API_KEY } = process.env
const hasKeys = OPENAI_API_KEY !== undefined || ANTHROPIC_API_KEY !== undefined

const gateway = createGateway({
  auth: 'none',
  upstreams: {
    openai: openai({ apiKey: OPENAI_API_KEY ?? 'no key' }),
    claude: anthropic({ apiKey: ANTHROPIC_API_KEY ?? 'no key' }),
  },
  models: { 'gpt-*': 'openai', 'claude-*': 'claude' },
  ...(hasKeys ? {} : { fetch: createFakeProvider().fetch }),
})
const client = { apiKey: 'unused', baseURL: 'http://gateway', fetch: gateway.fetch }

// Each SDK asks the other provider's model.
const chat = new OpenAI({ ...client, baseURL: 'http://gateway/v1' })
const completion = await chat.chat.completions.create({
  model: 'claude-opus-5',
  messages: [{ role: 'user', content: 'Say hello in one sentence.' }],
})
console.log('openai SDK, claude-opus-5:', completion.choices[0]?.message.content)

const stream = new Anthropic(client).messages.stream({
  model: 'gpt-5',
  max_tokens: 256,
  messages: [{ role: 'user', content: 'Say hello in one sentence.' }],
})
console.log('anthropic SDK, gpt-5:', await stream.finalText())
