import { describe, expect, it } from 'vitest'
import { consolePages } from '../index.ts'
import type { CallSummary, RecentCall } from './recent-call.ts'
import { canaries, credentials, recentGateway } from './recent-calls.test-support.ts'

interface Page {
  readonly calls: readonly CallSummary[]
  readonly next?: string
}

const apiPaths = ['api/calls', 'api/calls/stream', 'api/calls/req_x'] as const

describe('recent calls', () => {
  it.each(['calls', ...apiPaths])('do not exist unless they are configured: %s is 404', async (path) => {
    const { read } = recentGateway({}, { plugins: [consolePages()] })
    expect((await read(path)).status).toBe(404)
    expect(consolePages({ playground: false }).onNotice).toBeUndefined()
  })

  it.each(apiPaths)('require authorization: %s is an uncached 401', async (path) => {
    const { read } = recentGateway()
    const response = await read(path, 'wrong')
    expect([response.status, response.headers.get('cache-control')]).toEqual([401, 'no-store'])
    await response.body?.cancel()
  })

  it.each([
    ['throws', () => Promise.reject(new Error('broken')), 500],
    ['returns a value that is not true', () => 'yes' as unknown as boolean, 401],
  ])('stay closed if `authorize` %s', async (_, authorize, status) => {
    const { read } = recentGateway({ authorize })
    for (const path of apiPaths) expect((await read(path)).status).toBe(status)
  })

  it.each([
    [{ authorize: undefined }, '`authorize`'],
    [{ size: 0 }, 'size is 0'],
    [{ size: 1.5 }, 'size is 1.5'],
  ])('reject the invalid options %j', (options, words) => {
    expect(() => recentGateway(options as object)).toThrow(words)
  })

  it('list finished calls, newest first, with their caller, target, usage and cost', async () => {
    const { ask, read } = recentGateway()
    const first = await ask('plain-model')
    const second = await ask('fallback-model', { stream: true })
    const { calls } = (await (await read('api/calls')).json()) as Page
    expect(calls.map(({ requestId }) => requestId)).toEqual([second, first])
    expect(calls[0]).toMatchObject({
      outcome: 'finished',
      status: 200,
      caller: { id: 'team-1', name: 'Team One' },
      operation: 'generate',
      format: 'chat',
      model: 'fallback-model',
      upstream: 'good',
      upstreamModel: 'good-model',
      stream: true,
      attemptCount: 2,
      lossCount: 0,
      cost: { amount: 0.25, currency: 'EUR' },
    })
    expect(calls[0]?.usage?.output).toBeGreaterThan(0)
    expect(calls[0]?.firstEventMs).toBeGreaterThanOrEqual(0)
  })

  it('show the attempts, losses and error of one call', async () => {
    const { ask, read } = recentGateway()
    const id = await ask('failing-model')
    const call = (await (await read(`api/calls/${id}`)).json()) as RecentCall
    expect(call).toMatchObject({ requestId: id, status: 502, outcome: 'failed', error: { kind: 'upstream_auth' } })
    expect(call.attempts).toMatchObject([{ upstream: 'bad', reason: 'first', status: 401, error: 'upstream_auth' }])
    expect((await read('api/calls/req_unknown')).status).toBe(404)
  })

  it('keep calls that were rejected before their model was known', async () => {
    const { gateway, read } = recentGateway()
    const rejected = await gateway.fetch('http://gateway.test/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: 'Bearer mg-canary-wrong', 'content-type': 'application/json' },
      body: '{}',
    })
    const text = await (await read('api/calls')).text()
    expect((JSON.parse(text) as Page).calls).toMatchObject([
      {
        requestId: rejected.headers.get('modelgate-request-id'),
        outcome: 'rejected',
        status: 401,
        method: 'POST',
        path: '/v1/chat/completions',
        error: { kind: 'authentication' },
      },
    ])
    expect(text).not.toContain('mg-canary-wrong')
  })

  it('forget the oldest call when `size` is reached, and page through the others', async () => {
    const { ask, read } = recentGateway({ size: 4 })
    const ids: string[] = []
    for (let n = 0; n < 6; n++) ids.unshift(await ask('plain-model'))
    const seen: string[] = []
    let cursor = ''
    for (let n = 0; n < 2; n++) {
      const page = (await (await read(`api/calls?limit=2${cursor}`)).json()) as Page
      seen.push(...page.calls.map(({ requestId }) => requestId))
      if (n === 1) expect(page.next).toBeUndefined()
      cursor = `&cursor=${page.next}`
    }
    expect(seen).toEqual(ids.slice(0, 4))
    expect((await read(`api/calls/${ids[5]}`)).status).toBe(404)
    expect(await (await read(`api/calls?cursor=${ids[5]}`)).json()).toEqual({ calls: [] })
  })

  it.each([
    ['token=TEAM', 4],
    ['token=team-1&status=failed', 2],
    ['token=other', 0],
    ['model=plain', 1],
    ['model=good-model', 1],
    ['upstream=bad', 2],
    ['status=200', 2],
    ['status=4xx', 1],
    ['status=502&upstream=bad', 1],
  ])('can be filtered by %s', async (query, count) => {
    const { ask, read } = recentGateway()
    for (const model of ['plain-model', 'fallback-model', 'failing-model', 'repeating-model']) await ask(model)
    const { calls } = (await (await read(`api/calls?${query}`)).json()) as Page
    expect(calls).toHaveLength(count)
  })

  it.each(['?status=9xx', '?limit=-1', '?limit=501', '?color=red'])('reject the query %s', async (query) => {
    const { read } = recentGateway()
    const response = await read(`api/calls${query}`)
    expect(response.status).toBe(400)
    expect((await response.json()).error.message).toMatch(/status|limit|color/)
  })

  it('redirect the page with a trailing slash', async () => {
    const { read } = recentGateway()
    const response = await read('calls/')
    expect([response.status, response.headers.get('location')]).toEqual([308, '../calls'])
  })
})

const models = [
  'plain-model',
  'fallback-model',
  'failing-model',
  'repeating-model',
  'echoing-model',
  'unknown-model',
] as const

/** Makes calls of every outcome, whose content has credentials too. Returns the texts of all pages and responses of the API, by path. */
async function readEverything(capture: 'bodies' | undefined): Promise<ReadonlyMap<string, string>> {
  const { gateway, ask, read } = recentGateway(capture === undefined ? {} : { capture })
  const content = `${canaries.question} ${capture === undefined ? '' : [canaries.apiKey, canaries.clientToken].join(' ')}`
  const messages = [{ role: 'user', content }]
  const ids: string[] = []
  for (const model of models) for (const stream of [false, true]) ids.push(await ask(model, { stream, messages }))
  ids.push(await ask('plain-model', { messages: canaries.clientToken }))
  const stream = await read('api/calls/stream?last=50')
  const paths = [
    '',
    'playground',
    'calls',
    'info.json',
    'api/calls',
    ...ids.map((id) => `api/calls/${id}`),
    ...ids.map((id) => `calls/${id}`),
  ]
  const texts = new Map<string, string>()
  for (const path of paths) texts.set(path, await (await read(path)).text())
  // The stream ends with the gateway.
  const text = stream.text()
  await gateway.close()
  return texts.set('api/calls/stream', await text)
}

describe('secrets and content', () => {
  it('appear in no page and in no response of the API unless bodies are captured', async () => {
    for (const [path, text] of await readEverything(undefined))
      for (const canary of [...credentials, canaries.question, canaries.answer])
        expect(text, `${canary} at ${path}`).not.toContain(canary)
  })

  it('appear only without credentials, and only in the details of a call, if bodies are captured', async () => {
    const texts = await readEverything('bodies')
    for (const [path, text] of texts) {
      for (const canary of credentials) expect(text, `${canary} at ${path}`).not.toContain(canary)
      if (!/^api\/calls\/req_/.test(path))
        for (const word of [canaries.question, canaries.answer]) expect(text).not.toContain(word)
    }
    const all = [...texts.values()].join('\n')
    for (const words of [canaries.question, canaries.answer, 'Authorization: Bearer ***']) expect(all).toContain(words)
  })

  it('are left out of errors, which can repeat content', async () => {
    const { ask, read } = recentGateway()
    await ask('repeating-model')
    const { calls } = (await (await read('api/calls?upstream=repeating')).json()) as Page
    expect(calls[0]?.error).toEqual({ kind: 'invalid_request' })
  })
})
