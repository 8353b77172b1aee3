import { expect, it } from 'vitest'
import { createCanceller } from '../base/async.ts'
import type { FinishEvent } from '../config/finish-event.ts'
import type { Plugin } from '../config/plugin.ts'
import type { Inbound } from '../http/inbound.ts'
import { adapterFunctions } from './adapter.ts'
import { type Answer, asJson, asStream, completion, setUp, sse } from './create-gateway.test-support.ts'

/** Creates a gateway whose plugin records every settlement. */
function settings(upstream: Answer = asJson(completion)) {
  const settled: FinishEvent[] = []
  const finished: FinishEvent[] = []
  const plugin: Plugin = {
    name: 'count',
    admit: () => ({ settle: (event) => void settled.push(event) }),
    onFinish: (event) => void finished.push(event),
  }
  return { ...setUp({ a: upstream }, { plugins: [plugin], explain: true }), settled, finished }
}
type Settings = ReturnType<typeof settings>

const get = ({ gateway }: Settings, path: string): Promise<Response> =>
  gateway.fetch(new Request(`http://gw${path}`, { headers: { authorization: 'Bearer good' } }))

const countRequest = { model: 'claude-x', messages: [{ role: 'user', content: 'hi' }] }

const upgradeHeaders: Record<string, string> = {
  authorization: 'Bearer good',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

/** Opens a realtime session and settles it twice at once if it opens. */
async function openSession({ gateway }: Settings, acceptsReference: boolean): Promise<void> {
  const inbound: Inbound = {
    method: 'GET',
    path: '/v1/realtime',
    query: 'model=real',
    header: (name) => upgradeHeaders[name],
    read: async () => new Uint8Array(),
    signal: createCanceller(),
  }
  const opening = await adapterFunctions(gateway).realtime(inbound, async () => {
    if (!acceptsReference) throw new Error('connection refused')
    return { socket: 'a socket' }
  })
  if (!opening.ok) return
  opening.session?.settle({ outcome: 'finished' })
  opening.session?.settle({ outcome: 'failed' })
}

const ends: readonly [string, FinishEvent['outcome'], number, Settings, (all: Settings) => Promise<unknown>][] = [
  ['a JSON response', 'finished', 200, settings(), ({ chat }) => chat()],
  [
    'a stream that is read to its end',
    'finished',
    200,
    settings(asStream(sse)),
    async ({ chat }) => (await chat({ stream: true })).text(),
  ],
  [
    'a stream that the upstream cuts',
    'failed',
    200,
    settings(asStream(sse.slice(0, 2))),
    async ({ chat }) => (await chat({ stream: true })).text(),
  ],
  [
    'a stream that the client cancels',
    'aborted',
    200,
    settings(asStream(sse, 5)),
    async ({ chat }) => (await chat({ stream: true })).body?.cancel(),
  ],
  [
    'an upstream error',
    'failed',
    400,
    settings(asJson({ error: { message: 'no' } }, { status: 400 })),
    ({ chat }) => chat(),
  ],
  ['an unknown model', 'failed', 404, settings(), ({ chat }) => chat({ model: 'nothing' })],
  [
    'an estimated token count',
    'finished',
    200,
    settings(asJson({ error: { message: 'no such endpoint' } }, { status: 404 })),
    ({ post }) =>
      post('/v1/messages/count_tokens', { ...countRequest, model: 'real' }, { 'anthropic-version': '2023-06-01' }),
  ],
  [
    'an embedding',
    'finished',
    200,
    settings(asJson({ object: 'list', data: [] })),
    ({ post }) => post('/v1/embeddings', { model: 'real', input: 'hi' }),
  ],
  ['a stored response that does not exist', 'failed', 404, settings(), (all) => get(all, '/v1/responses/resp_none')],
  ['a realtime session', 'finished', 101, settings(), (all) => openSession(all, true)],
  ['a realtime session that does not open', 'failed', 502, settings(), (all) => openSession(all, false)],
]

it.each(ends)('settles a call exactly once: %s', async (_name, outcome, status, all, run) => {
  await run(all)
  // Resolves only when no call remains.
  await all.gateway.close({ graceMs: 60_000 })
  expect(all.finished).toMatchObject([{ outcome, status }])
  // A call that is rejected before its admission has nothing to settle.
  expect(all.settled).toHaveLength(status === 404 && all.finished[0]?.operation === 'generate' ? 0 : 1)
})

it.each([
  ['a model list', 200, (all: Settings) => get(all, '/v1/models')],
  [
    'an explanation',
    200,
    ({ post }: Settings) => post('/v1/chat/completions?modelgate=explain', { ...countRequest, model: 'real' }),
  ],
  ['a wrong method', 405, (all: Settings) => get(all, '/v1/chat/completions')],
  ['a wrong token', 401, ({ chat }: Settings) => chat({}, { authorization: 'Bearer bad' })],
])('does not settle a call that concerns no model: %s', async (_name, status, run) => {
  const all = settings()
  expect((await run(all)).status).toBe(status)
  await all.gateway.close({ graceMs: 60_000 })
  expect([...all.finished, ...all.settled]).toEqual([])
})
