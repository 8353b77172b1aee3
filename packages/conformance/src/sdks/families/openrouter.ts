import { OpenRouter } from '@openrouter/sdk'
import { type JsonObject, listOf, objectOf } from '../../base/json.ts'
import { ChunkReader, chatRequest, readCompletion } from './chat-forms.ts'
import type { CreateFamilyClient, Question } from './family-client.ts'
import { camelCased, snakeCased } from './member-names.ts'

/** The request, in the SDK's names. Messages that the SDK returned have them already. */
const requestOf = (question: Question): JsonObject => {
  const { stream } = question
  return { ...camelCased({ ...chatRequest(question) }), stream }
}

export const openRouterClient: CreateFamilyClient = (origin, apiKey) => {
  const client = new OpenRouter({ apiKey, serverURL: `${origin}/api/v1`, retryConfig: { strategy: 'none' } })
  return {
    finish: { stop: 'stop', tools: 'tool_calls' },
    async ask(question) {
      const { stream, signal, onText } = question
      const options = signal === undefined ? {} : { fetchOptions: { signal } }
      const response: unknown = await client.chat.send({ chatRequest: requestOf(question) } as never, options)
      if (!stream) return readCompletion(snakeCased(response))
      const reader = new ChunkReader()
      for await (const chunk of response as AsyncIterable<unknown>) {
        const { error } = objectOf(chunk)
        // The SDK leaves an error chunk to its users.
        if (error !== undefined) throw Object.assign(new Error(String(objectOf(error).message)), objectOf(error))
        reader.add(snakeCased(chunk), onText)
      }
      return reader.heard(signal)
    },
    async models() {
      const { result } = await client.models.list()
      return listOf(result.data).map((entry) => String(objectOf(entry).id))
    },
    async embed(input) {
      const response: unknown = await client.embeddings.generate({ requestBody: { model: 'demo', input: [...input] } })
      return listOf(objectOf(response).data).map((entry) => listOf(objectOf(entry).embedding) as number[])
    },
    statusOf: (error) => (error as { statusCode?: unknown }).statusCode,
  }
}
