import { type JsonObject, listOf, objectOf } from '../../base/json.ts'
import { citySchema } from '../context.ts'
import type { Heard, Message, Question } from './family-client.ts'

/** The arguments of a call, which some SDKs parse. */
const inputOf = (written: unknown): unknown => (typeof written === 'string' ? JSON.parse(written) : written)

/** A tool in OpenAI's form, which most vendors share. */
const functionTool = (name: string): JsonObject => ({
  type: 'function',
  function: { name, description: `Knows ${name}`, parameters: objectOf(citySchema) },
})

/** Messages in OpenAI's form, which most vendors share. */
const chatMessages = (messages: readonly Message[]): JsonObject[] => messages.map(chatMessage)

function chatMessage(message: Message): JsonObject {
  if (message.role === 'assistant') return objectOf(message.message)
  if (message.role === 'tool') return { role: 'tool', tool_call_id: message.call.id, content: message.result }
  const { text, image } = message
  if (image === undefined) return { role: 'user', content: text }
  const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${image}` } }
  return { role: 'user', content: [{ type: 'text', text }, picture] }
}

/** Collects the chunks of a stream in OpenAI's form: SDKs without a reader of their own leave that to their users. */
export class ChunkReader {
  text = ''
  finish = ''
  usage: Heard['usage']
  readonly #calls: { id: string; name: string; arguments: string }[] = []

  add(chunk: unknown, onText: ((text: string) => void) | undefined): void {
    const { choices, usage } = objectOf(chunk)
    this.#addUsage(usage)
    for (const choice of listOf(choices).map(objectOf)) {
      const { content, tool_calls } = objectOf(choice.delta)
      if (typeof content === 'string' && content !== '') {
        this.text += content
        onText?.(content)
      }
      if (typeof choice.finish_reason === 'string') this.finish = choice.finish_reason
      for (const call of listOf(tool_calls ?? []).map(objectOf)) {
        const { id, index } = call
        const { name, arguments: more } = objectOf(call.function)
        const known = this.#calls[Number(index)] ?? { id: '', name: '', arguments: '' }
        this.#calls[Number(index)] = {
          id: typeof id === 'string' ? id : known.id,
          name: typeof name === 'string' ? name : known.name,
          arguments: known.arguments + (typeof more === 'string' ? more : ''),
        }
      }
    }
  }

  #addUsage(usage: unknown): void {
    const { prompt_tokens: input, completion_tokens: output } = objectOf(usage ?? {})
    if (typeof input === 'number' && typeof output === 'number') this.usage = { input, output }
  }

  /** @param signal some SDKs end a stream that was aborted without an exception */
  heard(signal: AbortSignal | undefined): Heard {
    signal?.throwIfAborted()
    if (this.finish === '') throw new Error('the stream ended without a finish reason')
    const calls = this.#calls.map(({ id, name, arguments: input }) => ({ id, name, input: JSON.parse(input) }))
    const tool_calls = this.#calls.map(({ id, ...call }) => ({ id, type: 'function', function: call }))
    const message = { role: 'assistant', content: this.text, ...(calls.length === 0 ? {} : { tool_calls }) }
    return { text: this.text, calls, message, finish: this.finish, usage: this.usage }
  }
}

/** Reads a whole response in OpenAI's form. */
export function readCompletion(completion: unknown): Heard {
  const { choices, usage } = objectOf(completion)
  const choice = objectOf(listOf(choices)[0])
  const message = objectOf(choice.message)
  const { prompt_tokens: input, completion_tokens: output } = objectOf(usage)
  return {
    text: typeof message.content === 'string' ? message.content : '',
    calls: listOf(message.tool_calls ?? []).map((call) => {
      const { name, arguments: written } = objectOf(objectOf(call).function)
      return { id: String(objectOf(call).id), name: String(name), input: inputOf(written) }
    }),
    message,
    finish: String(choice.finish_reason),
    usage: { input: Number(input), output: Number(output) },
  }
}

/** A request in OpenAI's form, which most vendors share. */
export const chatRequest = ({ model = 'demo', messages, tools, schema, temperature }: Question): JsonObject => ({
  model,
  messages: chatMessages(messages),
  ...(tools === undefined ? {} : { tools: tools.map(functionTool) }),
  ...(temperature === undefined ? {} : { temperature }),
  ...(schema === undefined
    ? {}
    : { response_format: { type: 'json_schema', json_schema: { name: 'place', schema, strict: true } } }),
})
