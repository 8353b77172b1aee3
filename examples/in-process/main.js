// Without a server: the official SDKs call the gateway as a function, with models of any vendor.
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { anthropic, createGateway, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import OpenAI from 'openai'

const { OPENAI_API_KEY, ANTHROPIC_API_KEY } = process.env
const isDemo = OPENAI_API_KEY === undefined && ANTHROPIC_API_KEY === undefined
if (isDemo) console.log('Demo: no provider key is set, so a fake provider responds.')
else if (OPENAI_API_KEY === undefined || ANTHROPIC_API_KEY === undefined)
  console.log('Only one provider key is set, so calls to the other provider fail.')

const gateway = createGateway({
  auth: 'none',
  upstreams: {
    openai: openai({ apiKey: OPENAI_API_KEY ?? 'no key' }),
    claude: anthropic({ apiKey: ANTHROPIC_API_KEY ?? 'no key' }),
  },
  models: { 'gpt-*': 'openai', 'claude-*': 'claude' },
  ...(isDemo ? { fetch: createFakeProvider().fetch } : {}),
})
const { fetch } = gateway
const apiKey = 'unused'
const content = 'Say hello in one sentence.'

// Each SDK calls a model of another vendor.
const openaiSdk = new OpenAI({ apiKey, baseURL: 'http://gateway/v1', fetch })
const completion = await openaiSdk.chat.completions.create({
  model: 'claude-opus-5',
  messages: [{ role: 'user', content }],
})
console.log('openai SDK, chat completions, claude-opus-5:', completion.choices[0]?.message.content)

const response = await openaiSdk.responses.create({ model: 'claude-opus-5', input: content })
console.log('openai SDK, responses, claude-opus-5:', response.output_text)

const stream = new Anthropic({ apiKey, baseURL: 'http://gateway', fetch }).messages.stream({
  model: 'gpt-5',
  max_tokens: 256,
  messages: [{ role: 'user', content }],
})
console.log('anthropic SDK, gpt-5:', await stream.finalText())

const google = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: 'http://gateway', fetch } })
const generated = await google.models.generateContent({ model: 'gpt-5', contents: content })
console.log('google SDK, gpt-5:', generated.text)
