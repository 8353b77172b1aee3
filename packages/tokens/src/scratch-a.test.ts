import { createGateway, type FinishEvent, openai } from '@modelgate/core'
import { describe, expect, it } from 'vitest'
import { createTokens, type TokensOptions } from './create-tokens.ts'
import { memoryLedger } from './ledger/memory-ledger.ts'
import { memoryStorage } from './storage/memory-storage.ts'

type Up = (request: Request) => Response | Promise<Response>
function setUp(up: Up, options: TokensOptions = {}, formats: any = ['chat', 'responses'], plugins: any[] = []) {
  const finished: FinishEvent[] = []
  const tokens = createTokens({ storage: memoryStorage(), ledger: memoryLedger(), prices: { models: { '*': { input: 1, output: 10 } } }, ...options })
  const gateway = createGateway({
    auth: tokens.authenticate,
    upstreams: { up: openai({ apiKey: 'upstream', baseURL: 'http://up/v1', formats }) },
    models: { '*': 'up' },
    plugins: [...plugins, { name: 'end', onFinish: (e) => void finished.push(e) }],
    fetch: (async (i: any, init: any) => up(new Request(i, init))) as any,
    logger: { warn() {}, error: (...a: unknown[]) => console.log('LOG', ...a.map(String)) } as any,
  })
  const post = (path: string, secret: string, body: object, more: object = {}) =>
    gateway.fetch(`http://gate${path}`, { method: 'POST', headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}`, 'anthropic-version': '2023-06-01' }, body: JSON.stringify(body), ...more })
  return { tokens, gateway, finished, post }
}
const json = (v: unknown) => new Response(JSON.stringify(v), { headers: { 'content-type': 'application/json' } })
const sse = (events: unknown[], hang = true) => {
  let n = 0
  const enc = new TextEncoder()
  return new Response(new ReadableStream({ async pull(c) {
    if (n < events.length) { const e: any = events[n++]; c.enqueue(enc.encode((e.type ? `event: ${e.type}\n` : '') + `data: ${JSON.stringify(e)}\n\n`)) }
    else if (hang) await new Promise(() => {})
    else c.close()
  } }), { headers: { 'content-type': 'text/event-stream' } })
}
const readUntil = async (r: Response, words: string) => {
  const reader = r.body!.getReader(); const d = new TextDecoder(); let t = ''
  for (;;) { const { done, value } = await reader.read(); if (done) break; t += d.decode(value); if (t.includes(words)) { await reader.cancel(); break } }
  await new Promise((r) => setTimeout(r, 20)); return t
}
const sum = async (tokens: any, id: string) => { const u = await tokens.usage(id); return { totals: u.totals, budgets: u.budgets.map((b: any) => ({ of: b.of, limit: b.limit, used: b.used })) } }

describe('scratch', () => {
  it('A background', async () => {
    const { tokens, post, finished, gateway } = setUp(async (r) => r.method === 'GET'
      ? json({ id: 'resp_1', object: 'response', status: 'completed', output: [], usage: { input_tokens: 10, output_tokens: 60000, total_tokens: 60010 } })
      : json({ id: 'resp_1', object: 'response', status: 'queued', output: [], usage: null, error: null, model: 'm' }))
    const { id, secret } = await tokens.issue({ budget: { money: 0.1, period: 'total' } })
    const statuses = []
    for (let n = 0; n < 5; n++) { const r = await post('/v1/responses', secret, { model: 'gpt-5', input: 'hi', background: true, store: true }); statuses.push(r.status); await r.text() }
    const g = await gateway.fetch('http://gate/v1/responses/resp_1', { headers: { authorization: `Bearer ${secret}` } })
    console.log('A', statuses, finished.at(-1)?.basis, JSON.stringify(finished.at(-1)?.usage), g.status, (await g.text()).slice(0, 200), JSON.stringify(await sum(tokens, id)))
  })
  it('B responses abort at the done events', async () => {
    const text = 'word '.repeat(1000)
    const events = [
      { type: 'response.created', response: { id: 'resp_1', object: 'response', status: 'in_progress', output: [], model: 'm' } },
      ...Array.from({ length: 1000 }, () => ({ type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: 'word ' })),
      { type: 'response.output_text.done', item_id: 'm', output_index: 0, content_index: 0, text },
      { type: 'response.content_part.done', item_id: 'm', output_index: 0, content_index: 0, part: { type: 'output_text', text } },
      { type: 'response.output_item.done', output_index: 0, item: { id: 'm', type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] } },
    ]
    const { tokens, post, finished } = setUp(() => sse(events))
    const { id, secret } = await tokens.issue({ budget: { tokens: 100_000, period: 'total' } })
    await readUntil(await post('/v1/responses', secret, { model: 'gpt-5', input: 'hi', stream: true, store: false }), 'output_item.done')
    console.log('B', finished.at(-1)?.outcome, finished.at(-1)?.basis, JSON.stringify(finished.at(-1)?.usage), JSON.stringify(await sum(tokens, id)))
  })
  it('C chat abort at finish, hidden reasoning, long CJK', async () => {
    const events = [
      ...Array.from({ length: 50 }, () => ({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: 'ok ' }, finish_reason: null }] })),
      { id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    ]
    const { tokens, post, finished } = setUp(() => sse(events))
    const { id, secret } = await tokens.issue({ budget: { tokens: 1_000_000, period: 'total' } })
    await readUntil(await post('/v1/chat/completions', secret, { model: 'gpt-5', messages: [{ role: 'user', content: '漢'.repeat(500_000) }], stream: true }), '"stop"')
    console.log('C', finished.at(-1)?.outcome, finished.at(-1)?.basis, JSON.stringify(finished.at(-1)?.usage), JSON.stringify(await sum(tokens, id)))
  })
  it('D aborted images', async () => {
    const { tokens, post, finished } = setUp((r) => new Promise((_, rej) => r.signal.addEventListener('abort', () => rej(r.signal.reason))), { prices: { models: { '*': { image: 1 } } } })
    const { id, secret } = await tokens.issue({ budget: { money: 5, period: 'total' } })
    for (let n = 0; n < 8; n++) {
      const c = new AbortController(); setTimeout(() => c.abort(), 20)
      await post('/v1/images/generations', secret, { model: 'gpt-image-1', prompt: 'x', n: 10 }, { signal: c.signal }).catch(() => {})
      await new Promise((r) => setTimeout(r, 30))
    }
    console.log('D', finished.length, finished.at(-1)?.outcome, JSON.stringify(finished.at(-1)?.attempts), JSON.stringify(finished.at(-1)?.cost), JSON.stringify(await sum(tokens, id)))
  })
  it('E model names fill the memory', async () => {
    const { tokens, post } = setUp(() => new Response(JSON.stringify({ error: { message: 'no such model', code: 'model_not_found', type: 'invalid_request_error' } }), { status: 404, headers: { 'content-type': 'application/json' } }))
    const { id, secret } = await tokens.issue()
    for (let n = 0; n < 20; n++) await (await post('/v1/chat/completions', secret, { model: `m${n}${'x'.repeat(1_000_000)}`, messages: [{ role: 'user', content: 'x' }] })).text()
    const u = await tokens.usage(id)
    console.log('E rows', u.byModel.length, 'chars kept', u.byModel.reduce((s, r) => s + r.model.length, 0), 'usage JSON', JSON.stringify(u).length)
  })
  it('F foreign promise from admit', async () => {
    const { runInNewContext } = await import('node:vm')
    const Foreign = runInNewContext('Promise')
    const { tokens, post } = setUp(() => json({ id: 'c', object: 'chat.completion', choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }), {}, ['chat'],
      [{ name: 'deny', admit: () => { const p = Foreign.reject(new Error('denied')); p.catch(() => {}); return p } }])
    const { secret } = await tokens.issue()
    const r = await post('/v1/chat/completions', secret, { model: 'gpt-5', messages: [{ role: 'user', content: 'x' }] })
    console.log('F', r.status)
  })
  it('G allowance with resetMs Infinity on messages', async () => {
    let settledCount = 0
    const { tokens, post, finished } = setUp(() => json({ id: 'c', object: 'chat.completion', choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }), {}, ['chat'],
      [{ name: 'never', admit: () => ({ allowance: { requests: { limit: 1, remaining: 1, resetMs: Number.POSITIVE_INFINITY } }, settle() { settledCount++ } }) }])
    const { id, secret } = await tokens.issue({ limits: { concurrent: 1 }, budget: { money: 1, period: 'total' } })
    const one = await post('/v1/messages', secret, { model: 'gpt-5', max_tokens: 5, messages: [{ role: 'user', content: 'x' }] }).then((r) => r.status, (e) => `REJECTED ${e}`)
    const two = await post('/v1/messages', secret, { model: 'gpt-5', max_tokens: 5, messages: [{ role: 'user', content: 'x' }] }).then((r) => r.status, (e) => `REJECTED ${e}`)
    console.log('G', one, two, 'settled', settledCount, 'finished', finished.length, JSON.stringify(await sum(tokens, id)))
  })
  it('H client secrets with an exhausted budget of money', async () => {
    const { tokens, post, finished } = setUp((r) => r.url.includes('client_secrets') ? json({ value: 'ek_123', expires_at: 1, session: {} }) : json({}))
    const { id, secret } = await tokens.issue({ budget: [{ money: 0, period: 'total' }, { tokens: 0, period: 'total' }] })
    const statuses = []
    for (let n = 0; n < 3; n++) { const r = await post('/v1/realtime/client_secrets', secret, { session: { type: 'realtime', model: 'gpt-realtime' } }); statuses.push(r.status, (await r.text()).slice(0, 40)) }
    console.log('H', statuses, JSON.stringify(finished.at(-1)?.cost), JSON.stringify(await sum(tokens, id)))
  })
  it('I zero budget, embeddings by token ids', async () => {
    const { tokens, post } = setUp(() => json({ object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.1] }], model: 'm', usage: { prompt_tokens: 8000, total_tokens: 8000 } }))
    const { id, secret } = await tokens.issue({ budget: { tokens: 0, period: 'total' } })
    const rs = await Promise.all(Array.from({ length: 10 }, () => post('/v1/embeddings', secret, { model: 'text-embedding-3-small', input: Array.from({ length: 8000 }, (_, n) => n) }).then((r) => r.status)))
    console.log('I', rs, JSON.stringify(await sum(tokens, id)))
  })
})
