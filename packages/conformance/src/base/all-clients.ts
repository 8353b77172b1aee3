import { askConverse } from './bedrock-client.ts'
import type { ClientFormat } from './client-formats.ts'
import type { ResponseContent } from './content/content.ts'
import type { JsonObject } from './json.ts'
import { askOllama } from './ollama-client.ts'
import { type ClientTarget, sendWithSdk } from './sdk-clients.ts'

type Send = (place: ClientTarget, body: JsonObject) => Promise<ResponseContent>

const senders: Readonly<Record<ClientFormat, Send>> = {
  chat: (place, body) => sendWithSdk('chat', place, body),
  messages: (place, body) => sendWithSdk('messages', place, body),
  gemini: (place, body) => sendWithSdk('gemini', place, body),
  responses: (place, body) => sendWithSdk('responses', place, body),
  ollama: askOllama,
  converse: askConverse,
}

/** Sends a body with the official client of a format, streamed if the body requests it. */
export const sendWithClient = (format: ClientFormat, place: ClientTarget, body: JsonObject): Promise<ResponseContent> =>
  senders[format](place, body)
