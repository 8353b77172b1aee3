import { expect, it, vi } from 'vitest'
import * as core from '../index.ts'

it('reports every problem of a configuration at once', () => {
  const config = {
    auth: 'nobody',
    upstreams: { a: core.openai({ apiKey: 'k' }), b: {} },
    models: { x: 'c', y: { upstream: 'a', modle: 'z', weight: -1 }, z: [5] },
    retry: { attempts: 0, backof: 1 },
    limits: { bodyBytes: 0, bodyByte: 5 },
    references: { file: 'own' },
    basePath: 'ai',
  } as unknown as core.GatewayConfig
  let message = ''
  try {
    core.createGateway(config)
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError)
    message = String(error)
  }
  expect(message).toContain('The configuration has 12 problems:\n- auth is required')
  for (const words of [
    'upstreams.b is no upstream',
    "models['x'] names the upstream 'c'",
    "models['y'].modle is unknown",
    "models['y'].weight is -1",
    "models['z'] holds a value of type number",
    'retry.attempts is 0',
    'retry.backof is unknown',
    'limits.bodyBytes is 0',
    'limits.bodyByte is unknown',
    'references.file is unknown',
    "basePath is 'ai'",
  ])
    expect(message).toContain(`\n- ${words}`)
})

it('throws a single problem without a list', () => {
  const config = { auth: 'none', upstreams: {}, models: {} } as const
  expect(() => core.createGateway(config)).toThrow(/^upstreams is empty: name at least one[^\n]+$/)
})

it('logs a refused credential of an upstream without a stray undefined', async () => {
  const warn = vi.fn()
  const gateway = core.createGateway({
    auth: 'none',
    upstreams: { up: core.openai({ apiKey: 'k' }) },
    models: { m: 'up' },
    logger: { warn, error: vi.fn() },
    fetch: async () => Response.json({ error: { message: 'no' } }, { status: 401 }),
  })
  const response = await gateway.fetch(
    new Request('http://gateway.test/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }),
    }),
  )
  expect(response.status).toBe(502)
  expect(warn.mock.calls).toEqual([[expect.stringContaining("upstream 'up' refused the configured credentials")]])
  await gateway.close()
})
