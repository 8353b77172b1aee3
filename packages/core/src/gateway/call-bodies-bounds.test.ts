import { describe, expect, it, vi } from 'vitest'
import { openai } from '../upstreams/openai.ts'
import { capturing } from './call-bodies.test-support.ts'
import { asJson, asStream, completion, sse } from './create-gateway.test-support.ts'

describe('bounds of the bodies', () => {
  it('cut each body at the limit and report its real size', async () => {
    const content = 'word '.repeat(40_000)
    const answered = {
      ...completion,
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    }
    const { chat, bodies } = capturing({ a: asJson(answered) }, {}, { bodyLimits: { maxBodyBytes: 1000 } })
    const text = await (await chat({ messages: [{ role: 'user', content }] })).text()
    const { request, response, attempts, heldBytes } = await bodies()
    for (const body of [request, response, attempts[0]?.request, attempts[0]?.response]) {
      expect(body).toMatchObject({ kind: 'text', isCut: true, isComplete: true })
      expect(body?.size).toBeGreaterThan(200_000)
      expect(body?.text()).toHaveLength(1000)
    }
    expect(response?.size).toBe(text.length)
    expect(heldBytes).toBeLessThan(4 * 1300 + 600)
  })

  it('never split a character or a credential', async () => {
    const key = 'sk-canary-aaaaaaaa'
    for (let at = 0; at < 24; at++) {
      const content = `${'ü'.repeat(100)}${'x'.repeat(at)}${key}${'y'.repeat(600)}`
      const { chat, bodies } = capturing({ a: asJson(completion) }, {}, { bodyLimits: { maxBodyBytes: 290 } })
      await (await chat({ messages: [{ role: 'user', content }] })).text()
      const text = (await bodies()).request?.text() ?? ''
      expect(text).not.toMatch(/sk-c|canary|�/)
      expect(text).toContain('ü')
    }
  })

  it('limit what running calls hold together, and give it back when they end', async () => {
    const words = { messages: [{ role: 'user', content: 'word '.repeat(200) }] }
    const { chat, bodies } = capturing({ a: asStream(sse) }, {}, { bodyLimits: { maxRunningBytes: 2500 } })
    const first = await chat({ stream: true, ...words })
    await (await chat({ stream: true, ...words })).text()
    const { request, attempts, heldBytes } = await bodies()
    expect([request, attempts[0]?.request].map((body) => [body?.kind, body?.text()])).toContainEqual(['no-memory', ''])
    expect(heldBytes).toBeLessThan(5000)
    await first.text()
    await (await chat({ stream: true, ...words })).text()
    const last = await bodies(3)
    expect([last.request, last.attempts[0]?.request].map((body) => body?.kind)).toEqual(['text', 'text'])
  })

  it.each([0, -1, 1.5, Number.NaN])('must be whole numbers greater than 0: %d', (maxBodyBytes) => {
    expect(() => capturing({}, {}, { bodyLimits: { maxBodyBytes } })).toThrow('bodyLimits.maxBodyBytes')
  })

  it('of the most generous plugin apply', async () => {
    const onBodies = vi.fn()
    const plugins = [100, 2000].map((maxBodyBytes) => ({ name: 'p', onBodies, bodyLimits: { maxBodyBytes } }))
    const { chat } = capturing({ a: asJson(completion) }, { plugins })
    await (await chat({ user: 'x y '.repeat(100) })).text()
    await vi.waitFor(() => expect(onBodies).toHaveBeenCalledTimes(2))
    for (const [bodies] of onBodies.mock.calls) expect(bodies.request.isCut).toBe(false)
  })
})

describe('secrets in the bodies', () => {
  it('are masked wherever they occur, of all upstreams and of the client', async () => {
    const secrets = ['sk-canary-aaaaaaaa', 'sk-canary-bbbbbbbb', 'created-canary-token', 'client-canary-token']
    const repeated = `${secrets.join(' ')} authorization: Bearer somebody-elses-canary-9`
    const { gateway, bodies } = capturing(
      {
        a: asJson({ error: { message: repeated } }, { status: 500 }),
        b: asJson({
          ...completion,
          choices: [{ index: 0, message: { role: 'assistant', content: repeated }, finish_reason: 'stop' }],
        }),
      },
      {
        auth: (token) => (token === 'client-canary-token' ? { id: 'me' } : null),
        upstreams: {
          a: { ...openai({ apiKey: 'sk-canary-aaaaaaaa', baseURL: 'http://a/sk-canary-aaaaaaaa/v1' }) },
          b: {
            ...openai({ apiKey: 'sk-canary-bbbbbbbb', baseURL: 'http://b/v1' }),
            authorize: () => ({ 'x-session-token': 'created-canary-token' }),
          },
        },
        models: { both: { targets: ['a', 'b'] } },
        retry: { backoffMs: 1 },
      },
    )
    const response = await gateway.fetch('http://gw/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': 'client-canary-token' },
      body: JSON.stringify({ model: 'both', messages: [{ role: 'user', content: repeated }] }),
    })
    expect(response.status).toBe(200)
    await response.text()
    const { request, response: answered, attempts } = await bodies()
    const all = [request, answered, ...attempts.flatMap((attempt) => [attempt.request, attempt.response])]
    for (const body of all) {
      const text = body?.text() ?? ''
      expect(text).toContain('authorization: Bearer ***')
      expect(text).not.toContain('canary')
    }
    expect(attempts[0]?.path).toBe('/***/v1/chat/completions')
  })
})
