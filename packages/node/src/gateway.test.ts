import { createGateway, openaiCompatible } from '@modelgate/core'
import { until } from '@modelgate/testing/test-support'
import { expect, it } from 'vitest'
import { nodeListener } from './server/handler.ts'
import { serve } from './testing/server.ts'

const completion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'm-up',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
}
const chunk = (delta: object, finish: string | null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm-up', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`

async function start() {
  let upstreamClosed = 0
  let seen = ''
  const upstream = await serve(async (req, res) => {
    seen = ''
    for await (const data of req) seen += data
    res.on('close', () => upstreamClosed++)
    if (!seen.includes('"stream":true')) {
      res.setHeader('content-type', 'application/json')
      res.end(JSON.stringify(completion))
      return
    }
    res.setHeader('content-type', 'text/event-stream')
    res.write(chunk({ role: 'assistant', content: 'hel' }, null))
    if (seen.includes('forever')) return
    res.end(`${chunk({ content: 'lo' }, 'stop')}data: [DONE]\n\n`)
  })
  const gateway = createGateway({
    auth: (token) => (token === 'good' ? { id: 'me' } : null),
    upstreams: { up: openaiCompatible({ baseURL: `${upstream.url}/v1` }) },
    models: { m: { upstream: 'up', model: 'm-up' } },
    limits: { bodyBytes: 10_000 },
    logger: false,
  })
  const { url } = await serve(nodeListener(gateway))
  const post = (body: object, token = 'good', init: RequestInit = {}) =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...body }),
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...init,
    })
  return { post, url, seen: () => seen, upstreamClosed: () => upstreamClosed }
}

it('serves JSON, streams and errors over node:http', async () => {
  const { post, url, seen } = await start()
  const whole = await post({})
  expect(whole.status).toBe(200)
  expect(await whole.json()).toMatchObject({ choices: [{ message: { content: 'hello' } }] })
  expect(seen()).toContain('"model":"m-up"')

  const stream = await post({ stream: true })
  expect(stream.headers.get('cache-control')).toContain('no-transform')
  const text = await stream.text()
  expect(text).toContain('"hel"')
  expect(text).toMatch(/data: \[DONE\]\n\n$/)

  expect((await post({}, 'bad')).status).toBe(401)
  expect((await post({ pad: 'x'.repeat(20_000) })).status).toBe(413)
  expect((await fetch(`${url}/v1/chat/completions`)).status).toBe(405)
  expect((await fetch(`${url}/nothing`)).status).toBe(404)
})

it('closes the upstream call when the client disconnects during a stream', async () => {
  const { post, upstreamClosed } = await start()
  const leaving = new AbortController()
  const stream = await post({ stream: true, user: 'forever' }, 'good', { signal: leaving.signal })
  await (stream.body as ReadableStream<Uint8Array>).getReader().read()
  leaving.abort()
  await until(() => upstreamClosed() === 1, 'the upstream connection to close')
})
