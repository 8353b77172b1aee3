import type { Message, Ollama, Tool, ToolCall } from 'ollama'
import { citySchema } from '../base/city-schema.ts'
import type { ResponseContent } from '../base/content/content.ts'
import { readOllama } from '../base/content/ollama.ts'
import { textOf } from '../base/json.ts'
import type { Conversation, ConversationOptions, ConversationResult, Piece } from './conversation.ts'

/** Returns a tool with one argument, `city`. */
export const ollamaTool = (name: string): Tool => ({
  type: 'function',
  function: { name, description: `Knows ${name}`, parameters: { ...citySchema, required: [...citySchema.required] } },
})

/** Text and images of a message; Ollama has no other media. */
function contentOf(pieces: readonly Piece[]): { content: string; images?: string[] } {
  const images = pieces.flatMap((piece) => ('image' in piece ? [piece.image] : []))
  const content = pieces.flatMap((piece) => ('text' in piece ? [piece.text] : [])).join('\n')
  return { content, ...(images.length > 0 ? { images } : {}) }
}

/** Returns the message that a client sends back for a response. */
export const sentBack = ({ text, reasoning }: ResponseContent, calls: readonly ToolCall[]): Message => ({
  role: 'assistant',
  content: text,
  ...(reasoning === '' ? {} : { thinking: reasoning }),
  ...(calls.length === 0 ? {} : { tool_calls: [...calls] }),
})

/** Starts a conversation of Ollama's client. */
export const startOllamaConversation = (
  { ollama }: { readonly ollama: Ollama },
  { model = 'demo', stream, tools, think, tokenLimit, system, extra }: ConversationOptions,
): Conversation => {
  const messages: Message[] = system === undefined ? [] : [{ role: 'system', content: system }]
  const settings = {
    model,
    ...(tools === undefined ? {} : { tools: tools.map(ollamaTool) }),
    ...(think ? { think: true } : {}),
    ...(tokenLimit === undefined ? {} : { options: { num_predict: tokenLimit } }),
    ...extra,
  }
  let calls: readonly ToolCall[] = []
  const go = async (): Promise<ConversationResult> => {
    const chunks = []
    if (stream) for await (const chunk of await ollama.chat({ ...settings, messages, stream: true })) chunks.push(chunk)
    else chunks.push(await ollama.chat({ ...settings, messages }))
    const answer = readOllama(chunks)
    const last = chunks.at(-1)
    if (answer === undefined || last === undefined) throw new Error(`no response in ${JSON.stringify(chunks)}`)
    calls = chunks.flatMap(({ message }) => message.tool_calls ?? [])
    messages.push(sentBack(answer, calls))
    const pieces = chunks.filter(({ message }) => textOf(message.content) !== '').length
    return { ...answer, finishReason: last.done_reason, model: last.model, pieces }
  }
  return {
    sendUserMessage(...pieces) {
      messages.push({ role: 'user', ...contentOf(pieces) })
      return go()
    },
    sendToolResults(results) {
      for (const { function: called } of calls)
        messages.push({ role: 'tool', tool_name: called.name, ...contentOf(results[called.name] ?? []) })
      return go()
    },
  }
}
