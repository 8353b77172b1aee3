import { type Format, GatewayError, openai } from '@modelgate/core'
import {
  type ClientCodec,
  type Codec,
  type JsonObject,
  type Lane,
  redactorOf,
  translateLane,
} from '@modelgate/core/test-support'
import { isObject, type Json, objectOf } from '../base/json.ts'
import type { Carried } from './field-arrival.ts'
import { streamed } from './response-streams.ts'

/** Requests that ask for all optional parts of a response. */
const asking: { readonly [F in Format]: JsonObject } = {
  chat: {
    model: 'probed',
    messages: [{ role: 'user', content: 'hello' }],
    logprobs: true,
    top_logprobs: 3,
    reasoning_effort: 'high',
  },
  messages: {
    model: 'probed',
    max_tokens: 50_000,
    messages: [{ role: 'user', content: 'hello' }],
    thinking: { type: 'adaptive' },
  },
  gemini: {
    model: 'probed',
    contents: [{ role: 'user', parts: [{ text: 'hello' }] }],
    generationConfig: { responseLogprobs: true, logprobs: 3, thinkingConfig: { includeThoughts: true } },
  },
  responses: {
    model: 'probed',
    input: [{ role: 'user', content: 'hello' }],
    include: ['message.output_text.logprobs', 'reasoning.encrypted_content'],
    reasoning: { effort: 'high', summary: 'detailed' },
  },
  ollama: {
    model: 'probed',
    messages: [{ role: 'user', content: 'hello' }],
    think: 'high',
    logprobs: true,
    top_logprobs: 3,
    stream: false,
  },
  converse: {
    model: 'probed',
    messages: [{ role: 'user', content: [{ text: 'hello' }] }],
    additionalModelRequestFields: { thinking: { type: 'adaptive' } },
  },
}
const streaming: { readonly [F in Format]: JsonObject } = {
  chat: { stream: true, stream_options: { include_usage: true } },
  messages: { stream: true },
  gemini: { stream: true },
  responses: { stream: true },
  ollama: { stream: true },
  converse: { stream: true },
}

/** Returns a request that asks for all optional parts of a response. */
export const askingFor = (format: Format, stream: boolean): JsonObject => ({
  ...asking[format],
  ...(stream ? streaming[format] : {}),
})

const encoder = new TextEncoder()
const decoder = new TextDecoder()

function laneOf(upstream: Codec, client: ClientCodec, stream: boolean): Lane {
  let ids = 0
  const value = askingFor(client.format, stream)
  const text = JSON.stringify(value)
  return translateLane({
    client,
    upstream,
    request: { value, fields: value, text, bytes: encoder.encode(text), members: [] },
    target: { model: 'probed', quirks: {} },
    newId: (prefix) => `${prefix}made${ids++}`,
    now: () => 1_800_000_000,
    maxEventChars: 1_000_000,
    maxDepth: 1000,
    toClientErrorInfo: (error) => error,
    redactor: redactorOf(openai()),
    reportsLateLosses: false,
  })
}

const bytesOf = (body: JsonObject): Uint8Array => encoder.encode(JSON.stringify(body))

/** Returns only losses of the response: the request is always the same. */
const answerLosses = ({ report }: Lane): Carried['losses'] => report.losses.filter(({ side }) => side === 'answer')

/** Translates an upstream's unstreamed response to the client's format. A failed response becomes an error. */
export function sendAnswer(upstream: Codec, client: ClientCodec, body: JsonObject): Carried {
  const lane = laneOf(upstream, client, false)
  try {
    const sent = objectOf(JSON.parse(String(lane.readResponse(bytesOf(body)).body)))
    return { sent, losses: answerLosses(lane) }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return { sent: { error: { message: error.message, code: error.info.code ?? null } }, losses: answerLosses(lane) }
  }
}

/** Translates the same response as a stream; the result is the list of its events. */
export function sendStream(upstream: Codec, client: ClientCodec, body: JsonObject): Carried {
  const lane = laneOf(upstream, client, true)
  const stream = lane.openStream()
  stream.push(encoder.encode(streamed[upstream.format](body)))
  stream.end()
  const text = decoder.decode(stream.take())
  const events = text.split('\n').flatMap((line): Json[] => {
    if (!line.startsWith('data: {')) return []
    const event: unknown = JSON.parse(line.slice('data: '.length))
    return isObject(event) ? [event] : []
  })
  return { sent: { events }, losses: answerLosses(lane) }
}
