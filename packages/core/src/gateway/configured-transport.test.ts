import { expect, it } from 'vitest'
import type { Transport } from '../http/transport.ts'
import { openai } from '../upstreams/openai.ts'
import { adapterFunctions } from './adapter.ts'
import { createGateway } from './create-gateway.ts'

const completion = JSON.stringify({
  id: 'c',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
})

const config = {
  auth: 'none',
  upstreams: { up: openai({ apiKey: 'k' }) },
  models: { '*': 'up' },
  logger: false,
} as const

it('sends calls through the configured transport even if the adapter passes its own', async () => {
  const urls: string[] = []
  const transport: Transport = async ({ url }) => {
    urls.push(url)
    return {
      status: 200,
      header: (name) => (name === 'content-type' ? 'application/json' : undefined),
      bytes: async () => new TextEncoder().encode(completion),
      stream: async function* () {},
      discard: () => {},
    }
  }
  const adapterTransport: Transport = () => Promise.reject(new Error('the transport of the adapter was called'))
  const gateway = createGateway({ ...config, transport })
  const body = new TextEncoder().encode('{"model":"m","messages":[{"role":"user","content":"x"}]}')
  const reply = await adapterFunctions(gateway).handle(
    {
      method: 'POST',
      path: '/v1/chat/completions',
      query: '',
      header: (name) => (name === 'content-type' ? 'application/json' : undefined),
      read: async () => body,
      signal: new AbortController().signal,
    },
    adapterTransport,
  )
  expect([reply.status, urls]).toEqual([200, ['https://api.openai.com/v1/chat/completions']])
})

it('rejects a transport that is not a function, and a transport combined with fetch, when the gateway is created', () => {
  const notOne = 'undici' as unknown as Transport
  expect(() => createGateway({ ...config, transport: notOne })).toThrow('transport is not a function')
  const transport: Transport = () => Promise.reject(new Error('unused'))
  expect(() => createGateway({ ...config, transport, fetch })).toThrow('fetch and transport are both set')
})
