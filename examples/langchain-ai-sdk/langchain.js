// LangChain's chat models through the gateway: each uses its own vendor's format with any model.
import { ChatAnthropic } from '@langchain/anthropic'
import { HumanMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatGoogleGenerativeAI } from '@langchain/google-genai'
import { ChatOpenAI } from '@langchain/openai'
import { z } from 'zod'

const { MODELGATE_URL = 'http://127.0.0.1:3000', MODELGATE_TOKEN: apiKey = 'demo-token' } = process.env

const chats = {
  ChatOpenAI: new ChatOpenAI({ model: 'claude-opus-5', apiKey, configuration: { baseURL: `${MODELGATE_URL}/v1` } }),
  ChatAnthropic: new ChatAnthropic({ model: 'gemini-3-flash', apiKey, anthropicApiUrl: MODELGATE_URL }),
  ChatGoogleGenerativeAI: new ChatGoogleGenerativeAI({ model: 'gpt-5', apiKey, baseUrl: MODELGATE_URL }),
}

const weather = tool(({ city }) => `It is sunny in ${city}.`, {
  name: 'get_weather',
  description: 'The weather in a city.',
  schema: z.object({ city: z.string() }),
})

for (const [name, chat] of Object.entries(chats)) {
  console.log(`${name}, text:`, (await chat.invoke('Say hello in one sentence.')).text)

  let words = ''
  for await (const chunk of await chat.stream('Say hello in one sentence.')) words += chunk.text
  console.log(`${name}, stream:`, words)

  const withTool = chat.bindTools([weather])
  const question = new HumanMessage('Use get_weather: what is the weather in Paris?')
  const reply = await withTool.invoke([question])
  const results = await Promise.all(
    (reply.tool_calls ?? []).map((call) => weather.invoke({ ...call, type: 'tool_call' })),
  )
  console.log(`${name}, tools:`, (await withTool.invoke([question, reply, ...results])).text)
}
