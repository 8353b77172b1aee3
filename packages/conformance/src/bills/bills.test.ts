import { anthropic, createGateway, type FinishEvent, gemini, openaiCompatible } from '@modelgate/core'
import { createPrices, pricePlugin } from '@modelgate/tokens'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../base/json.ts'
import { type Bill, bills, prices } from './bills.ts'
import { recordedResponse } from './upstream-responses.ts'

const table = createPrices({ models: prices })
const baseURL = 'http://provider.test'
const upstreams = {
  chat: openaiCompatible({ baseURL, apiKey: 'k', formats: ['chat'] }),
  responses: openaiCompatible({ baseURL, apiKey: 'k', formats: ['responses'] }),
  messages: anthropic({ apiKey: 'k' }),
  gemini: gemini({ apiKey: 'k' }),
}

/** Requests of each format's clients, by the model's name and whether they ask for a stream. */
const requests: Readonly<
  Record<Bill['format'], (model: string, stream: boolean) => { path: string; body: JsonObject }>
> = {
  chat: (model, stream) => ({
    path: '/v1/chat/completions',
    body: { model, messages: [{ role: 'user', content: 'Hello' }], stream },
  }),
  messages: (model, stream) => ({
    path: '/v1/messages',
    body: { model, max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }], stream },
  }),
  responses: (model, stream) => ({ path: '/v1/responses', body: { model, input: 'Hello', stream } }),
  gemini: (model, stream) => ({
    path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
  }),
}

/** Sends a request of a client, and returns what the gateway reports about the call. */
async function call(bill: Bill, client: Bill['format'], stream: boolean): Promise<FinishEvent> {
  const recorded = recordedResponse(bill)
  let finish: (event: FinishEvent) => void = () => {}
  const finished = new Promise<FinishEvent>((resolve) => {
    finish = resolve
  })
  const gateway = createGateway({
    auth: 'none',
    upstreams: { provider: upstreams[bill.format] },
    models: { [bill.model]: 'provider' },
    plugins: [pricePlugin(table), { name: 'test', onFinish: finish }],
    fetch: async () =>
      stream
        ? new Response(recorded.stream, { headers: { 'content-type': 'text/event-stream' } })
        : Response.json(recorded.whole),
  })
  const { path, body } = requests[client](bill.model, stream)
  const response = await gateway.fetch(
    new Request(`http://gateway.test${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify(body),
    }),
  )
  const text = await response.text()
  expect(response.status, text).toBe(200)
  return await finished
}

const clients = ['chat', 'messages', 'responses', 'gemini'] as const

describe.each(clients)('the bill of a client of %s', (client) => {
  it.each(bills)('for $format: $title', async (bill) => {
    for (const stream of [false, true]) {
      const { cost, basis, outcome } = await call(bill, client, stream)
      expect({ outcome, basis, stream }).toEqual({ outcome: 'finished', basis: 'reported', stream })
      // A billionth is the unit of the gateway's sums.
      expect(cost?.amount).toBeCloseTo(bill.cost, 8)
    }
  })
})

it('has at least 30 usages, of every format', () => {
  expect(bills.length).toBeGreaterThanOrEqual(30)
  expect(new Set(bills.map(({ format }) => format)).size).toBe(4)
})

it('is unknown if a tier served the call that has no prices', async () => {
  const bill = bills.find(({ model }) => model === 'haiku') as Bill
  const event = await call(
    { ...bill, usage: { input_tokens: 1, output_tokens: 1, service_tier: 'priority' } },
    'chat',
    false,
  )
  expect(event).toMatchObject({ tier: 'priority', usage: { input: { total: 1 } } })
  expect(event.cost).toBeUndefined()
})

it('counts the tokens of all runs in the usage of the call', async () => {
  const bill = bills.find(({ title }) => title.startsWith('a compaction that')) as Bill
  const { usage, runs } = await call(bill, 'messages', true)
  expect(usage).toMatchObject({ input: { total: 7011, cacheRead: 7000 }, output: { total: 706 } })
  expect(runs).toHaveLength(2)
})
