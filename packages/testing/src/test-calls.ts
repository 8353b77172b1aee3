import type { FakeProvider } from './provider.ts'
import type { JsonObject } from './types.ts'

/** Calls for this package's own tests. */
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

const bodies = { chat: chatBody, messages: messagesBody }
export const paths = { chat: '/v1/chat/completions', messages: '/v1/messages' } as const

export const requestTo = (path: string, body: JsonObject | string, headers: Record<string, string> = {}): Request =>
  new Request(`http://fake.invalid${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-api-key': 'k',
      authorization: 'Bearer k',
      'anthropic-version': '2023-06-01',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

/** One call with a user text, in a format. */
export const call = (
  provider: FakeProvider,
  format: 'chat' | 'messages',
  text: string,
  more: JsonObject = {},
): Promise<Response> => provider.fetch(requestTo(paths[format], bodies[format](text, more)))

/** The data of a stream's events, parsed where it is JSON. */
export const eventsOf = (text: string): { event: string | undefined; data: unknown }[] =>
  text
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
