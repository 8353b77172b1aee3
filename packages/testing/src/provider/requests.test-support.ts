import type { JsonObject } from '../base/json.ts'
import type { FakeFormat } from '../contract/request.ts'
import type { FakeProvider } from './provider.ts'

/** Requests for this package's own tests. */
export const chatBody = (content: string, more: JsonObject = {}): JsonObject => ({
  model: 'demo-chat',
  messages: [{ role: 'user', content }],
  ...more,
})

export const messagesBody = (content: string, more: JsonObject = {}): JsonObject => ({
  model: 'demo-messages',
  max_tokens: 1000,
  messages: [{ role: 'user', content }],
  ...more,
})

export const geminiBody = (content: string, more: JsonObject = {}): JsonObject => ({
  contents: [{ role: 'user', parts: [{ text: content }] }],
  ...more,
})

export const responsesBody = (content: string, more: JsonObject = {}): JsonObject => ({
  model: 'demo-responses',
  input: content,
  ...more,
})

const bodies = { chat: chatBody, messages: messagesBody, gemini: geminiBody, responses: responsesBody }
export const formats = ['chat', 'messages', 'gemini', 'responses'] as const satisfies FakeFormat[]

/** Returns the path of a format, including the model and streaming if they belong in the path. */
export const pathOf = (format: FakeFormat, stream = false): string =>
  ({
    chat: '/v1/chat/completions',
    messages: '/v1/messages',
    gemini: `/v1beta/models/demo-gemini:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    responses: '/v1/responses',
  })[format]

/** Returns a body with streaming, if it belongs in the body. */
export const bodyOf = (format: FakeFormat, text: string, stream: boolean): JsonObject =>
  bodies[format](text, format === 'gemini' ? {} : { stream })

export const requestTo = (path: string, body: JsonObject | string, headers: Record<string, string> = {}): Request =>
  new Request(`http://fake.invalid${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-api-key': 'k',
      ...(path.includes('/models/') ? { 'x-goog-api-key': 'k' } : {}),
      authorization: 'Bearer k',
      'anthropic-version': '2023-06-01',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

/** Returns one request with a user text, in a format. */
export const call = (
  provider: FakeProvider,
  format: FakeFormat,
  text: string,
  more: JsonObject = {},
): Promise<Response> => {
  const { stream, ...rest } = more
  const body = format === 'gemini' ? rest : more
  return provider.fetch(requestTo(pathOf(format, stream === true), bodies[format](text, body)))
}

/** Returns the data of a stream's events, parsed if it is JSON. */
export const eventsOf = (text: string): { event: string | undefined; data: unknown }[] =>
  text
    .replaceAll('\r\n', '\n')
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => {
      const event = /^event: (.*)$/m.exec(block)?.[1]
      const data = /^data: (.*)$/m.exec(block)?.[1] ?? ''
      try {
        return { event, data: JSON.parse(data) as unknown }
      } catch {
        return { event, data }
      }
    })
