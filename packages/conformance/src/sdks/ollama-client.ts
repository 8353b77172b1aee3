import type { ChatRequest, ChatResponse, Message } from 'ollama'
import { readOllama } from '../base/content/ollama.ts'
import { ollamaClient } from '../base/ollama-client.ts'
import type { Message as AnyMessage, CreateFamilyClient, Heard, Question } from './families/family-client.ts'
import { ollamaTool, sentBack } from './ollama-conversation.ts'

function messageOf(message: AnyMessage): Message {
  switch (message.role) {
    case 'user':
      return {
        role: 'user',
        content: message.text,
        ...(message.image === undefined ? {} : { images: [message.image] }),
      }
    case 'assistant':
      return message.message as Message
    case 'tool':
      return { role: 'tool', tool_name: message.call.name, content: message.result }
  }
}

const requestOf = ({ model = 'demo', messages, tools, schema, temperature }: Question): ChatRequest => ({
  model,
  messages: messages.map(messageOf),
  ...(tools === undefined ? {} : { tools: tools.map(ollamaTool) }),
  ...(schema === undefined ? {} : { format: schema }),
  ...(temperature === undefined ? {} : { options: { temperature } }),
})

/** Reads a response; the ids of its calls are their places, since clients send none back. */
function heard(chunks: readonly ChatResponse[]): Heard {
  const answer = readOllama(chunks)
  const last = chunks.at(-1)
  if (answer === undefined || last === undefined) throw new Error(`no response in ${JSON.stringify(chunks)}`)
  const calls = chunks.flatMap(({ message }) => message.tool_calls ?? [])
  return {
    text: answer.text,
    calls: answer.tools.map(({ name, input }, at) => ({ id: String(at), name, input })),
    message: sentBack(answer, calls),
    finish: last.done_reason,
    usage: answer.usage,
  }
}

/** Ollama's official client. It can abort only the responses that it streams, so signals are given to its `fetch`. */
export const ollamaFamilyClient: CreateFamilyClient = (origin, token, fetch) => {
  const clientWith = (signal: AbortSignal | undefined) =>
    ollamaClient({
      origin,
      token,
      fetch: (input, init) => {
        const signals = [signal, init?.signal].filter((one) => one !== undefined && one !== null)
        return fetch(input, { ...init, ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }) })
      },
    })
  const client = clientWith(undefined)
  return {
    finish: { stop: 'stop', tools: 'stop' },
    async ask(question) {
      const { stream, signal, onText } = question
      const request = requestOf(question)
      if (!stream) return heard([await clientWith(signal).chat({ ...request, stream: false })])
      const chunks: ChatResponse[] = []
      const parts = await client.chat({ ...request, stream: true })
      signal?.addEventListener('abort', () => parts.abort())
      for await (const part of parts) {
        chunks.push(part)
        if (part.message.content !== '') onText?.(part.message.content)
      }
      return heard(chunks)
    },
    async models() {
      const { models } = await client.list()
      return models.map(({ name }) => name.replace(/:latest$/, ''))
    },
    embed: async (input) => (await client.embed({ model: 'demo', input: [...input] })).embeddings,
    statusOf: (error) => (error as { status_code?: unknown }).status_code,
  }
}
