import type Anthropic from '@anthropic-ai/sdk'
import type { FunctionCall, GenerateContentResponse, Part } from '@google/genai'
import type OpenAI from 'openai'
import { citySchema } from '../base/city-schema.ts'
import { chatCalls, chatReasoning, chatUsage } from '../base/content/chat.ts'
import { readGemini } from '../base/content/gemini.ts'
import { messagesUsage } from '../base/content/messages.ts'
import { readResponsesBody } from '../base/content/responses.ts'
import { objectOf, textOf } from '../base/json.ts'
import type { Format } from '../base/recorded-traffic.ts'
import type { ConversationResult, Piece, StartConversation } from './conversation.ts'

/**
 * Converts content to chat parts. The types allow only text in tool messages, but servers that accept more are common.
 */
function chatPart(piece: Piece): OpenAI.ChatCompletionContentPart {
  if ('text' in piece) return { type: 'text', text: piece.text }
  if ('image' in piece) return { type: 'image_url', image_url: { url: `data:image/png;base64,${piece.image}` } }
  if ('imageAt' in piece) return { type: 'image_url', image_url: { url: piece.imageAt } }
  if ('audio' in piece) return { type: 'input_audio', input_audio: { data: piece.audio, format: 'wav' } }
  return { type: 'file', file: { filename: 'paper.pdf', file_data: `data:application/pdf;base64,${piece.pdf}` } }
}

interface Heard {
  readonly completion: OpenAI.ChatCompletion
  readonly reasoning: string
  readonly pieces: number
}

const startChatConversation: StartConversation = (
  { openai },
  { model = 'demo', stream, tools, think, tokenLimit, system, extra },
) => {
  const messages: OpenAI.ChatCompletionMessageParam[] =
    system === undefined ? [] : [{ role: 'system', content: system }]
  const limit = tokenLimit ?? (think ? 32_000 : undefined)
  const settings = {
    model,
    ...(tools === undefined
      ? {}
      : { tools: tools.map((name) => ({ type: 'function' as const, function: { name, parameters: citySchema } })) }),
    ...(think ? { reasoning_effort: 'high' as const } : {}),
    ...(limit === undefined ? {} : { max_completion_tokens: limit }),
    ...extra,
  }
  let calls: readonly OpenAI.ChatCompletionMessageToolCall[] = []
  const whole = async (): Promise<Heard> => {
    const completion = await openai.chat.completions.create({ ...settings, messages })
    return { completion, reasoning: chatReasoning(objectOf(completion.choices[0]?.message)), pieces: 1 }
  }
  const streamed = async (): Promise<Heard> => {
    const body = { ...settings, messages, stream: true as const, stream_options: { include_usage: true } }
    const stream = openai.chat.completions.stream(body)
    let reasoning = ''
    let pieces = 0
    // The accumulator keeps only the last piece of an unknown text field.
    stream.on('chunk', ({ choices }) => {
      const { reasoning_details: _, ...delta } = objectOf(choices[0]?.delta)
      reasoning += chatReasoning(delta)
      if (textOf(delta.content) !== '') pieces++
    })
    return { completion: await stream.finalChatCompletion(), reasoning, pieces }
  }
  const go = async (): Promise<ConversationResult> => {
    const { completion, reasoning, pieces } = stream ? await streamed() : await whole()
    const [choice] = completion.choices
    if (choice === undefined) throw new Error('no choice')
    const { message } = choice
    messages.push(message)
    calls = message.tool_calls ?? []
    const usage = chatUsage(objectOf(completion.usage))
    return {
      text: textOf(message.content),
      refusal: textOf(message.refusal),
      reasoning,
      tools: chatCalls(objectOf(message)),
      finishReason: choice.finish_reason,
      model: textOf(completion.model),
      pieces,
      ...(usage === undefined ? {} : { usage }),
    }
  }
  return {
    sendUserMessage(...pieces) {
      messages.push({ role: 'user', content: pieces.map(chatPart) })
      return go()
    },
    sendToolResults(results) {
      for (const call of calls) {
        const name = call.type === 'function' ? call.function.name : call.custom.name
        const content = (results[name] ?? []).map(chatPart) as OpenAI.ChatCompletionContentPartText[]
        messages.push({ role: 'tool', tool_call_id: call.id, content })
      }
      return go()
    },
  }
}

function geminiPart(piece: Piece): Part {
  if ('text' in piece) return { text: piece.text }
  if ('image' in piece) return { inlineData: { mimeType: 'image/png', data: piece.image } }
  if ('imageAt' in piece) return { fileData: { mimeType: 'image/png', fileUri: piece.imageAt } }
  if ('audio' in piece) return { inlineData: { mimeType: 'audio/wav', data: piece.audio } }
  return { inlineData: { mimeType: 'application/pdf', data: piece.pdf } }
}

const hasText = ({ candidates }: GenerateContentResponse): boolean =>
  (candidates?.[0]?.content?.parts ?? []).some(({ text = '', thought }) => text !== '' && thought !== true)

/** Uses the SDK's own chat, which sends back every chunk of a stream as a separate content. */
const startGeminiConversation: StartConversation = (
  { google },
  { model = 'demo', stream, tools, think, tokenLimit, system, extra },
) => {
  const chat = google.chats.create({
    model,
    config: {
      ...(system === undefined ? {} : { systemInstruction: system }),
      ...(tools === undefined
        ? {}
        : { tools: [{ functionDeclarations: tools.map((name) => ({ name, parametersJsonSchema: citySchema })) }] }),
      ...(think ? { thinkingConfig: { includeThoughts: true, thinkingBudget: 4096 } } : {}),
      ...(tokenLimit === undefined ? {} : { maxOutputTokens: tokenLimit }),
      ...extra,
    },
  })
  let calls: readonly FunctionCall[] = []
  const go = async (message: Part[]): Promise<ConversationResult> => {
    const chunks: GenerateContentResponse[] = []
    if (stream) for await (const chunk of await chat.sendMessageStream({ message })) chunks.push(chunk)
    else chunks.push(await chat.sendMessage({ message }))
    calls = chunks.flatMap((chunk) => chunk.functionCalls ?? [])
    const answer = readGemini(chunks, !stream)
    if (answer === undefined) throw new Error(`no response in ${JSON.stringify(chunks)}`)
    const last = chunks.at(-1)
    return {
      ...answer,
      finishReason: last?.candidates?.[0]?.finishReason ?? last?.promptFeedback?.blockReason ?? '',
      model: last?.modelVersion ?? '',
      pieces: chunks.filter(hasText).length,
    }
  }
  return {
    sendUserMessage: (...pieces) => go(pieces.map(geminiPart)),
    sendToolResults: (results) =>
      go(
        calls.map(({ id, name = '' }): Part => {
          const pieces = results[name] ?? []
          const text = pieces.flatMap((piece) => ('text' in piece ? [piece.text] : []))
          const shown = pieces.filter((piece) => !('text' in piece)).map(geminiPart)
          return {
            functionResponse: {
              name,
              ...(id === undefined ? {} : { id }),
              response: text.length > 0 ? { output: text.join('\n') } : {},
              ...(shown.length > 0 ? { parts: shown as NonNullable<Part['functionResponse']>['parts'] & object } : {}),
            },
          }
        }),
      ),
  }
}

type MessagesBlock = Anthropic.TextBlockParam | Anthropic.ImageBlockParam | Anthropic.DocumentBlockParam

function messagesBlock(piece: Piece): MessagesBlock {
  if ('text' in piece) return { type: 'text', text: piece.text }
  if ('image' in piece) return { type: 'image', source: { type: 'base64', media_type: 'image/png', data: piece.image } }
  if ('imageAt' in piece) return { type: 'image', source: { type: 'url', url: piece.imageAt } }
  if ('pdf' in piece)
    return {
      type: 'document',
      title: 'paper.pdf',
      source: { type: 'base64', media_type: 'application/pdf', data: piece.pdf },
    }
  throw new Error('Messages has no audio')
}

const startMessagesConversation: StartConversation = (
  { anthropic },
  { model = 'demo', stream, tools, think, tokenLimit, system, extra },
) => {
  const messages: Anthropic.MessageParam[] = []
  const settings = {
    model,
    max_tokens: tokenLimit ?? 8192,
    ...(system === undefined ? {} : { system }),
    ...(tools === undefined ? {} : { tools: tools.map((name) => ({ name, input_schema: mutableSchema() })) }),
    ...(think ? { thinking: { type: 'enabled' as const, budget_tokens: 4096, display: 'summarized' as const } } : {}),
    ...extra,
  }
  let calls: readonly Anthropic.ToolUseBlock[] = []
  const go = async (): Promise<ConversationResult> => {
    let pieces = 0
    const streamed = (): Promise<Anthropic.Message> =>
      anthropic.messages
        .stream({ ...settings, messages })
        .on('text', () => void pieces++)
        .finalMessage()
    const message = stream ? await streamed() : await anthropic.messages.create({ ...settings, messages })
    const { content } = message
    if (content.length > 0) messages.push({ role: 'assistant', content })
    calls = content.filter((block) => block.type === 'tool_use')
    const usage = messagesUsage(objectOf(message.usage))
    return {
      text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
      refusal: textOf(objectOf(message.stop_details).explanation),
      reasoning: content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
      tools: calls.map(({ name, input }) => ({ name, input })),
      finishReason: message.stop_reason ?? '',
      model: textOf(message.model),
      pieces: stream ? pieces : 1,
      ...(usage === undefined ? {} : { usage }),
    }
  }
  return {
    sendUserMessage(...pieces) {
      messages.push({ role: 'user', content: pieces.map(messagesBlock) })
      return go()
    },
    sendToolResults(results) {
      const content = calls.map(({ id, name }) => ({
        type: 'tool_result' as const,
        tool_use_id: id,
        content: (results[name] ?? []).map(messagesBlock),
      }))
      messages.push({ role: 'user', content })
      return go()
    },
  }
}

const mutableSchema = (): Anthropic.Tool.InputSchema => ({ ...citySchema, required: [...citySchema.required] })

type ResponsesPart =
  | OpenAI.Responses.ResponseInputText
  | OpenAI.Responses.ResponseInputImage
  | OpenAI.Responses.ResponseInputFile

function responsesPart(piece: Piece): ResponsesPart {
  if ('text' in piece) return { type: 'input_text', text: piece.text }
  if ('image' in piece)
    return { type: 'input_image', detail: 'auto', image_url: `data:image/png;base64,${piece.image}` }
  if ('imageAt' in piece) return { type: 'input_image', detail: 'auto', image_url: piece.imageAt }
  if ('pdf' in piece)
    return { type: 'input_file', filename: 'paper.pdf', file_data: `data:application/pdf;base64,${piece.pdf}` }
  // The API has it, but this version's types do not.
  return { type: 'input_audio', input_audio: { data: piece.audio, format: 'wav' } } as unknown as ResponsesPart
}

/** Works without a store, like agents: sends back every item, including encrypted reasoning. */
const startResponsesConversation: StartConversation = (
  { openai },
  { model = 'demo', stream, tools, think, tokenLimit, system, extra },
) => {
  const input: OpenAI.Responses.ResponseInputItem[] = []
  const settings = {
    model,
    store: false,
    ...(system === undefined ? {} : { instructions: system }),
    ...(tools === undefined
      ? {}
      : {
          tools: tools.map((name) => ({ type: 'function' as const, name, parameters: citySchema, strict: true })),
        }),
    ...(think
      ? {
          reasoning: { effort: 'high' as const, summary: 'auto' as const },
          include: ['reasoning.encrypted_content' as const],
        }
      : {}),
    ...(tokenLimit === undefined ? {} : { max_output_tokens: tokenLimit }),
    ...extra,
  }
  let calls: readonly OpenAI.Responses.ResponseFunctionToolCall[] = []
  const go = async (): Promise<ConversationResult> => {
    let pieces = 0
    const streamed = (): Promise<OpenAI.Responses.Response> =>
      openai.responses
        .stream({ ...settings, input })
        .on('response.output_text.delta', () => void pieces++)
        .finalResponse()
    const response = stream ? await streamed() : await openai.responses.create({ ...settings, input })
    for (const item of response.output) input.push(sendable(item))
    calls = response.output.flatMap((item) => (item.type === 'function_call' ? [item] : []))
    const answer = readResponsesBody(response)
    if (answer === undefined) throw new Error(`no response in ${JSON.stringify(response)}`)
    const end = response.incomplete_details?.reason ?? response.status ?? ''
    return { ...answer, finishReason: end, model: textOf(response.model), pieces: stream ? pieces : 1 }
  }
  return {
    sendUserMessage(...pieces) {
      input.push({ role: 'user', content: pieces.map(responsesPart) })
      return go()
    },
    sendToolResults(results) {
      for (const call of calls)
        input.push({
          type: 'function_call_output',
          call_id: call.call_id,
          output: (results[call.name] ?? []).map(responsesPart),
        })
      return go()
    },
  }
}

/** Removes fields that the SDK's helper adds (`parsed…`). */
function sendable(item: OpenAI.Responses.ResponseOutputItem): OpenAI.Responses.ResponseInputItem {
  const { parsed_arguments: _, ...rest } = objectOf(item)
  const content = Array.isArray(rest.content)
    ? rest.content.map((part) => {
        const { parsed: _parsed, ...own } = objectOf(part)
        return own
      })
    : undefined
  return { ...rest, ...(content === undefined ? {} : { content }) } as unknown as OpenAI.Responses.ResponseInputItem
}

/** The four official clients. */
export const conversationStarters: Readonly<Record<Format, StartConversation>> = {
  chat: startChatConversation,
  messages: startMessagesConversation,
  gemini: startGeminiConversation,
  responses: startResponsesConversation,
}
