import {
  type BedrockRuntimeClient,
  type ContentBlock,
  ConverseCommand,
  ConverseStreamCommand,
  type Message,
  type ToolResultContentBlock,
} from '@aws-sdk/client-bedrock-runtime'
import { citySchema } from '../base/city-schema.ts'
import { joinConverse, readConverse } from '../base/content/converse.ts'
import { type JsonObject, listOf, objectOf, textOf } from '../base/json.ts'
import type { Conversation, ConversationOptions, ConversationResult, Piece } from './conversation.ts'

/** Returns a piece as a block. Images by URL have no block. */
function blockOf(piece: Piece): ContentBlock {
  if ('text' in piece) return { text: piece.text }
  if ('image' in piece) return { image: { format: 'png', source: { bytes: Buffer.from(piece.image, 'base64') } } }
  if ('pdf' in piece)
    return { document: { format: 'pdf', name: 'paper', source: { bytes: Buffer.from(piece.pdf, 'base64') } } }
  if ('audio' in piece) return { audio: { format: 'wav', source: { bytes: Buffer.from(piece.audio, 'base64') } } }
  throw new Error(`Converse has no block for ${JSON.stringify(Object.keys(piece))}`)
}

/** Returns a message as the SDK sends it: bytes in place of base64. */
const sentBack = (message: JsonObject): Message => ({
  role: 'assistant',
  content: listOf(message.content).map((block) => {
    const { redactedContent } = objectOf(objectOf(block).reasoningContent)
    return typeof redactedContent === 'string'
      ? { reasoningContent: { redactedContent: Buffer.from(redactedContent, 'base64') } }
      : (block as unknown as ContentBlock)
  }),
})

const toolNamed = (name: string) => ({
  toolSpec: {
    name,
    description: `Knows ${name}`,
    inputSchema: { json: { ...citySchema, required: [...citySchema.required] } },
  },
})

/** Starts a conversation of AWS's client, which has no accumulator of streams. */
export const startConverseConversation = (
  { bedrock }: { readonly bedrock: BedrockRuntimeClient },
  { model = 'demo', stream, tools, think, tokenLimit, system, extra }: ConversationOptions,
): Conversation => {
  const messages: Message[] = []
  const settings = {
    modelId: model,
    ...(system === undefined ? {} : { system: [{ text: system }] }),
    ...(tools === undefined ? {} : { toolConfig: { tools: tools.map(toolNamed) } }),
    ...(think
      ? { additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 2000, display: 'summarized' } } }
      : {}),
    ...(tokenLimit === undefined ? {} : { inferenceConfig: { maxTokens: tokenLimit } }),
    ...extra,
  }
  let calls: readonly JsonObject[] = []
  const go = async (): Promise<ConversationResult> => {
    let answer: JsonObject | undefined
    let pieces = 1
    if (stream) {
      const events: JsonObject[] = []
      const response = await bedrock.send(new ConverseStreamCommand({ ...settings, messages }))
      for await (const event of response.stream ?? []) events.push(event as unknown as JsonObject)
      pieces = events.filter(
        ({ contentBlockDelta }) => textOf(objectOf(objectOf(contentBlockDelta).delta).text) !== '',
      ).length
      answer = joinConverse(events)
    } else answer = (await bedrock.send(new ConverseCommand({ ...settings, messages }))) as unknown as JsonObject
    const content = readConverse(answer ?? {})
    if (answer === undefined || content === undefined) throw new Error('the SDK returned no complete response')
    const message = objectOf(objectOf(answer.output).message)
    calls = listOf(message.content).flatMap((block) =>
      'toolUse' in objectOf(block) ? [objectOf(objectOf(block).toolUse)] : [],
    )
    messages.push(sentBack(message))
    // Responses name no model.
    return { ...content, finishReason: textOf(answer.stopReason), model, pieces }
  }
  return {
    sendUserMessage(...sent) {
      messages.push({ role: 'user', content: sent.map(blockOf) })
      return go()
    },
    sendToolResults(results) {
      messages.push({
        role: 'user',
        content: calls.map(({ toolUseId, name }) => ({
          toolResult: {
            toolUseId: textOf(toolUseId),
            content: (results[textOf(name)] ?? []).map(blockOf) as ToolResultContentBlock[],
          },
        })),
      })
      return go()
    },
  }
}
