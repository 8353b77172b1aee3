import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import type { Format } from '../../base/recorded-traffic.ts'
import type { Pair, Target } from '../check.ts'

/** One call with an official client. */
export interface SdkClient {
  readonly name: string
  readonly format: Format
  /** Rejects with the SDK's exception. */
  ask(target: Target, pair: Pair, text: string): Promise<unknown>
}

const setUp = (target: Target, pair: Pair) => {
  const { authorization = '', ...headers } = target.headers(pair)
  return { apiKey: authorization.replace(/^Bearer /, '') || 'unused', headers, model: target.model(pair.upstream) }
}

const openaiOf = (target: Target, pair: Pair): OpenAI => {
  const { apiKey, headers } = setUp(target, pair)
  return new OpenAI({ apiKey, baseURL: `${target.origin}/v1`, defaultHeaders: headers })
}

const anthropicOf = (target: Target, pair: Pair): Anthropic => {
  const { apiKey, headers } = setUp(target, pair)
  return new Anthropic({ apiKey, baseURL: target.origin, defaultHeaders: headers })
}

const googleOf = (target: Target, pair: Pair): GoogleGenAI => {
  const { apiKey, headers } = setUp(target, pair)
  return new GoogleGenAI({ apiKey, httpOptions: { baseUrl: target.origin, headers } })
}

async function readAll(events: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of events) {
    // To its end.
  }
}

const user = (content: string) => [{ role: 'user' as const, content }]

/** The official clients with their default number of retries. */
export const sdkClients: readonly SdkClient[] = [
  {
    name: 'openai, chat',
    format: 'chat',
    ask: (target, pair, text) =>
      openaiOf(target, pair).chat.completions.create({ model: setUp(target, pair).model, messages: user(text) }),
  },
  {
    name: 'openai, chat stream',
    format: 'chat',
    async ask(target, pair, text) {
      const { model } = setUp(target, pair)
      await readAll(await openaiOf(target, pair).chat.completions.create({ model, messages: user(text), stream: true }))
    },
  },
  {
    name: 'openai, responses',
    format: 'responses',
    ask: (target, pair, text) =>
      openaiOf(target, pair).responses.create({ model: setUp(target, pair).model, input: text }),
  },
  {
    name: 'anthropic',
    format: 'messages',
    ask: (target, pair, text) =>
      anthropicOf(target, pair).messages.create({
        model: setUp(target, pair).model,
        max_tokens: 10,
        messages: user(text),
      }),
  },
  {
    name: 'anthropic stream',
    format: 'messages',
    async ask(target, pair, text) {
      const { model } = setUp(target, pair)
      await readAll(
        await anthropicOf(target, pair).messages.create({
          model,
          max_tokens: 10,
          messages: user(text),
          stream: true,
        }),
      )
    },
  },
  {
    name: 'google',
    format: 'gemini',
    ask: (target, pair, text) =>
      googleOf(target, pair).models.generateContent({ model: setUp(target, pair).model, contents: text }),
  },
  {
    name: 'google stream',
    format: 'gemini',
    async ask(target, pair, text) {
      const { model } = setUp(target, pair)
      await readAll(await googleOf(target, pair).models.generateContentStream({ model, contents: text }))
    },
  },
]
