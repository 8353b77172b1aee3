import Anthropic from '@anthropic-ai/sdk'
import { type GenerateContentParameters, type GenerateContentResponse, GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { chatCalls, chatReasoning, chatUsage } from './content/chat.ts'
import type { ResponseContent } from './content/content.ts'
import { readGemini } from './content/gemini.ts'
import { messagesUsage } from './content/messages.ts'
import { readResponsesBody } from './content/responses.ts'
import { type JsonObject, objectOf, textOf } from './json.ts'
import type { Format } from './recorded-traffic.ts'

/** Destination of a client's calls: a server's origin, or a function in the same process. */
export interface ClientTarget {
  readonly origin?: string
  readonly fetch?: typeof fetch
  readonly token?: string
  /** Time limit of a response in milliseconds. Default: 60 s. */
  readonly timeoutMs?: number
}

const options = ({ fetch, token = 'client-token', timeoutMs = 60_000 }: ClientTarget) => ({
  apiKey: token,
  maxRetries: 0,
  timeout: timeoutMs,
  logLevel: 'off' as const,
  ...(fetch === undefined ? {} : { fetch }),
})

/** Creates the official client with another base URL. Retries are off, so that tests see the first failure. */
export const openaiClient = (place: ClientTarget): OpenAI =>
  new OpenAI({
    ...options(place),
    // The environment's organization and project belong to another server.
    organization: null,
    project: null,
    adminAPIKey: null,
    baseURL: `${place.origin ?? 'http://gateway.test'}/v1`,
  })
export const anthropicClient = (place: ClientTarget): Anthropic =>
  new Anthropic({ ...options(place), baseURL: place.origin ?? 'http://gateway.test' })
export const googleClient = ({
  origin = 'http://gateway.test',
  fetch,
  token = 'client-token',
}: ClientTarget): GoogleGenAI =>
  new GoogleGenAI({
    apiKey: token,
    vertexai: false,
    httpOptions: { baseUrl: origin, ...(fetch === undefined ? {} : { fetch }) },
  })

const usageOf = (usage: ResponseContent['usage']): Pick<ResponseContent, 'usage'> =>
  usage === undefined ? {} : { usage }

/** Returns the OpenAI SDK's result for this body, from its own accumulator if it streams. */
async function askChat(client: OpenAI, body: JsonObject): Promise<ResponseContent> {
  let reasoning = ''
  let details = ''
  let usage: ResponseContent['usage']
  let completion: OpenAI.ChatCompletion
  if (body.stream === true) {
    // The recorded body is sent unchanged, so its types are those of the recording.
    const stream = client.chat.completions.stream(body as unknown as OpenAI.ChatCompletionCreateParamsStreaming)
    stream.on('chunk', (chunk) => {
      // The accumulator ignores reasoning and the usage of chunks without an id.
      const wire = chunk as unknown as JsonObject
      usage = chatUsage(wire.usage) ?? usage
      for (const choice of chunk.choices)
        if (choice.index === 0) {
          const delta = objectOf(choice.delta as unknown)
          reasoning += chatReasoning({ ...delta, reasoning_details: null })
          details += chatReasoning({ reasoning_details: delta.reasoning_details ?? null })
        }
    })
    completion = await stream.finalChatCompletion()
    // `reasoning_details` may repeat the streamed reasoning, for clients that send it back.
    if (reasoning === '') reasoning = details
  } else {
    completion = await client.chat.completions.create(body as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming)
    reasoning = chatReasoning(objectOf(completion.choices[0]?.message))
    usage = chatUsage(completion.usage as unknown as JsonObject)
  }
  const message = completion.choices[0]?.message
  if (message === undefined) throw new Error(`The SDK returned no choice: ${JSON.stringify(completion).slice(0, 200)}`)
  return {
    text: textOf(message.content),
    refusal: textOf(message.refusal),
    reasoning,
    tools: chatCalls(objectOf(message)),
    ...usageOf(usage),
  }
}

/** Returns the Anthropic SDK's result for this body, from its own accumulator if it streams. */
async function askMessages(client: Anthropic, body: JsonObject): Promise<ResponseContent> {
  const message =
    body.stream === true
      ? await client.messages.stream(body as unknown as Anthropic.MessageStreamParams).finalMessage()
      : await client.messages.create(body as unknown as Anthropic.MessageCreateParamsNonStreaming)
  if (!Array.isArray(message.content))
    throw new Error(`The SDK returned no content: ${JSON.stringify(message).slice(0, 200)}`)
  const blocks = message.content.filter((block) => block !== undefined)
  return {
    text: blocks.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    refusal: textOf(objectOf(message.stop_details as unknown).explanation),
    reasoning: blocks.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
    tools: blocks.flatMap((block) => (block.type === 'tool_use' ? [{ name: block.name, input: block.input }] : [])),
    ...usageOf(messagesUsage(message.usage as unknown as JsonObject)),
  }
}

/** Returns the Google SDK's result; the SDK has no accumulator. The body is the wire format plus the model. */
async function askGemini(client: GoogleGenAI, { model, stream, ...body }: JsonObject): Promise<ResponseContent> {
  const { contents, generationConfig, ...rest } = body
  const config = { ...objectOf(generationConfig), ...rest }
  const parameters = { model: textOf(model), contents, config } as unknown as GenerateContentParameters
  const chunks: GenerateContentResponse[] = []
  if (stream === true)
    for await (const chunk of await client.models.generateContentStream(parameters)) chunks.push(chunk)
  else chunks.push(await client.models.generateContent(parameters))
  const answer = readGemini(chunks, stream !== true)
  if (answer === undefined) throw new Error(`The SDK returned no response: ${JSON.stringify(chunks).slice(0, 200)}`)
  return answer
}

/** Returns the OpenAI SDK's result for this body on Responses, from its own accumulator if it streams. */
async function askResponses(client: OpenAI, body: JsonObject): Promise<ResponseContent> {
  const response =
    body.stream === true
      ? await client.responses.stream(body as unknown as Parameters<typeof client.responses.stream>[0]).finalResponse()
      : await client.responses.create(body as unknown as OpenAI.Responses.ResponseCreateParamsNonStreaming)
  const answer = readResponsesBody(response)
  if (answer === undefined) throw new Error(`The SDK returned no response: ${JSON.stringify(response).slice(0, 200)}`)
  return answer
}

/** Sends a body with the official client of a format, streamed if the body requests it. */
export function sendWithSdk(format: Format, place: ClientTarget, body: JsonObject): Promise<ResponseContent> {
  switch (format) {
    case 'chat':
      return askChat(openaiClient(place), body)
    case 'messages':
      return askMessages(anthropicClient(place), body)
    case 'gemini':
      return askGemini(googleClient(place), { model: 'recorded', ...body })
    case 'responses':
      return askResponses(openaiClient(place), body)
  }
}
