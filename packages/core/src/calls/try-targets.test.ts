import { describe, expect, it } from 'vitest'
import { createCanceller } from '../base/async.ts'
import { GatewayError } from '../base/errors.ts'
import { adapterFunctions } from '../gateway/adapter.ts'
import { asJson, completion, setUp } from '../gateway/create-gateway.test-support.ts'
import type { Inbound } from '../http/inbound.ts'

describe('a client that disconnects before its call is sent', () => {
  it('causes no upstream call and no usage', async () => {
    const events: unknown[] = []
    const { gateway, seen, finished } = setUp(
      { a: asJson(completion) },
      {
        plugins: [
          { name: 'test', onFinish: (event) => void events.push(event), onUpstream: () => void events.push('sent') },
        ],
      },
    )
    const signal = createCanceller()
    const inbound: Inbound = {
      method: 'POST',
      path: '/v1/chat/completions',
      query: '',
      header: (name) => ({ authorization: 'Bearer good', 'content-type': 'application/json' })[name as 'authorization'],
      // Simulates a disconnect while code is loaded or an upload is awaited.
      async read() {
        signal.abort(new GatewayError('cancelled', 'The client disconnected.'))
        return new TextEncoder().encode(
          JSON.stringify({ model: 'real', messages: [{ role: 'user', content: 'word '.repeat(1000) }] }),
        )
      },
      signal,
    }
    const reply = await adapterFunctions(gateway).handle(inbound)
    expect(reply.status).toBe(499)
    expect(seen).toHaveLength(0)
    expect(finished).toHaveLength(0)
    expect(events).toMatchObject([{ status: 499, outcome: 'aborted', attempts: [] }])
    expect(events[0]).not.toHaveProperty('usage')
    expect(events[0]).not.toHaveProperty('abandoned')
  })
})
