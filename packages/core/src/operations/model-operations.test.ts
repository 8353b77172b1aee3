import { describe, expect, it } from 'vitest'
import { asJson, setUp } from '../gateway/create-gateway.test-support.ts'

const answer = { id: 'modr-1', model: 'omni-moderation-latest', results: [{ flagged: false }] }

describe('an operation in the upstream’s own dialect', () => {
  it('passes the request byte for byte except the model’s name', async () => {
    const odd = '{ "id":"m", "big":12345678901234567890, "results":[] }'
    const { post, seen, finished } = setUp({ a: () => new Response(odd) })
    const body = '{ "model":"alias", "input":["h\\u00ef"], "invented": 12345678901234567890 }'
    const reply = await post('/v1/moderations', body)
    expect(await reply.text()).toBe(odd)
    expect(seen[0]).toMatchObject({ url: 'http://a/v1/moderations', body: body.replace('alias', 'real') })
    expect(finished[0]).toMatchObject({ operation: 'moderations', lane: 'wire', outcome: 'finished', model: 'alias' })
  })

  it.each([
    ['omni-moderation-latest', { input: 'x' }],
    ['real', { input: 'x', model: 'real' }],
  ])('adds the model %s if the client sent none', async (model, sent) => {
    const { post, seen } = setUp(
      { a: asJson(answer) },
      { models: { 'omni-moderation-latest': { upstream: 'a', model } } as never },
    )
    expect((await post('/v1/moderations', { input: 'x' })).status).toBe(200)
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual(sent)
  })

  it.each([
    [{ model: 'real' }, 'input'],
    [{ model: 'real', input: 5 }, 'input'],
    [{ model: 'real', input: [] }, 'input'],
    [{ model: 5, input: 'x' }, 'model'],
    [{ model: 'claude-x', input: 'x' }, 'model'],
  ])('rejects %j in the client’s dialect with the parameter %s', async (body, param) => {
    const { post, seen } = setUp({ a: asJson(answer), m: asJson(answer) })
    const reply = await post('/v1/moderations', body)
    expect([reply.status, seen.length]).toEqual([400, 0])
    expect(await reply.json()).toMatchObject({ error: { param, type: 'invalid_request_error' } })
  })

  it('does not call the upstream for an explain request', async () => {
    const { post, seen } = setUp({ a: asJson(answer) }, { explain: true })
    const reply = await post('/v1/moderations?modelgate=explain', { model: 'real', input: 'x' })
    expect([reply.status, seen.length]).toEqual([400, 0])
  })

  it('falls back to the next target and reports the upstream’s errors', async () => {
    const failing = asJson({ error: { message: 'busy' } }, { status: 500 })
    const { post, seen, finished } = setUp({ a: failing, b: asJson(answer) }, { retry: { attempts: 2 } })
    expect((await post('/v1/moderations', { model: 'both', input: 'x' })).status).toBe(200)
    expect(seen).toHaveLength(2)
    const rejected = await post('/v1/moderations', { model: 'real', input: 'x' })
    expect(rejected.status).toBe(502)
    expect(finished.map(({ outcome }) => outcome)).toEqual(['finished', 'failed'])
  })
})
