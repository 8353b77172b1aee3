import { describe, expect, it, vi } from 'vitest'
import { GatewayError } from '../base/errors.ts'
import type { Admission, AdmitCall } from '../config/admission.ts'
import type { FinishEvent } from '../config/finish-event.ts'
import type { Plugin } from '../config/plugin.ts'
import { asJson, asStream, completion, message, setUp, sse } from '../gateway/create-gateway.test-support.ts'

const good = { a: asJson(completion), m: asJson(message) }

/** Creates a gateway with the given `admit` hook and records upstream requests and finish events. */
function gate(admit: Plugin['admit'], answers = good as Parameters<typeof setUp>[0], more: readonly Plugin[] = []) {
  const finished: FinishEvent[] = []
  const plugins = [
    { name: 'gate', ...(admit && { admit }) },
    ...more,
    { name: 'end', onFinish: (e: FinishEvent) => void finished.push(e) },
  ]
  return { ...setUp(answers, { plugins, retry: false }), finished }
}

describe('an admit hook', () => {
  it('receives the possible targets before any upstream call', async () => {
    const calls: AdmitCall[] = []
    const { chat, seen } = gate((call) => {
      calls.push(call)
      expect(seen).toHaveLength(0)
      return undefined
    })
    const response = await chat({ model: 'both', stream: false }, { 'x-team': 'blue' })
    expect(response.status).toBe(200)
    const [{ estimate, header, requestId, startedAt, ...call } = {} as AdmitCall] = calls
    expect(calls).toHaveLength(1)
    expect(call).toEqual({
      identity: { id: 'me' },
      operation: 'generate',
      format: 'chat',
      model: 'both',
      stream: false,
      targets: [
        { upstream: 'a', model: 'both' },
        { upstream: 'b', model: 'both' },
      ],
    })
    expect(requestId).toBe(response.headers.get('x-request-id'))
    expect(header('x-team')).toBe('blue')
    expect(estimate().output).toBeUndefined()
    expect(startedAt).toBeGreaterThan(1_700_000_000_000)
  })

  it.each([
    ['a GatewayError', new GatewayError('quota_exceeded', 'Nothing is left.'), 429, 'Nothing is left.'],
    ['any other error', new Error('secret place'), 500, 'The gateway failed to handle the request.'],
  ])('rejects the call with the status for %s and reports the end of the call', async (_, error, status, words) => {
    const { chat, seen, finished } = gate(() => {
      throw error
    })
    const response = await chat()
    expect(response.status).toBe(status)
    expect((await response.json()).error.message).toBe(words)
    expect(seen).toHaveLength(0)
    expect(finished).toMatchObject([{ status, outcome: 'failed', attempts: [] }])
    expect(finished[0]?.usage).toBeUndefined()
  })

  it('is settled once with the usage of the call before onFinish hooks run', async () => {
    const order: string[] = []
    const settled: FinishEvent[] = []
    const admission: Admission = {
      settle(event) {
        settled.push(event)
        order.push('settle')
      },
    }
    const { chat } = gate(async () => admission, good, [{ name: 'x', onFinish: () => void order.push('finish') }])
    await (await chat()).text()
    expect(order).toEqual(['settle', 'finish'])
    expect(settled).toMatchObject([{ usage: { input: { total: 3 }, output: { total: 1 } }, basis: 'reported' }])
  })

  it('is settled even if the next plugin rejects the call', async () => {
    const settle = vi.fn()
    const refuse: Plugin = {
      name: 'refuse',
      async admit() {
        throw new GatewayError('permission', 'Not today.')
      },
    }
    const { chat } = gate(() => ({ settle, headers: { 'x-left': '7' } }), good, [refuse])
    const response = await chat()
    expect(response.status).toBe(403)
    expect(response.headers.get('x-left')).toBe('7')
    expect(settle).toHaveBeenCalledTimes(1)
    expect(settle.mock.calls[0]?.[0]).toMatchObject({ outcome: 'failed', status: 403 })
  })

  it('does not fail a call when its settlement fails', async () => {
    const { chat, logged, finished } = gate(() => ({
      settle: () => Promise.reject(new Error('away')),
    }))
    expect((await chat()).status).toBe(200)
    await Promise.resolve()
    expect(JSON.stringify(logged)).toContain('settling a call failed')
    expect(finished).toHaveLength(1)
  })

  it('can return any thenable', async () => {
    // biome-ignore lint/suspicious/noThenProperty: promises of other realms are not instances of this realm's Promise
    const refusing = { then: (_: unknown, no: (error: unknown) => void) => no(new GatewayError('permission', 'No.')) }
    const { chat, seen } = gate(() => refusing as unknown as Promise<undefined>)
    expect((await chat()).status).toBe(403)
    expect(seen).toHaveLength(0)
  })

  it('is settled once, like those of other plugins, even if the logger throws', async () => {
    const settled: string[] = []
    const boom = () => {
      throw new Error('no disk')
    }
    const plugins: Plugin[] = ['one', 'two'].map((name) => ({
      name,
      admit: () => ({
        settle() {
          settled.push(name)
          throw new Error(name)
        },
      }),
    }))
    const { chat } = setUp(good, { plugins, logger: { warn: boom, error: boom } })
    expect((await chat()).status).toBe(200)
    expect(settled).toEqual(['one', 'two'])
  })

  it('prevents upstream calls if the client disconnects during admission', async () => {
    const leaving = new AbortController()
    const { chat, seen, finished } = gate(async () => {
      leaving.abort()
      await new Promise((resolve) => setTimeout(resolve, 5))
      return undefined
    })
    await chat({}, {}, { signal: leaving.signal }).catch(() => undefined)
    await vi.waitFor(() => expect(finished).toMatchObject([{ outcome: 'aborted' }]))
    expect(seen).toHaveLength(0)
  })
})

describe('the remaining allowance of a caller', () => {
  const allowance = {
    requests: { limit: 60, remaining: 59, resetMs: 900 },
    inputTokens: { limit: 1000, remaining: 400, resetMs: 61_500 },
  }
  it('can replace the headers of a stream', async () => {
    const { chat } = gate(() => ({ headers: { 'cache-control': 'no-store' } }), { a: asStream(sse) })
    expect((await chat({ stream: true })).headers.get('cache-control')).toBe('no-store')
  })

  it("is sent in the rate limit headers of the client's format", async () => {
    const { chat, messages } = gate(() => ({ allowance, headers: { 'x-more': 'yes' } }))
    const first = await chat()
    expect(first.headers.get('x-ratelimit-limit-requests')).toBe('60')
    expect(first.headers.get('x-ratelimit-remaining-requests')).toBe('59')
    expect(first.headers.get('x-ratelimit-reset-requests')).toBe('900ms')
    expect(first.headers.get('x-ratelimit-reset-input-tokens')).toBe('1m2s')
    expect(first.headers.get('x-more')).toBe('yes')
    const before = Date.now()
    const second = await messages()
    expect(second.status).toBe(200)
    expect(second.headers.get('anthropic-ratelimit-requests-remaining')).toBe('59')
    const reset = second.headers.get('anthropic-ratelimit-input-tokens-reset') ?? ''
    expect(reset).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    expect(Date.parse(reset) - before).toBeGreaterThan(61_400)
    expect(second.headers.get('x-ratelimit-limit-requests')).toBeNull()
  })
  it.each([Number.POSITIVE_INFINITY, Number.NaN, -5, 1e300])(
    'does not fail the response for an invalid resetMs: %s',
    async (resetMs) => {
      const settle = vi.fn()
      const odd = { requests: { limit: 5, remaining: 4, resetMs } }
      const { chat, messages } = gate(() => ({ allowance: odd, settle }))
      for (const response of [await chat(), await messages()]) expect(response.status).toBe(200)
      expect(settle).toHaveBeenCalledTimes(2)
    },
  )
  it('is sent with rejections and upstream errors', async () => {
    const refusing = gate(() => {
      throw new GatewayError('rate_limited', 'Slower.', { retryAfter: 3, allowance })
    })
    const refused = await refusing.messages()
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('3')
    expect(refused.headers.get('anthropic-ratelimit-requests-limit')).toBe('60')
    const failing = gate(() => ({ allowance }), { a: asJson({ error: { message: 'no' } }, { status: 500 }) })
    const failed = await failing.chat()
    expect(failed.status).toBe(502)
    expect(failed.headers.get('x-ratelimit-remaining-requests')).toBe('59')
  })
})

describe('the estimate for admission', () => {
  const estimates = async (path: string, body: object, headers = {}) => {
    let estimate: ReturnType<AdmitCall['estimate']> | undefined
    const { post } = gate((call) => {
      estimate = call.estimate()
      throw new GatewayError('permission', 'enough')
    })
    expect((await post(path, body, headers)).status).toBe(403)
    return estimate
  }
  const words = 'x '.repeat(2000)
  const messages = [{ role: 'user', content: words }]
  const anthropic = { 'anthropic-version': '2023-06-01' }
  it.each<[string, string, object, object, number | undefined]>([
    ['chat', '/v1/chat/completions', { messages, max_completion_tokens: 50, n: 3 }, {}, 150],
    ['chat with max_tokens', '/v1/chat/completions', { messages, max_tokens: 70 }, {}, 70],
    [
      'chat with both output limits',
      '/v1/chat/completions',
      { messages, max_completion_tokens: 1, max_tokens: 700 },
      {},
      700,
    ],
    ['completions with best_of', '/v1/completions', { prompt: words, max_tokens: 5, n: 1, best_of: 20 }, {}, 100],
    // Some servers generate without a limit in this case.
    ['chat with a negative limit', '/v1/chat/completions', { messages, max_tokens: -1 }, {}, undefined],
    [
      'chat with a limit in a string',
      '/v1/chat/completions',
      { messages, max_completion_tokens: '9000', max_tokens: 1 },
      {},
      9000,
    ],
    ['chat without a limit', '/v1/chat/completions', { messages }, {}, undefined],
    ['messages', '/v1/messages', { messages, max_tokens: 900 }, anthropic, 900],
    ['responses', '/v1/responses', { input: words, max_output_tokens: 80 }, {}, 80],
    ['completions', '/v1/completions', { prompt: words, max_tokens: 20, n: 2 }, {}, 40],
    ['embeddings', '/v1/embeddings', { input: words }, {}, 0],
  ])('contains the input and the maximum output of %s', async (_, path, body, headers, output) => {
    const estimate = await estimates(path, { model: 'real', ...body }, headers)
    expect(estimate?.output).toBe(output)
    expect(estimate?.input).toBeGreaterThanOrEqual(1000)
    expect(estimate?.input).toBeLessThan(1040)
  })
  it('contains the maximum output of generateContent', async () => {
    const contents = [{ parts: [{ text: words }] }]
    const generationConfig = { maxOutputTokens: 11, candidateCount: 2 }
    const path = '/v1beta/models/gemini-x:generateContent'
    expect(await estimates(path, { contents, generationConfig })).toMatchObject({ output: 22 })
  })
  it('counts a data URL as an image, not as text', async () => {
    const image_url = { url: `data:image/png;base64,${'A'.repeat(400_000)}` }
    const estimate = await estimates('/v1/chat/completions', {
      model: 'real',
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url }] }],
    })
    expect(estimate?.input).toBeLessThan(1700)
    expect(estimate?.input).toBeGreaterThan(1600)
  })
  it.each<[string, string, number, number]>([
    ['counts one token per character of Chinese text', '字'.repeat(3000), 2900, 3200],
    [
      'counts text after a row of dashes as text, not as an image',
      `${'-'.repeat(2001)}${' word'.repeat(8000)}`,
      10_000,
      11_000,
    ],
    ['counts Base64 with line breaks as an image', `${'QUJD'.repeat(19)}\n`.repeat(500), 1600, 1700],
  ])('%s', async (_, content, least, most) => {
    const estimate = await estimates('/v1/chat/completions', { model: 'real', messages: [{ role: 'user', content }] })
    expect(estimate?.input).toBeGreaterThanOrEqual(least)
    expect(estimate?.input).toBeLessThan(most)
  })
  it('counts numbers and the keys of schemas', async () => {
    const prompt = Array.from({ length: 3000 }, (_, n) => n)
    expect((await estimates('/v1/completions', { model: 'real', prompt }))?.input).toBeGreaterThanOrEqual(3000)
    const parameters = { type: 'object', properties: { ['k'.repeat(8000)]: { type: 'string' } } }
    const tools = [{ type: 'function', function: { name: 'f', parameters } }]
    expect((await estimates('/v1/chat/completions', { model: 'real', messages, tools }))?.input).toBeGreaterThan(3000)
  })
  it('contains the requested images and characters', async () => {
    expect(await estimates('/v1/images/generations', { model: 'real', prompt: words, n: 3, quality: 'low' })).toEqual({
      input: words.length,
      output: 3 * 408,
      units: { images: 3 },
      least: { units: { images: 3 }, output: 3 * 272 },
    })
    expect(await estimates('/v1/audio/speech', { model: 'real', input: 'Hi 👋', voice: 'alloy' })).toMatchObject({
      units: { characters: 4 },
    })
  })
  it('is zero for a token count request', async () => {
    const counting = { model: 'claude-x', messages }
    expect(await estimates('/v1/messages/count_tokens', counting, anthropic)).toEqual({ input: 0, output: 0 })
  })
})

describe('the cost of a call', () => {
  const cost = { amount: 0.25, currency: 'USD' }
  it('is the result of the first plugin that returns a cost', async () => {
    const plugins: Plugin[] = [
      { name: 'ignorant', costOf: () => undefined },
      {
        name: 'broken',
        costOf() {
          throw new Error('no table')
        },
      },
      { name: 'prices', costOf: ({ upstreamModel }) => (upstreamModel === 'real' ? cost : undefined) },
      { name: 'late', costOf: () => ({ amount: 9, currency: 'EUR' }) },
    ]
    let settled: FinishEvent | undefined
    const { chat, finished, logged } = gate(
      () => ({
        settle: (event) => {
          settled = event
        },
      }),
      { a: asStream(sse) },
      plugins,
    )
    await (await chat({ stream: true })).text()
    expect(finished[0]?.cost).toEqual(cost)
    expect(settled?.cost).toEqual(cost)
    expect(JSON.stringify(logged)).toContain("costOf of plugin 'broken' failed")
  })
})
