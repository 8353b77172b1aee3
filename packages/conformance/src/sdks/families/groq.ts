import Groq from 'groq-sdk'
import { ChunkReader, chatRequest, readCompletion } from './chat-forms.ts'
import type { CreateFamilyClient } from './family-client.ts'

export const groqClient: CreateFamilyClient = (origin, apiKey) => {
  const groq = new Groq({ apiKey, baseURL: origin, maxRetries: 0, logLevel: 'off' })
  return {
    finish: { stop: 'stop', tools: 'tool_calls' },
    async ask(question) {
      const { stream, signal, onText } = question
      const options = signal === undefined ? {} : { signal }
      const body = chatRequest(question)
      // The request is built for every vendor, so its type is none of this SDK's.
      if (!stream) return readCompletion(await groq.chat.completions.create(body as never, options))
      const reader = new ChunkReader()
      const streamed = { ...body, stream, stream_options: { include_usage: true } }
      const chunks: unknown = await groq.chat.completions.create(streamed as never, options)
      for await (const chunk of chunks as AsyncIterable<unknown>) reader.add(chunk, onText)
      return reader.heard(signal)
    },
    async models() {
      const { data } = await groq.models.list()
      return data.map(({ id }) => id)
    },
    async embed(input) {
      const { data } = await groq.embeddings.create({ model: 'demo', input: [...input] })
      return data.map(({ embedding }) => embedding as number[])
    },
    statusOf: (error) => (error as { status?: unknown }).status,
  }
}
