// The fake provider inside the runtime, as the gateway's `fetch`: users test their own apps this way.
import { createGateway, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { tried } from './in-process.js'

/** @returns {Promise<import('./in-process.js').Tried[]>} */
export async function offline() {
  const provider = createFakeProvider()
  const gateway = createGateway({
    auth: 'none',
    upstreams: { openai: openai({ apiKey: 'any' }) },
    models: { '*': 'openai' },
    fetch: provider.fetch,
    logger: false,
  })
  /** @param {string} path @param {object} body */
  const post = async (path, body) => {
    const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' }
    return gateway.fetch(`http://gateway${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  }
  const messages = [{ role: 'user', content: '[[say:no other model]]' }]
  return [
    await tried(
      'JSON, translated',
      async () => {
        const response = await post('/v1/messages', { model: 'any', max_tokens: 100, messages })
        return (await response.json()).content[0].text
      },
      'no other model',
    ),
    await tried(
      'a stream, translated',
      async () => {
        const response = await post('/v1/messages', { model: 'any', max_tokens: 100, messages, stream: true })
        const text = await response.text()
        return [...text.matchAll(/"text_delta","text":"([^"]*)"/g)].map(([, word]) => word).join('')
      },
      'no other model',
    ),
    await tried('the request is recorded', async () => `${provider.requests.length} calls`, '2 calls'),
  ]
}
