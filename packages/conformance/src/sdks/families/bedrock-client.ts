import {
  type BedrockRuntimeClient,
  type ContentBlock,
  type ContentBlockDelta,
  ConverseCommand,
  type ConverseCommandInput,
  ConverseStreamCommand,
  type ConverseStreamOutput,
  InvokeModelCommand,
  type Message,
} from '@aws-sdk/client-bedrock-runtime'
import { bedrockRuntime } from '../../base/bedrock-client.ts'
import { listOf, objectOf, parseJson } from '../../base/json.ts'
import { citySchema } from '../context.ts'
import type { Message as AnyMessage, CreateFamilyClient, Heard, Question, ToolCall } from './family-client.ts'

function messageOf(message: AnyMessage): Message {
  switch (message.role) {
    case 'user': {
      const { text, image } = message
      const shown: ContentBlock[] =
        image === undefined ? [] : [{ image: { format: 'png', source: { bytes: Buffer.from(image, 'base64') } } }]
      return { role: 'user', content: [{ text }, ...shown] }
    }
    case 'assistant':
      return message.message as Message
    case 'tool':
      return {
        role: 'user',
        content: [{ toolResult: { toolUseId: message.call.id, content: [{ text: message.result }] } }],
      }
  }
}

/** Returns the messages with the results of parallel calls in one, as Bedrock requires. */
function messagesOf(messages: readonly AnyMessage[]): Message[] {
  const out: Message[] = []
  for (const message of messages.map(messageOf)) {
    const last = out.at(-1)
    if (last !== undefined && last.role === message.role)
      last.content = [...(last.content ?? []), ...(message.content ?? [])]
    else out.push({ ...message })
  }
  return out
}

const tool = (name: string) => ({
  toolSpec: {
    name,
    description: `Knows ${name}`,
    inputSchema: { json: { ...citySchema, required: [...citySchema.required] } },
  },
})

const requestOf = ({ model = 'demo', messages, tools, schema, temperature }: Question): ConverseCommandInput => ({
  modelId: model,
  messages: messagesOf(messages),
  ...(tools === undefined ? {} : { toolConfig: { tools: tools.map(tool) } }),
  ...(temperature === undefined ? {} : { inferenceConfig: { temperature } }),
  ...(schema === undefined
    ? {}
    : {
        outputConfig: {
          textFormat: {
            type: 'json_schema',
            structure: { jsonSchema: { name: 'place', schema: JSON.stringify(schema) } },
          },
        },
      }),
})

const heard = (message: Message, finish: string | undefined, usage: Heard['usage']): Heard => ({
  text: (message.content ?? []).map(({ text = '' }) => text).join(''),
  calls: (message.content ?? []).flatMap(({ toolUse }): ToolCall[] =>
    toolUse === undefined ? [] : [{ id: String(toolUse.toolUseId), name: String(toolUse.name), input: toolUse.input }],
  ),
  message,
  finish: String(finish),
  usage,
})

type Counts = { readonly inputTokens?: number | undefined; readonly outputTokens?: number | undefined }
const usageOf = ({ inputTokens = 0, outputTokens = 0 }: Counts): Heard['usage'] => ({
  input: inputTokens,
  output: outputTokens,
})

/** Collects the blocks of a stream, which AWS's SDK leaves to its users. */
class BlockReader {
  readonly #blocks: { name?: string; id?: string; text: string; input: string }[] = []
  #finish: string | undefined
  #usage: Heard['usage']

  add(
    { contentBlockStart, contentBlockDelta, messageStop, metadata }: ConverseStreamOutput,
    onText: Question['onText'],
  ): void {
    const started = contentBlockStart?.start?.toolUse
    const index = contentBlockStart?.contentBlockIndex ?? contentBlockDelta?.contentBlockIndex
    if (index !== undefined) {
      this.#blocks[index] ??= { text: '', input: '' }
      const block = this.#blocks[index]
      if (started !== undefined) Object.assign(block, { name: started.name, id: started.toolUseId })
      addDelta(block, contentBlockDelta?.delta, onText)
    }
    if (messageStop !== undefined) this.#finish = messageStop.stopReason
    if (metadata?.usage !== undefined) this.#usage = usageOf(metadata.usage)
  }

  heard(): Heard {
    if (this.#finish === undefined) throw new Error('the stream ended without a stop reason')
    const content = this.#blocks.map(
      ({ id, name, text, input }): ContentBlock =>
        id === undefined ? { text } : { toolUse: { toolUseId: id, name, input: parseJson(input) as never } },
    )
    return heard({ role: 'assistant', content }, this.#finish, this.#usage)
  }
}

function addDelta(
  block: { text: string; input: string },
  delta: ContentBlockDelta | undefined,
  onText: Question['onText'],
): void {
  if (delta?.text !== undefined) {
    block.text += delta.text
    onText?.(delta.text)
  }
  block.input += delta?.toolUse?.input ?? ''
}

/** Invokes a model with a body of its vendor, and returns the response's body. */
export async function invoke(client: BedrockRuntimeClient, modelId: string, body: object): Promise<unknown> {
  const response = await client.send(new InvokeModelCommand({ modelId, body: JSON.stringify(body) }))
  return parseJson(new TextDecoder().decode(response.body))
}

export const bedrockClient: CreateFamilyClient = (origin, token) => {
  const client = bedrockRuntime({ origin, token })
  return {
    finish: { stop: 'end_turn', tools: 'tool_use' },
    // AWS's SDKs repeat a call that failed with 502. The gateway has already done so.
    statuses: { 401: 403, 502: 424 },
    async ask(question) {
      const { stream, signal, onText } = question
      const options = signal === undefined ? {} : { abortSignal: signal }
      if (!stream) {
        const { output, stopReason, usage } = await client.send(new ConverseCommand(requestOf(question)), options)
        if (output?.message === undefined) throw new Error('the response has no message')
        return heard(output.message, stopReason, usageOf(usage ?? {}))
      }
      const response = await client.send(new ConverseStreamCommand(requestOf(question)), options)
      const reader = new BlockReader()
      for await (const event of response.stream ?? []) {
        reader.add(event, onText)
        // The SDK's signal ends with the headers.
        signal?.throwIfAborted()
      }
      return reader.heard()
    },
    async embed(texts) {
      const body = { texts, input_type: 'search_document' }
      const { embeddings } = objectOf(await invoke(client, 'demo', body))
      return listOf(embeddings).map((vector) => listOf(vector).map(Number))
    },
    statusOf: (error) => (error as { $metadata?: { httpStatusCode?: unknown } }).$metadata?.httpStatusCode,
  }
}
