import { describe, expect, it } from 'vitest'
import { GatewayError } from '../base/errors.ts'
import type { AdmitCall } from '../config/admission.ts'
import type { FinishEvent } from '../config/finish-event.ts'
import type { Plugin } from '../config/plugin.ts'
import type { ResponseStore } from '../config/stores.ts'
import { asJson, message, setUp } from '../gateway/create-gateway.test-support.ts'
import { memoryResponseStore } from './responses/store.ts'

/** Counts the calls to a store. */
function countedStore(): { store: ResponseStore; calls: () => number } {
  const inner = memoryResponseStore()
  let calls = 0
  const counted =
    <A extends unknown[], R>(run: (...all: A) => R) =>
    (...all: A): R => {
      calls++
      return run(...all)
    }
  return {
    store: { get: counted(inner.get), set: counted(inner.set), delete: counted(inner.delete) },
    calls: () => calls,
  }
}

const headers = { authorization: 'Bearer good' }
const siblings = [
  ['GET', '', 200],
  ['GET', '/input_items', 200],
  ['POST', '/cancel', 400],
  ['DELETE', '', 200],
] as const

describe('a stored response', () => {
  it.each(siblings)('is admitted, reported to onFinish and never cached for %s %s', async (method, behind, status) => {
    const admitted: AdmitCall[] = []
    const finished: FinishEvent[] = []
    const plugin: Plugin = {
      name: 'limits',
      admit: (call) => {
        admitted.push(call)
        return { headers: { 'x-left': '1' } }
      },
      onFinish: (event) => void finished.push(event),
    }
    const { post, gateway } = setUp({ m: asJson(message) }, { plugins: [plugin] })
    const { id } = await (await post('/v1/responses', { model: 'claude-x', input: 'hi' })).json()
    admitted.length = finished.length = 0
    for (const [name, expected] of [
      [id, status],
      ['resp_unknown', 404],
    ] as const) {
      const reply = await gateway.fetch(`http://gw/v1/responses/${name}${behind}`, { method, headers })
      expect(reply.status).toBe(expected)
      expect(reply.headers.get('cache-control')).toBe('no-store')
      expect(reply.headers.get('x-left')).toBe('1')
    }
    expect(admitted).toMatchObject([{ identity: { id: 'me' }, targets: [] }, {}])
    expect(admitted[0]?.estimate()).toEqual({ input: 0, output: 0 })
    expect(finished.map((event) => event.status)).toEqual([status, 404])
    expect(finished[0]?.usage).toBeUndefined()
  })

  it('is not looked up for a call that a plugin rejects', async () => {
    const { store, calls } = countedStore()
    const admit = () => {
      throw new GatewayError('rate_limited', 'Too many requests.')
    }
    const { gateway } = setUp({}, { responses: { store }, plugins: [{ name: 'limits', admit }] })
    expect((await gateway.fetch('http://gw/v1/responses/resp_1', { headers })).status).toBe(429)
    expect(calls()).toBe(0)
  })
})

describe('an admission that is extended by a stored conversation', () => {
  /** A conversation of two requests, with a plugin that sets a header when it is extended. */
  async function converse(header: string) {
    const finished: FinishEvent[] = []
    const settled: number[] = []
    const admit: Plugin['admit'] = () => {
      const headers: Record<string, string> = { 'x-left': 'first' }
      return {
        headers,
        extend: () => void Object.assign(headers, { 'x-left': header }),
        settle: ({ status }) => void settled.push(status),
      }
    }
    const plugin: Plugin = { name: 'limits', admit, onFinish: (event) => void finished.push(event) }
    const { post, seen } = setUp({ m: asJson(message) }, { plugins: [plugin] })
    const { id } = await (await post('/v1/responses', { model: 'claude-x', input: 'hi' })).json()
    const reply = await post('/v1/responses', { model: 'claude-x', input: 'go on', previous_response_id: id })
    return {
      status: reply.status,
      left: reply.headers.get('x-left'),
      settled,
      calls: seen.length,
      text: await reply.text(),
    }
  }

  it('may change its headers, which the response then has', async () => {
    expect(await converse('extended')).toMatchObject({ status: 200, left: 'extended', settled: [200, 200], calls: 2 })
  })

  it('fails the call with a header that cannot be sent, and is settled', async () => {
    const found = await converse('a\nb')
    expect(found).toMatchObject({ status: 500, left: null, settled: [200, 500], calls: 1 })
    expect(found.text).not.toContain('x-left')
  })
})

describe('the number of store calls for one request', () => {
  const items = (count: number, more: object = {}) =>
    Array.from({ length: count }, (_, at) => ({
      type: 'message',
      id: `msg_${at}`,
      role: 'assistant',
      content: [],
      ...more,
    }))

  it.each([
    ['items with ids', items(5001)],
    ['references', Array.from({ length: 1001 }, (_, at) => ({ type: 'item_reference', id: `msg_${at}` }))],
  ])('is zero for too many %s, which result in 400', async (_, input) => {
    const { store, calls } = countedStore()
    const { post, seen } = setUp({ m: asJson(message) }, { responses: { store } })
    const reply = await post('/v1/responses', { model: 'claude-x', input })
    expect(reply.status).toBe(400)
    expect((await reply.json()).error.message).toMatch(/at most \d+ are accepted/)
    expect([calls(), seen.length]).toEqual([0, 0])
  })

  it('is one for an id that occurs many times', async () => {
    const { store, calls } = countedStore()
    const { post } = setUp({ m: asJson(message) }, { responses: { store } })
    const input = Array.from({ length: 300 }, () => ({ ...items(1)[0] }))
    expect((await post('/v1/responses', { model: 'claude-x', input, store: false })).status).toBe(200)
    expect(calls()).toBe(1)
  })

  it('is zero for user messages', async () => {
    const { store, calls } = countedStore()
    const { post } = setUp({ m: asJson(message) }, { responses: { store } })
    const input = items(300, { role: 'user', content: 'hi' })
    expect((await post('/v1/responses', { model: 'claude-x', input, store: false })).status).toBe(200)
    expect(calls()).toBe(0)
  })

  it('is zero for a response with too many items, which is not stored', async () => {
    const { store, calls } = countedStore()
    const { post, logged } = setUp({ m: asJson(message) }, { responses: { store } })
    const input = Array.from({ length: 6000 }, () => ({ role: 'user', content: 'x' }))
    const reply = await post('/v1/responses', { model: 'claude-x', input })
    expect((await reply.json()).store).toBe(false)
    expect(calls()).toBe(0)
    expect(JSON.stringify(logged)).toContain('could not be stored')
  })
})
