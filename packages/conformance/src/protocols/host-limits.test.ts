import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import { createGateway, openai } from '@modelgate/core'
import { expressBodyErrors, expressMiddleware } from '@modelgate/express'
import express from 'express'
import express4 from 'express4'
import OpenAI from 'openai'
import { afterEach, describe, expect, test } from 'vitest'

const gateway = createGateway({
  auth: (token) => (token === 'me' ? { id: 'me' } : null),
  upstreams: { openai: openai({ apiKey: 'k' }) },
  models: { '*': 'openai' },
  logger: false,
  fetch: (async () => Response.json({ choices: [] }, { status: 500 })) as unknown as typeof fetch,
})

const long = 'All work and no play. '.repeat(10_000)
const request = { model: 'gpt-5', messages: [{ role: 'user' as const, content: long }] }

/** Returns the error that OpenAI's SDK throws for the long request. */
async function refusal(baseURL: string, call?: typeof fetch): Promise<unknown> {
  const client = new OpenAI({ apiKey: 'me', baseURL, maxRetries: 0, ...(call && { fetch: call }) })
  return client.chat.completions.create(request).then(
    () => undefined,
    (error: unknown) => error,
  )
}

const tooLarge = (setting: string) => ({
  status: 413,
  code: 'request_too_large',
  message: expect.stringContaining(setting),
})

let server: Server | undefined
afterEach(() => server?.close())
async function serve(listener: RequestListener): Promise<string> {
  const listening = createServer(listener)
  server = listening
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
}

describe.each([
  ['Express 5', express],
  ['Express 4', express4 as unknown as typeof express],
])('a gateway on %s after express.json', (_name, framework) => {
  const app = () => {
    const made = framework()
    made.use(framework.json())
    made.use(expressMiddleware(gateway))
    made.use(expressBodyErrors(gateway))
    return made
  }

  test("reports a body over the parser’s limit in the client's dialect, with the setting to raise", async () => {
    const origin = await serve(app())
    expect(await refusal(`${origin}/v1`)).toMatchObject(tooLarge('express.json'))
    const claude = new Anthropic({ apiKey: 'me', baseURL: origin, maxRetries: 0 })
    await expect(claude.messages.create({ ...request, max_tokens: 9 })).rejects.toMatchObject({
      status: 413,
      error: { type: 'error', error: { type: 'request_too_large', message: expect.stringContaining('102400 bytes') } },
    })
  })

  test('reports invalid JSON, but authenticates first', async () => {
    const origin = await serve(app())
    const post = (token: string) =>
      fetch(`${origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: '{"model": ',
      })
    const bad = await post('me')
    expect([bad.status, ((await bad.json()) as { error: { message: string } }).error.message]).toEqual([
      400,
      expect.stringContaining('not valid JSON'),
    ])
    expect((await post('nobody')).status).toBe(401)
  })

  test('passes errors of other paths and other errors to the app', async () => {
    const made = app()
    made.use('/v1/chat', (_req, _res, next) => next())
    const origin = await serve(made)
    const elsewhere = await fetch(`${origin}/elsewhere`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ long }),
    })
    expect([elsewhere.status, elsewhere.headers.get('content-type')]).toEqual([413, expect.stringContaining('html')])
  })
})

test('names SvelteKit’s limit when its body stream fails with a status', async () => {
  const call = (async (url: string | URL | Request, init?: RequestInit) => {
    const text = init?.body as string
    // Creates a body like SvelteKit's adapter for Node.
    const body = new ReadableStream({
      start(controller) {
        const message = `Content-length of ${text.length} exceeds limit of 524288 bytes.`
        controller.error(Object.assign(new Error(message), { status: 413, text: 'Payload Too Large' }))
      },
    })
    return gateway.fetch(new Request(String(url), { ...init, body, duplex: 'half' } as RequestInit))
  }) as typeof fetch
  expect(await refusal('http://gateway.test/v1', call)).toMatchObject(tooLarge('BODY_SIZE_LIMIT'))
})

test('names the setting of Next.js when a proxy truncates the body', async () => {
  const call = (async (url: string | URL | Request, init?: RequestInit) => {
    const text = init?.body as string
    const cut = new Request(String(url), { ...init, body: text.slice(0, 10_000) })
    cut.headers.set('content-length', String(text.length))
    return gateway.fetch(cut)
  }) as typeof fetch
  expect(await refusal('http://gateway.test/v1', call)).toMatchObject(tooLarge('proxyClientMaxBodySize'))
})
