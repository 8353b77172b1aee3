import { describe, expect, it } from 'vitest'
import { asJson, completion, setUp } from '../gateway/create-gateway.test-support.ts'

describe('a caller who may use some models only', () => {
  const auth = () => ({ id: 'me', models: ['real', 'cheap*'] })
  const config = { auth, models: { '*': 'a' } } as const
  it.each([
    ['further models', { models: ['cheap-2', 'dear'] }],
    ['a string instead of a list', { models: 'dear' }],
    ['an invalid name', { models: [7] }],
  ])('cannot make the upstream use other models: %s', async (_, more) => {
    const { chat, seen, finished } = setUp({ a: asJson(completion) }, config)
    const response = await chat(more)
    expect(response.status).toBe(404)
    expect((await response.json()).error).toMatchObject({ code: 'model_not_found', param: 'models' })
    expect(seen).toHaveLength(0)
    expect(finished).toMatchObject([{ status: 404, attempts: [] }])
  })
  it('cannot make the upstream use other models in completions', async () => {
    const { post, seen } = setUp({ a: asJson(completion) }, config)
    const response = await post('/v1/completions', { model: 'real', prompt: 'hi', models: ['dear'] })
    expect(response.status).toBe(404)
    expect(seen).toHaveLength(0)
  })
  it('may name allowed models', async () => {
    const { chat, seen } = setUp({ a: asJson(completion) }, config)
    expect((await chat({ models: ['cheap-2', 'real'] })).status).toBe(200)
    expect(JSON.parse(seen[0]?.body ?? '').models).toEqual(['cheap-2', 'real'])
  })
  it('has no effect on callers who may use all models', async () => {
    const { chat } = setUp({ a: asJson(completion) }, { models: { '*': 'a' } })
    expect((await chat({ models: ['dear'] })).status).toBe(200)
  })
})

describe('names of models', () => {
  it.each([
    [256, 200],
    [257, 404],
  ])('of %i characters result in %i', async (length, status) => {
    const { chat } = setUp({ a: asJson(completion) }, { models: { '*': 'a' } })
    expect((await chat({ model: 'm'.repeat(length) })).status).toBe(status)
  })
})
