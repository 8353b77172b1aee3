import { request as httpRequest } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import type { AdapterFunctions } from '@modelgate/core/adapter'
import { sharedTransport } from '@modelgate/node'
import { createFakeGateway, serve, withAdapterFunctions } from '@modelgate/node/test-support'
import { until } from '@modelgate/testing/test-support'
import { Hono, type MiddlewareHandler } from 'hono'
import { describe, expect, it } from 'vitest'
import manifest from '../package.json' with { type: 'json' }
import { describeMiddleware } from './middleware.test-support.ts'
import { honoMiddleware } from './node-middleware.ts'

describeMiddleware(honoMiddleware)

async function start(before: MiddlewareHandler = (_c, next) => next(), functions: Partial<AdapterFunctions> = {}) {
  const gateway = createFakeGateway()
  const app = new Hono().use(before).use('/ai/*', honoMiddleware(withAdapterFunctions(gateway, functions)))
  const { port, url } = await serve(getRequestListener(app.fetch))
  const echo = (headers: Record<string, string> = {}) =>
    fetch(`${url}/ai/v1/echo`, { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'text/x', ...headers } })
  /** Sends a body without its length. */
  const sendChunked = (
    path: string,
    chunks: readonly string[],
  ): Promise<{ status: number | undefined; text: string }> =>
    new Promise((resolve, reject) => {
      const req = httpRequest({ port, path, method: 'POST' }, async (res) => {
        let text = ''
        for await (const chunk of res) text += chunk
        resolve({ status: res.statusCode, text })
      })
      req.on('error', reject)
      for (const chunk of chunks) req.write(chunk)
      req.end()
    })
  return { gateway, port, echo, sendChunked }
}

/** Changes that a middleware may make to a request before the gateway. */
const replaced: MiddlewareHandler = async (c, next) => {
  c.req.raw = new Request(c.req.raw, { body: '{"b":2}' })
  await next()
}

const retyped: MiddlewareHandler = async (c, next) => {
  c.req.raw.headers.set('content-type', 'text/y')
  await next()
}

const copied: MiddlewareHandler = async (c, next) => {
  const copy = c.req.raw.clone()
  await next()
  expect(await copy.text()).toBe('{"a":1}')
}

describe('on Node', () => {
  it('calls upstreams through the transport of the other adapters', async () => {
    const { gateway, echo } = await start()
    await echo()
    expect(gateway.seen.transports).toEqual([sharedTransport()])
  })

  it.each<[string, MiddlewareHandler, string, string]>([
    ['a header', retyped, '{"a":1}', 'text/y'],
    ['the request', replaced, '{"b":2}', 'text/x'],
    ['nothing, but reads a copy', (c, next) => c.req.raw.clone().text().then(next), '{"a":1}', 'text/x'],
    ['nothing, but keeps a copy', copied, '{"a":1}', 'text/x'],
  ])('receives the request as an earlier middleware changed it: %s', async (_name, before, body, type) => {
    const { echo } = await start(before)
    expect(await (await echo()).json()).toMatchObject({ body, type })
  })

  it('streams a body without a length up to the limit', async () => {
    const { gateway, sendChunked } = await start()
    gateway.bodyLimit = 10
    expect(await sendChunked('/ai/v1/echo', ['12345', '67890'])).toMatchObject({ status: 200 })
    expect(await sendChunked('/ai/v1/echo', ['12345', '678901'])).toMatchObject({ status: 413 })
  })

  it.each<[string, MiddlewareHandler | undefined]>([
    ['announced', undefined],
    ['kept by a middleware', (c, next) => c.req.text().then(next)],
  ])('rejects a body over the limit with 413: %s', async (_name, before) => {
    const { gateway, echo } = await start(before)
    gateway.bodyLimit = 6
    expect((await echo()).status).toBe(413)
  })

  it('reports an error if a middleware has read the body and did not keep it', async () => {
    const { echo } = await start((c, next) => c.req.raw.text().then(next))
    const response = await echo()
    expect([response.status, await response.text()]).toEqual([500, expect.stringContaining('did not keep it')])
  })

  it.each<[string, MiddlewareHandler | undefined]>([
    ['as it comes', undefined],
    ['from a middleware that has read it', (c, next) => c.req.text().then(next)],
  ])('passes an upload on: %s', async (_name, before) => {
    const { sendChunked } = await start(before, {
      handle: async (inbound) => {
        let bytes = 0
        for await (const chunk of inbound.stream?.(100) ?? []) bytes += chunk.length
        return { status: 200, headers: {}, body: String(bytes) }
      },
    })
    expect(await sendChunked('/ai/v1/echo', ['12345', '678'])).toEqual({ status: 200, text: '8' })
  })

  it('keeps uploads in a file', async () => {
    const { gateway, echo } = await start()
    await echo()
    const spool = gateway.seen.inbounds[0]?.openSpool?.()
    await spool?.write(Buffer.from('ab'))
    const read: Uint8Array[] = []
    for await (const chunk of spool?.read(1, 2) ?? []) read.push(chunk)
    spool?.close()
    expect(Buffer.concat(read).toString()).toBe('b')
  })

  it('detects a disconnect even if a middleware has replaced the request', async () => {
    const { gateway, port } = await start(replaced)
    const client = httpRequest({ port, path: '/ai/v1/hang', method: 'POST' }).on('error', () => {})
    client.end('{}')
    await until(() => gateway.seen.inbounds.length === 1, 'the request to reach the gateway')
    client.destroy()
    await until(() => gateway.seen.aborts.length === 1, 'the abort of the call')
  })
})

it('is the entry of the package on Node only', () => {
  const { '@modelgate/source': _source, ...published } = manifest.exports['.']
  const conditions = Object.entries(published)
  const node = conditions.findIndex(([condition]) => condition === 'node')
  expect(JSON.stringify(conditions[node])).toContain('./dist/node.js')
  expect(conditions.slice(0, node).map(([condition]) => condition)).toEqual(
    expect.arrayContaining(['workerd', 'worker', 'browser', 'deno', 'bun', 'edge-light']),
  )
  for (const [, files] of conditions.filter((_, at) => at !== node)) expect(JSON.stringify(files)).not.toContain('node')
})
