// The gateway in a typical configuration: authentication, validation, routing, and an onFinish that counts tokens.
import { createGateway, openaiCompatible } from '@modelgate/core'

const apiKey = 'upstream-key'

/**
 * @param {string} upstream origin of the fake provider
 * @param {readonly import('@modelgate/core').Plugin[]} [plugins] further plugins
 */
export function benchGateway(upstream, plugins = []) {
  let tokens = 0
  const gateway = createGateway({
    auth: (token) => (token === 'bench-token' ? { id: 'bench' } : null),
    upstreams: {
      chat: openaiCompatible({ baseURL: `${upstream}/json/v1`, apiKey }),
      messages: openaiCompatible({ baseURL: `${upstream}/json/v1`, apiKey, formats: ['messages'] }),
      stream: openaiCompatible({ baseURL: `${upstream}/stream/v1`, apiKey }),
      messagesStream: openaiCompatible({ baseURL: `${upstream}/stream/v1`, apiKey, formats: ['messages'] }),
    },
    models: {
      'chat-model': 'chat',
      'messages-model': 'messages',
      'stream-model': 'stream',
      'messages-stream-model': 'messagesStream',
    },
    plugins: [
      {
        name: 'meter',
        onFinish: ({ usage }) => {
          tokens += usage?.output.total ?? 0
        },
      },
      ...plugins,
    ],
  })
  return { gateway, tokens: () => tokens }
}
