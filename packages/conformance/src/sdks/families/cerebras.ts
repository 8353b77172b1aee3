import Cerebras from '@cerebras/cerebras_cloud_sdk'
import { ChunkReader, chatRequest, readCompletion } from './chat-forms.ts'
import type { CreateFamilyClient } from './family-client.ts'

/** The client opens a connection when it is created, with a request of its own. */
export const cerebrasClient: CreateFamilyClient = (origin, apiKey) => {
  const cerebras = new Cerebras({ apiKey, baseURL: origin, maxRetries: 0 })
  return {
    finish: { stop: 'stop', tools: 'tool_calls' },
    async ask(question) {
      const { stream, signal, onText } = question
      const options = signal === undefined ? {} : { signal }
      const body = chatRequest(question)
      // The request is built for every vendor, so its type is none of this SDK's.
      if (!stream) return readCompletion(await cerebras.chat.completions.create(body as never, options))
      const reader = new ChunkReader()
      const streamed = { ...body, stream, stream_options: { include_usage: true } }
      const chunks: unknown = await cerebras.chat.completions.create(streamed as never, options)
      for await (const chunk of chunks as AsyncIterable<unknown>) reader.add(chunk, onText)
      return reader.heard(signal)
    },
    async models() {
      const { data } = await cerebras.models.list()
      return (data ?? []).map(({ id }) => id)
    },
    statusOf: (error) => (error as { status?: unknown }).status,
  }
}
