import { Mistral } from '@mistralai/mistralai'
import { type JsonObject, listOf, objectOf } from '../../base/json.ts'
import { ChunkReader, chatRequest, readCompletion } from './chat-forms.ts'
import type { CreateFamilyClient, Question } from './family-client.ts'
import { camelCased, snakeCased } from './member-names.ts'

/** The request, with an image as the plain URL of Mistral's examples, and its name of a schema. */
function requestOf(question: Question): JsonObject {
  const body = camelCased(chatRequest(question))
  const messages = listOf(body.messages).map((message) => {
    const { content, ...others } = objectOf(message)
    if (!Array.isArray(content)) return message
    return { ...others, content: content.map((part) => ({ ...objectOf(part), ...plainImage(objectOf(part)) })) }
  })
  if (body.responseFormat === undefined) return { ...body, messages }
  const { schema, ...named } = objectOf(objectOf(body.responseFormat).jsonSchema)
  const jsonSchema = { ...named, schemaDefinition: schema ?? null }
  return { ...body, messages, responseFormat: { ...objectOf(body.responseFormat), jsonSchema } }
}

const plainImage = ({ imageUrl }: JsonObject): JsonObject =>
  imageUrl === undefined ? {} : { imageUrl: objectOf(imageUrl).url ?? '' }

export const mistralClient: CreateFamilyClient = (origin, apiKey) => {
  const client = new Mistral({ apiKey, serverURL: origin, retryConfig: { strategy: 'none' } })
  return {
    finish: { stop: 'stop', tools: 'tool_calls' },
    async ask(question) {
      const { stream, signal, onText } = question
      const options = signal === undefined ? {} : { fetchOptions: { signal } }
      const body = requestOf(question) as never
      if (!stream) return readCompletion(snakeCased(await client.chat.complete(body, options)))
      const reader = new ChunkReader()
      for await (const { data } of await client.chat.stream(body, options)) reader.add(snakeCased(data), onText)
      return reader.heard(signal)
    },
    async models() {
      const { data } = await client.models.list()
      return (data ?? []).map((entry) => String((entry as { id?: unknown }).id))
    },
    async embed(inputs) {
      const { data } = await client.embeddings.create({ model: 'demo', inputs: [...inputs] })
      return data.map(({ embedding }) => embedding ?? [])
    },
    statusOf: (error) => (error as { statusCode?: unknown }).statusCode,
  }
}
