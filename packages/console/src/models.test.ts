import { createGateway, openai } from '@modelgate/core'
import { expect, it } from 'vitest'
import { consolePages } from './index.ts'

const make = (basePath: string) =>
  createGateway({
    auth: (token) => (token === 'right' ? { id: 'me', models: ['gpt-5.4', 'text-embedding-3-small'] } : null),
    upstreams: { secretive: openai({ apiKey: 'sk-hidden-0123456789' }) },
    models: {
      'gpt-5.4': { upstream: 'secretive', model: 'gpt-5.4-hidden' },
      'text-embedding-3-small': 'secretive',
      other: 'secretive',
    },
    plugins: [{ name: 'prices', priceOf: () => ({ currency: 'USD', input: 1.25 }) }, consolePages()],
    logger: false,
    ...(basePath === '' ? {} : { basePath }),
  })

it.each(['', '/ai'])('describes the models of a token below %j, and no upstream', async (basePath) => {
  const response = await make(basePath).fetch(`http://gateway${basePath}/console/models.json`, {
    headers: { authorization: 'Bearer right' },
  })
  expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
  const text = await response.text()
  expect(JSON.parse(text)).toEqual({
    models: [
      {
        id: 'gpt-5.4',
        operations: ['generate'],
        efforts: expect.arrayContaining(['low']),
        capabilities: { reasoning: true },
        prices: [{ currency: 'USD', input: 1.25 }],
      },
      { id: 'text-embedding-3-small', operations: ['embeddings'], prices: [{ currency: 'USD', input: 1.25 }] },
    ],
  })
  expect(text).not.toMatch(/secretive|hidden/)
})

it.each([undefined, 'Bearer wrong'])('rejects the credential %j as the model list does', async (authorization) => {
  const response = await make('').fetch('http://gateway/console/models.json', {
    headers: authorization === undefined ? {} : { authorization },
  })
  expect(response.status).toBe(401)
  expect(await response.json()).toHaveProperty('error.message')
})
