import { describe, expect, it } from 'vitest'
import type { ModelRoute, Target } from '../config/config.ts'
import type { ModelCard } from '../formats/model-card.ts'
import { asJson, completion, message, setUp } from '../gateway/create-gateway.test-support.ts'

const answers = { a: asJson(completion), b: asJson(completion), m: asJson(message) }
const limited = (upstream: string, contextWindow: number | undefined, more: Partial<Target> = {}): Target => {
  const card: ModelCard = contextWindow === undefined ? {} : { contextWindow }
  return { upstream, model: 'x', when: 'fits', ...more, card: { ...card, ...more.card } }
}
/** English text of about this many tokens. */
const tokens = (count: number): string => 'abc '.repeat(count)
const body = (count: number, more: object = {}) => ({
  model: 'm',
  max_tokens: 1,
  messages: [{ role: 'user', content: tokens(count) }],
  ...more,
})

async function upstreamOf(route: ModelRoute, request: object) {
  const { post, seen } = setUp(answers, { models: { m: route } })
  const response = await post('/v1/chat/completions', request)
  return response.ok ? new URL(seen[0]?.url ?? '').host : response.status
}

describe('a target with `when: fits`', () => {
  const pair = [limited('a', 1000), limited('b', 10_000)]
  it.each<[string, ModelRoute, object, string | number]>([
    ['is called for a small request', pair, body(10), 'a'],
    ['is skipped for a request that is too large', pair, body(2000), 'b'],
    ['counts the requested output', pair, body(10, { max_tokens: 2000 }), 'b'],
    ['counts the requested output of every choice', pair, body(10, { max_tokens: 400, n: 3 }), 'b'],
    [
      'reserves output for a request without a limit',
      [limited('a', 2000), limited('b', 9000)],
      body(10, { max_tokens: undefined }),
      'b',
    ],
    [
      'reserves no more than its output limit',
      [limited('a', 1000, { card: { maxOutput: 50 } }), limited('b', 9000)],
      body(10, { max_tokens: 5000 }),
      'a',
    ],
    ['is called if its window is unknown', [limited('a', undefined)], body(100_000), 'a'],
    ['is skipped in favour of one without the condition', [limited('a', 1000), 'b'], body(2000), 'b'],
    [
      'must meet one of the other conditions in addition',
      [limited('a', 1000, { when: ['fits', 'tools'] }), 'b'],
      body(10),
      'b',
    ],
    [
      'is called if another condition is met too',
      [limited('a', 1000, { when: ['fits', 'tools', ({ stream }) => !stream] }), 'b'],
      body(10),
      'a',
    ],
    [
      'is skipped although another condition is met',
      [limited('a', 1000, { when: ['fits', () => true] }), 'b'],
      body(2000),
      'b',
    ],
    [
      'is skipped by the facts of the shipped table',
      [{ upstream: 'a', model: 'gpt-4o', when: 'fits' }, 'b'],
      body(130_000),
      'b',
    ],
    ['fails the request if nothing fits', pair, body(20_000), 400],
  ])('%s', async (_, route, request, expected) => expect(await upstreamOf(route, request)).toBe(expected))
})

describe('a request that fits no target', () => {
  const models = { m: [limited('a', 1000), limited('b', 5000)] }
  const reject = async (path: string, request: object, headers: Record<string, string> = {}) => {
    const { post, seen } = setUp(answers, { models })
    const response = await post(path, request, headers)
    expect(seen).toEqual([])
    return { status: response.status, body: await response.json() }
  }
  const version = { 'anthropic-version': '2023-06-01' }

  it('fails with OpenAI’s error and the largest window', async () => {
    const { status, body: error } = await reject('/v1/chat/completions', body(10_000))
    expect(status).toBe(400)
    expect(error.error).toMatchObject({ code: 'context_length_exceeded', type: 'invalid_request_error' })
    expect(error.error.message).toMatch(
      /^This model's maximum context length is 5000 tokens\. However, your messages resulted in about 11\d\d\d tokens\./,
    )
  })

  it('fails with both parts if the output is too large', async () =>
    expect((await reject('/v1/chat/completions', body(10, { max_tokens: 8000 }))).body.error.message).toMatch(
      /5000 tokens\. However, you requested about 80\d\d tokens \(\d+ in the messages, 8000 in the completion\)/,
    ))

  it('fails with the error code of responses', async () =>
    expect((await reject('/v1/responses', { model: 'm', input: tokens(10_000) })).body.error).toMatchObject({
      code: 'context_length_exceeded',
    }))

  it('fails with the sentences that Claude Code reads', async () => {
    const long = await reject('/v1/messages', body(10_000), version)
    expect(long.status).toBe(400)
    expect(long.body.error.type).toBe('invalid_request_error')
    expect(long.body.error.message).toMatch(/^prompt is too long: 11\d\d\d tokens > 5000 maximum$/)
    const large = await reject('/v1/messages', body(10, { max_tokens: 8000 }), version)
    expect(large.body.error.message).toMatch(
      /^input length and `max_tokens` exceed context limit: \d+ \+ 8000 > 5000, decrease input length or `max_tokens`/,
    )
  })

  it('fails with Google’s sentence', async () => {
    const contents = [{ role: 'user', parts: [{ text: tokens(10_000) }] }]
    const { status, body: error } = await reject('/v1beta/models/m:generateContent', { contents })
    expect(status).toBe(400)
    expect(error.error).toMatchObject({ status: 'INVALID_ARGUMENT' })
    expect(error.error.message).toMatch(
      /^The input token count \(11\d\d\d\) exceeds the maximum number of tokens allowed \(5000\)\.$/,
    )
    const generationConfig = { maxOutputTokens: 8000 }
    const large = await reject('/v1beta/models/m:generateContent', {
      contents: [{ parts: [{ text: 'hi' }] }],
      generationConfig,
    })
    expect(large.body.error.message).toMatch(
      /requested output \(8000\) exceed the maximum number of tokens allowed \(5000\)/,
    )
  })

  it('fails with Bedrock’s sentence and the one of its Claude models', async () => {
    const messages = [{ role: 'user', content: [{ text: tokens(10_000) }] }]
    const long = await reject('/model/m/converse', { messages })
    expect([long.status, long.body.message]).toEqual([
      400,
      expect.stringMatching(
        /^Input is too long for requested model\. .*: prompt is too long: 11\d\d\d tokens > 5000 maximum$/,
      ),
    ])
    const large = await reject('/model/m/converse', {
      messages: [{ role: 'user', content: [{ text: 'hi' }] }],
      inferenceConfig: { maxTokens: 8000 },
    })
    expect(large.body.message).toMatch(/`max_tokens` exceed context limit: \d+ \+ 8000 > 5000/)
  })

  it('fails without a target’s window if another condition is the reason', async () => {
    const { post } = setUp(answers, { models: { m: limited('a', 1000, { when: ['fits', 'tools'] }) } })
    const error = await (await post('/v1/chat/completions', body(10_000))).json()
    expect(error.error.message).toMatch(/no `when` condition matched/)
  })

  it('is settled as a call that was rejected', async () => {
    const { post, finished } = setUp(answers, { models })
    await post('/v1/chat/completions', body(10_000))
    await new Promise((resolve) => setImmediate(resolve))
    expect(finished).toMatchObject([
      { model: 'm', status: 400, error: { info: { kind: 'context_length_exceeded' } }, attempts: [] },
    ])
  })
})

it('fits a large body by its outline', async () => {
  const request = body(1_200_000)
  expect(await upstreamOf([limited('a', 1_000_000), limited('b', 2_000_000)], request)).toBe('b')
})

it('counts tokens of a request that fits no target', async () => {
  const count = asJson({ input_tokens: 5 })
  const { post } = setUp(
    { m: count },
    { models: { m: { upstream: 'm', model: 'x', when: 'fits', card: { contextWindow: 10 } } } },
  )
  const headers = { 'anthropic-version': '2023-06-01' }
  const { max_tokens: _, ...request } = body(10_000)
  const response = await post('/v1/messages/count_tokens', request, headers)
  expect(await response.json()).toEqual({ input_tokens: 5 })
})

it('explains why a target is skipped', async () => {
  const { gateway } = setUp(answers, { models: { m: [limited('a', 1000), limited('b', 10_000)] } })
  const { plan } = await gateway.explain('http://gw/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer good' },
    body: JSON.stringify(body(2000)),
  })
  expect(plan).toMatchObject([
    { upstream: 'b', request: { method: 'POST' } },
    { upstream: 'a', refused: { kind: 'context_length_exceeded', message: expect.stringContaining('1000 tokens') } },
  ])
})
