import { describe, expect, it, vi } from 'vitest'
import type { FinishEvent } from '../config/finish-event.ts'
import type { Plugin } from '../config/plugin.ts'
import {
  asJson,
  asStream,
  chunk,
  completion,
  generated,
  message,
  setUp,
  sse,
} from '../gateway/create-gateway.test-support.ts'

const { usage: _, ...uncounted } = completion
const longText = 'word '.repeat(400)
const request = { messages: [{ role: 'user', content: 'x '.repeat(2000) }] }
const cutAfter = (parts: readonly string[]) => () => {
  const bytes = parts.map((part) => new TextEncoder().encode(part))
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = bytes.shift()
      if (next === undefined) controller.error(new Error('reset'))
      else controller.enqueue(next)
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}
const event = (data: { type: string; [key: string]: unknown }) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
const deltas = Array.from({ length: 100 }, () => chunk({ content: 'four words of text ' }))
const begun = (usage: object) =>
  event({ type: 'message_start', message: { ...message, content: [], stop_reason: null, usage } })
const block = event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })
const spoken = Array.from({ length: 100 }, () =>
  event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'four words of text ' } }),
)

describe('the final usage of a call', () => {
  const run = async (
    answer: () => Response,
    how: { stream?: boolean; to?: 'a' | 'm'; from?: 'chat' | 'messages' } = {},
  ) => {
    const { stream = false, to = 'a', from = 'chat' } = how
    const { post, finished } = setUp({ [to]: answer }, { retry: false })
    const body = { model: to === 'a' ? 'real' : 'claude-x', stream, max_tokens: 5000, ...request }
    const path = from === 'chat' ? '/v1/chat/completions' : '/v1/messages'
    const response = await post(path, body, from === 'chat' ? {} : { 'anthropic-version': '2023-06-01' })
    await response.text()
    await vi.waitFor(() => expect(finished).toHaveLength(1))
    return finished[0]
  }
  it('is reported if the upstream counted it', async () => {
    const event = await run(() => new Response(JSON.stringify(completion)))
    expect(event).toMatchObject({ basis: 'reported', usage: { input: { total: 3 }, output: { total: 1 } } })
  })
  it('is estimated if the upstream returns no counts', async () => {
    const silent = {
      ...uncounted,
      choices: [{ ...completion.choices[0], message: { role: 'assistant', content: longText } }],
    }
    const event = await run(() => new Response(JSON.stringify(silent)))
    expect(event).toMatchObject({ outcome: 'finished', basis: 'estimated', usage: { output: { total: 500 } } })
    expect(event?.usage?.input.total).toBeGreaterThan(999)
  })
  it.each(['chat', 'messages'] as const)('is estimated for a stream of %s without counts', async (from) => {
    const parts = [sse[0] as string, ...deltas, chunk({}, 'stop'), 'data: [DONE]\n\n']
    const event = await run(asStream(parts) as () => Response, { stream: true, from })
    expect(event).toMatchObject({ outcome: 'finished', basis: 'estimated' })
    // 100 × 19 characters; the sample includes the events at the end.
    expect(event?.usage?.output.total).toBeGreaterThan(300)
    expect(event?.usage?.output.total).toBeLessThan(520)
  })
  it.each(['chat', 'messages'] as const)('is partial for a stream to a client of %s that is cut off', async (from) => {
    const event = await run(cutAfter([sse[0] as string, ...deltas]), { stream: true, from })
    expect(event).toMatchObject({ outcome: 'failed', basis: 'partial' })
    expect(event?.usage?.output.total).toBeGreaterThan(480)
    expect(event?.usage?.output.total).toBeLessThan(520)
    expect(event?.usage?.input.total).toBeGreaterThan(999)
  })
  it.each(['chat', 'messages'] as const)(
    'adds an estimate to a partial count of the upstream for a client of %s',
    async (from) => {
      const usage = { input_tokens: 40, cache_read_input_tokens: 2, output_tokens: 1 }
      const event = await run(cutAfter([begun(usage), block, ...spoken]), { stream: true, to: 'm', from })
      expect(event).toMatchObject({ basis: 'partial', usage: { input: { total: 42, cacheRead: 2 } } })
      expect(event?.usage?.output.total).toBeGreaterThan(480)
      expect(event?.usage?.raw).toBeUndefined()
    },
  )
  it('is the complete count of the upstream, even if the client disconnects after it', async () => {
    const counted =
      chunk({}, 'stop') +
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'real', choices: [], usage: completion.usage })}\n\n`
    const event = await run(cutAfter([...sse.slice(0, 3), counted]), { stream: true })
    expect(event).toMatchObject({ basis: 'reported', usage: { output: { total: 1 } } })
  })
  it.each<[string, number, object]>([
    ['a rejection', 400, { error: { message: 'no' } }],
    ['a failure', 500, { error: { message: 'no' } }],
    ['a rate limit', 429, { error: { message: 'no' } }],
  ])('is undefined after %s', async (_, status, body) => {
    const event = await run(() => new Response(JSON.stringify(body), { status }))
    expect(event?.basis).toBeUndefined()
    expect(event?.usage).toBeUndefined()
  })
  it('is at least the input if the response of the upstream was not read to its end', async () => {
    const event = await run(() => new Response('{"half": '))
    expect(event).toMatchObject({ status: 502, basis: 'partial', usage: { output: { total: 0 } } })
    expect(event?.usage?.input.total).toBeGreaterThan(999)
  })
  it('includes the searches of the upstream', async () => {
    const searched = { ...message, usage: { ...message.usage, server_tool_use: { web_search_requests: 3 } } }
    const event = await run(asJson(searched) as () => Response, { to: 'm' })
    expect(event).toMatchObject({ basis: 'reported', units: { searches: 3 } })
  })
  it('is not estimated for images', async () => {
    const { post, finished } = setUp({ a: asJson({ created: 1, data: [{ b64_json: 'AAAA' }] }) })
    await (await post('/v1/images/generations', { model: 'real', prompt: longText })).text()
    expect(finished).toMatchObject([{ outcome: 'finished', units: { images: 1 } }])
    expect(finished[0]?.usage).toBeUndefined()
    expect(finished[0]?.basis).toBeUndefined()
  })

  it('excludes events that repeat the text from the average size of an event', async () => {
    const text = 'four words of text '
    const whole = text.repeat(300)
    const events = [
      event({ type: 'response.created', response: { id: 'r', object: 'response', status: 'in_progress', output: [] } }),
      event({
        type: 'response.output_item.added',
        output_index: 0,
        item: { type: 'message', id: 'm', role: 'assistant', content: [] },
      }),
      event({
        type: 'response.content_part.added',
        item_id: 'm',
        output_index: 0,
        content_index: 0,
        part: { type: 'output_text', text: '' },
      }),
      ...Array.from({ length: 300 }, () =>
        event({ type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: text }),
      ),
      event({ type: 'response.output_text.done', item_id: 'm', output_index: 0, content_index: 0, text: whole }),
      event({
        type: 'response.content_part.done',
        item_id: 'm',
        output_index: 0,
        content_index: 0,
        part: { type: 'output_text', text: whole },
      }),
      event({
        type: 'response.output_item.done',
        output_index: 0,
        item: {
          type: 'message',
          id: 'm',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: whole }],
        },
      }),
    ]
    const { post, finished } = setUp({ a: cutAfter(events) }, { retry: false })
    await (await post('/v1/responses', { model: 'real', stream: true, input: 'hi' })).text()
    await vi.waitFor(() => expect(finished).toHaveLength(1))
    expect(finished[0]).toMatchObject({ basis: 'partial' })
    expect(finished[0]?.usage?.output.total).toBeGreaterThan(1300)
    expect(finished[0]?.usage?.output.total).toBeLessThan(1700)
  })
  it('is undefined for a queued response', async () => {
    const queued = {
      id: 'resp_1',
      object: 'response',
      created_at: 1,
      status: 'queued',
      model: 'real',
      output: [],
      usage: null,
    }
    const { post, finished } = setUp({ a: asJson(queued) })
    expect((await post('/v1/responses', { model: 'real', background: true, input: longText })).status).toBe(200)
    expect(finished).toMatchObject([{ outcome: 'finished', finish: 'queued' }])
    expect(finished[0]?.usage).toBeUndefined()
    expect(finished[0]?.basis).toBeUndefined()
  })
  it.each([
    ['true if the response was not read to its end', 'cut', true],
    ['undefined if the upstream returned an error', 'no', undefined],
  ])('has an abandoned flag that is %s', async (_, how, abandoned) => {
    const answer = () =>
      how === 'cut' ? new Response('{"half": ') : new Response('{"error":{"message":"no"}}', { status: 500 })
    const { post, finished } = setUp({ a: answer }, { retry: false })
    await (await post('/v1/images/generations', { model: 'real', prompt: 'a cat' })).text()
    expect(finished).toHaveLength(1)
    expect(finished[0]?.abandoned).toBe(abandoned)
  })
  it.each<[string, string, object]>([
    ['chat', '/v1/chat/completions', { service_tier: 'priority' }],
    ['messages', '/v1/messages', { max_tokens: 5000, speed: 'fast' }],
  ])('has the tier that a client of %s requested if the stream ends before its usage', async (_, path, tier) => {
    const { post, finished } = setUp({ a: cutAfter(deltas) }, { retry: false })
    const body = { model: 'real', stream: true, ...request, ...tier }
    await (await post(path, body, { 'anthropic-version': '2023-06-01' })).text()
    await vi.waitFor(() => expect(finished).toHaveLength(1))
    expect(finished[0]).toMatchObject({ basis: 'partial', tier: Object.values(tier).at(-1) })
  })
  it.each<[string, string, object, object, string | undefined]>([
    ['is dropped by the translation', '/v1/messages', { max_tokens: 5000, speed: 'flex' }, {}, undefined],
    [
      'is replaced by the target',
      '/v1/chat/completions',
      { service_tier: 'flex' },
      { overrides: { service_tier: 'default' } },
      undefined,
    ],
    ['comes from the target', '/v1/chat/completions', {}, { overrides: { service_tier: 'priority' } }, 'priority'],
    ['is added by the target', '/v1/chat/completions', {}, { defaults: { service_tier: 'flex' } }, 'flex'],
    [
      'precedes that of the target',
      '/v1/chat/completions',
      { service_tier: 'priority' },
      { defaults: { service_tier: 'flex' } },
      'priority',
    ],
  ])('has the tier that was sent to the upstream if the tier of the client %s', async (_, path, tier, target, sent) => {
    const models = { real: { upstream: 'a', ...target } }
    const { post, finished } = setUp({ a: cutAfter(deltas) }, { retry: false, models })
    const body = { model: 'real', stream: true, ...request, ...tier }
    await (await post(path, body, { 'anthropic-version': '2023-06-01' })).text()
    await vi.waitFor(() => expect(finished).toHaveLength(1))
    expect(finished[0]?.basis).toBe('partial')
    expect(finished[0]?.tier).toBe(sent)
  })
  it('leaves the tier to the upstream if it has reported the usage', async () => {
    const { post, finished } = setUp({ a: asJson({ ...completion, service_tier: 'default' }) })
    await (await post('/v1/chat/completions', { model: 'real', ...request, service_tier: 'priority' })).text()
    expect(finished[0]).toMatchObject({ basis: 'reported' })
    expect(finished[0]?.tier).toBeUndefined()
  })
  describe('states the input tokens of attempts that may be billed without a response:', () => {
    const broken = () => new Response('{"half": ')
    const attemptsOf = async (answers: Parameters<typeof setUp>[0], config: Parameters<typeof setUp>[1] = {}) => {
      const { post, finished } = setUp(answers, { retry: { attempts: 2 }, ...config })
      await (await post('/v1/chat/completions', { model: 'both', ...request })).text()
      await vi.waitFor(() => expect(finished).toHaveLength(1))
      return finished[0]
    }
    const lost = expect.toSatisfy((tokens: number) => tokens > 900 && tokens < 1100)

    it('one that failed before another attempt responded', async () => {
      const event = await attemptsOf({ a: broken, b: asJson(completion) })
      expect(event?.attempts).toMatchObject([
        { error: 'upstream_bad_response', lostInputTokens: lost },
        { upstream: 'b' },
      ])
      expect(event?.attempts[1]?.lostInputTokens).toBeUndefined()
      expect(event?.usage?.input.total).toBe(3)
    })
    it('the slower one of two parallel attempts', async () => {
      const never = (_: unknown, signal?: AbortSignal) =>
        new Promise<Response>((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
      const models = { both: { targets: ['a', 'b'], hedgeMs: 1 } } as const
      const event = await attemptsOf({ a: never, b: asJson(completion) }, { models })
      expect(event?.attempts).toMatchObject([{ error: 'cancelled', lostInputTokens: lost }, { reason: 'hedge' }])
    })
    it('with its cost at the prices of its own model, which is not part of the cost of the call', async () => {
      const asked: (readonly [string | undefined, number | undefined])[] = []
      let event: FinishEvent | undefined
      const prices: Plugin = {
        name: 'prices',
        costOf: ({ upstream, usage }) => {
          asked.push([upstream, usage?.output.total])
          return { amount: (usage?.input.total ?? 0) * (upstream === 'a' ? 2 : 1), currency: 'USD' }
        },
        onFinish(end) {
          event = end
        },
      }
      const { post } = setUp({ a: broken, b: asJson(completion) }, { retry: { attempts: 2 }, plugins: [prices] })
      await (await post('/v1/chat/completions', { model: 'both', ...request })).text()
      await vi.waitFor(() => expect(event).toBeDefined())
      const [first, second] = event?.attempts ?? []
      expect(first?.lostCost).toEqual({ amount: 2 * (first?.lostInputTokens ?? 0), currency: 'USD' })
      expect(second?.lostCost).toBeUndefined()
      expect(event?.cost).toEqual({ amount: 3, currency: 'USD' })
      expect(asked.at(-1)).toEqual(['a', 0])
    })
    it('all but the last one if none responded, because the call is charged for that', async () => {
      const event = await attemptsOf({ a: broken, b: broken })
      expect(event?.attempts).toMatchObject([{ lostInputTokens: lost }, { error: 'upstream_bad_response' }])
      expect(event?.attempts[1]?.lostInputTokens).toBeUndefined()
      expect(event).toMatchObject({ basis: 'partial', usage: { input: { total: lost }, output: { total: 0 } } })
    })
    it('none that the upstream rejected', async () => {
      const refused = () => new Response('{"error":{"message":"busy"}}', { status: 500 })
      const event = await attemptsOf({ a: refused, b: asJson(completion) })
      expect(event?.attempts[0]).toMatchObject({ error: 'upstream_error' })
      expect(event?.attempts[0]?.lostInputTokens).toBeUndefined()
    })
  })
  it('includes the searches of responses and of generateContent', async () => {
    const search = { type: 'web_search_call', id: 'ws', status: 'completed', action: { type: 'search', query: 'x' } }
    const text = {
      type: 'message',
      id: 'm',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'x', annotations: [] }],
    }
    const usage = { input_tokens: 3, output_tokens: 1, total_tokens: 4 }
    const response = {
      id: 'resp_1',
      object: 'response',
      created_at: 1,
      status: 'completed',
      model: 'real',
      output: [search, search, text],
      usage,
    }
    const openai = setUp({ a: asJson(response) })
    await (await openai.post('/v1/responses', { model: 'real', input: 'hi' })).text()
    expect(openai.finished).toMatchObject([{ units: { searches: 2 } }])
    const streamed = setUp({ a: asStream([event({ type: 'response.completed', response })]) })
    await (await streamed.post('/v1/responses', { model: 'real', stream: true, input: 'hi' })).text()
    await vi.waitFor(() => expect(streamed.finished).toMatchObject([{ units: { searches: 2 } }]))
    const candidate = { ...generated.candidates[0], groundingMetadata: { webSearchQueries: ['a', 'b', 'c'] } }
    const google = setUp({ g: asJson({ ...generated, candidates: [candidate] }) })
    await (
      await google.post('/v1beta/models/gemini-x:generateContent', { contents: [{ parts: [{ text: 'hi' }] }] })
    ).text()
    expect(google.finished).toMatchObject([{ units: { searches: 3 } }])
  })
})
