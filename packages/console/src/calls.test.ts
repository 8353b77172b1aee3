import { createGateway, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { describe, expect, it } from 'vitest'
import { type CallFacts, createCallBook } from './calls.ts'
import { type ConsoleOptions, consolePages } from './index.ts'

const secret = 'the words of the question'

async function callOnce(options: ConsoleOptions = {}) {
  const provider = createFakeProvider()
  const gateway = createGateway({
    auth: () => ({ id: 'somebody' }),
    upstreams: {
      secretive: openai({ apiKey: 'sk-hidden-0123456789', baseURL: 'http://provider.test/v1', formats: ['chat'] }),
    },
    models: { known: { upstream: 'secretive', model: 'hidden-model' } },
    plugins: [{ name: 'prices', costOf: () => ({ amount: 0.25, currency: 'EUR' }) }, consolePages(options)],
    fetch: provider.fetch,
    logger: false,
  })
  const ask = (path: string, init?: RequestInit) => gateway.fetch(`http://gateway.test${path}`, init)
  const answer = await ask('/v1/chat/completions', {
    method: 'POST',
    headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'known', messages: [{ role: 'user', content: secret }] }),
  })
  await answer.text()
  const id = answer.headers.get('modelgate-request-id') ?? ''
  return { id, ask, record: await ask(`/console/calls/${id}`) }
}

describe('the facts of a finished call', () => {
  it('are returned to anyone who knows its id: numbers, without content or identities', async () => {
    const { record, id } = await callOnce()
    const text = await record.text()
    expect(record.status).toBe(200)
    expect(record.headers.get('cache-control')).toBe('no-store')
    const facts = JSON.parse(text) as CallFacts
    expect(facts).toMatchObject({
      requestId: id,
      basis: 'reported',
      cost: { amount: 0.25, currency: 'EUR' },
      attempts: [{ reason: 'first', upstream: 'secretive', model: 'hidden-model', status: 200 }],
      losses: { warnings: 0, notes: 0 },
    })
    expect(facts.attempts[0]?.startedMs).toBeGreaterThanOrEqual(0)
    expect(facts.usage?.input).toBeGreaterThan(0)
    expect(text).not.toMatch(new RegExp(`${secret}|somebody|sk-hidden`))
  })

  it('name nothing behind the gateway if explanations are off', async () => {
    const { record, ask } = await callOnce({ explain: false })
    const text = await record.text()
    expect(JSON.parse(text)).toMatchObject({ attempts: [{ reason: 'first', status: 200 }] })
    expect(text).not.toMatch(/secretive|hidden-model/)
    expect((await ask('/console/explain?path=/v1/messages', { method: 'POST' })).status).toBe(404)
    expect(await (await ask('/console/info.json')).json()).toMatchObject({ explain: false, playground: true })
  })

  it('are an uncached JSON 404 for an unknown id', async () => {
    const { ask } = await callOnce()
    const missing = await ask('/console/calls/req_0000000000000000000000')
    expect([missing.status, missing.headers.get('cache-control')]).toEqual([404, 'no-store'])
    expect((await missing.json()).error.message).toContain('Call not found')
  })

  it('are neither returned nor kept without the Playground', async () => {
    const { record } = await callOnce({ playground: false })
    expect(record.status).toBe(404)
    expect(consolePages({ playground: false }).onFinish).toBeUndefined()
  })

  it('have the billed units of a call', () => {
    const book = createCallBook({ named: true })
    const call = {
      identity: null,
      format: 'chat',
      model: 'm',
      stream: false,
      status: 200,
      outcome: 'finished',
    } as const
    const rest = { losses: [], attempts: [], startedAt: 0, durationMs: 1 }
    book.write({ ...call, ...rest, requestId: 'a', operation: 'images', units: { images: 2 } })
    expect(book.read('a')?.units).toEqual({ images: 2 })
  })

  it('are forgotten when newer calls come', () => {
    const book = createCallBook({ named: true, size: 3 })
    for (const requestId of ['a', 'b', 'c', 'd'])
      book.write({
        requestId,
        identity: null,
        operation: 'generate',
        format: 'chat',
        model: 'm',
        stream: false,
        status: 200,
        outcome: 'finished',
        losses: [],
        attempts: [],
        startedAt: 0,
        durationMs: 1,
      })
    expect(['a', 'b', 'c', 'd'].map((id) => book.read(id)?.requestId)).toEqual([undefined, 'b', 'c', 'd'])
  })
})
