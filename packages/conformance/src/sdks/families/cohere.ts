import { CohereClientV2 } from 'cohere-ai'
import { type JsonObject, listOf, objectOf, textOf } from '../../base/json.ts'
import { chatRequest } from './chat-forms.ts'
import type { CreateFamilyClient, Heard, Question } from './family-client.ts'
import { camelCased } from './member-names.ts'

/** The request in the SDK's names. Cohere's form of a schema has no name. */
function requestOf(question: Question): JsonObject {
  const body = camelCased(chatRequest(question))
  const { schema } = question
  return schema === undefined ? body : { ...body, responseFormat: { type: 'json_object', jsonSchema: schema } }
}

/** Collects the events of a stream: the SDK leaves that to its users. */
class EventReader {
  finish = ''
  usage: unknown
  readonly #texts: string[] = []
  readonly #calls: { id: string; type: string; function: { name: string; arguments: string } }[] = []

  add(event: unknown, onText: ((text: string) => void) | undefined): void {
    const { type, index, delta } = objectOf(event)
    const message = objectOf(objectOf(delta).message)
    const call = objectOf(message.toolCalls)
    const { name, arguments: written } = objectOf(call.function)
    if (type === 'content-delta') {
      const text = textOf(objectOf(message.content).text)
      this.#texts.push(text)
      onText?.(text)
    } else if (type === 'tool-call-start')
      this.#calls[Number(index)] = {
        id: textOf(call.id),
        type: 'function',
        function: { name: textOf(name), arguments: textOf(written) },
      }
    else if (type === 'tool-call-delta') {
      const known = this.#calls[Number(index)]
      if (known === undefined) throw new Error('a piece of a call that did not start')
      known.function.arguments += textOf(written)
    } else if (type === 'message-end') this.#end(objectOf(delta))
  }

  #end({ finishReason, error, usage }: JsonObject): void {
    if (finishReason === 'ERROR') throw new Error(textOf(error))
    this.finish = textOf(finishReason)
    this.usage = usage
  }

  heard(signal: AbortSignal | undefined): Heard {
    signal?.throwIfAborted()
    if (this.finish === '') throw new Error('the stream ended without a finish reason')
    const text = this.#texts.join('')
    const content = text === '' ? {} : { content: [{ type: 'text', text }] }
    const calls = this.#calls.length === 0 ? {} : { toolCalls: this.#calls }
    return heardOf({ role: 'assistant', ...content, ...calls }, this.finish, this.usage)
  }
}

function heardOf(message: unknown, finish: string, usage: unknown): Heard {
  const { content, toolCalls } = objectOf(message)
  const { inputTokens: input, outputTokens: output } = objectOf(objectOf(usage).tokens)
  return {
    text: listOf(content)
      .map((part) => textOf(objectOf(part).text))
      .join(''),
    calls: listOf(toolCalls).map((call) => {
      const { name, arguments: written } = objectOf(objectOf(call).function)
      return { id: textOf(objectOf(call).id), name: textOf(name), input: JSON.parse(textOf(written)) }
    }),
    message,
    finish,
    usage: { input: Number(input), output: Number(output) },
  }
}

export const cohereClient: CreateFamilyClient = (origin, token) => {
  const client = new CohereClientV2({ token, environment: origin, maxRetries: 0 })
  return {
    finish: { stop: 'COMPLETE', tools: 'TOOL_CALL' },
    async ask(question) {
      const { stream, signal, onText } = question
      const options = { maxRetries: 0, ...(signal === undefined ? {} : { abortSignal: signal }) }
      const body = requestOf(question) as never
      if (!stream) {
        const { message, finishReason, usage } = await client.chat(body, options)
        return heardOf(message, finishReason, usage)
      }
      const reader = new EventReader()
      for await (const event of await client.chatStream(body, options)) reader.add(event, onText)
      return reader.heard(signal)
    },
    async models() {
      const { models } = await client.models.list()
      return models.map(({ name }) => name ?? '')
    },
    async embed(texts) {
      const request = { model: 'demo', texts: [...texts], inputType: 'search_query' as const }
      const { embeddings } = await client.embed({ ...request, embeddingTypes: ['float'] })
      return embeddings.float ?? []
    },
    statusOf: (error) => (error as { statusCode?: unknown }).statusCode,
  }
}
