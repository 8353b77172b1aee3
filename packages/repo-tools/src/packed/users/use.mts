// A user's TypeScript: every package, by its types. Compiled as .mts and, under the name .cts, as CommonJS.

import { createServer } from 'node:http'
import { consolePages } from '@modelgate/console'
import { createGateway, type Gateway, GatewayError, openai } from '@modelgate/core'
import { expressMiddleware } from '@modelgate/express'
import { fastifyPlugin } from '@modelgate/fastify'
import { honoMiddleware } from '@modelgate/hono'
import { nodeListener, nodeUpgrade } from '@modelgate/node'
import { otel } from '@modelgate/otel'
import { createFakeProvider } from '@modelgate/testing'
import { createTokens, memoryStorage, type Tokens } from '@modelgate/tokens'
import express from 'express'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import { defineConfig } from 'modelgate'

const provider = createFakeProvider()
const tokens: Tokens = createTokens({ storage: memoryStorage() })
const gateway: Gateway = createGateway({
  auth: tokens.authenticate,
  upstreams: { openai: openai({ apiKey: 'any' }) },
  models: { 'gpt-*': 'openai' },
  plugins: [consolePages(), otel(), { name: 'meter', onFinish: ({ usage }) => void usage?.input.total }],
  fetch: provider.fetch,
})
// @ts-expect-error an upstream that is not there is a compile error
export const misspelt = () => createGateway({ auth: 'none', upstreams: {}, models: { m: 'openia' } })
export const config = defineConfig({ upstreams: { openai: openai({ apiKey: 'any' }) }, models: { 'gpt-*': 'openai' } })

express().use(expressMiddleware(gateway))
fastify().register(fastifyPlugin(gateway), { prefix: '/ai' })
new Hono().use('/ai/*', honoMiddleware(gateway))
createServer(nodeListener(gateway)).on('upgrade', nodeUpgrade(gateway))

async function main(): Promise<void> {
  const { secret } = await tokens.issue({ owner: 'ada', limits: { requests: 60 } })
  const response = await gateway.fetch('http://gateway/v1/messages', {
    method: 'POST',
    headers: { 'x-api-key': secret, 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-5', max_tokens: 100, messages: [{ role: 'user', content: '[[say:typed]]' }] }),
  })
  const { content } = (await response.json()) as { content: { text: string }[] }
  console.log(content[0]?.text, new GatewayError('invalid_request', 'x') instanceof Error)
}
void main()
