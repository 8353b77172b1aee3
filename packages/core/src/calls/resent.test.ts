import { describe, expect, it } from 'vitest'
import type { Attempt } from '../config/finish-event.ts'
import type { Limits } from '../config/limits.ts'
import { adapterFunctions } from '../gateway/adapter.ts'
import { createGateway } from '../gateway/create-gateway.ts'
import type { Transport } from '../http/transport.ts'
import { toInbound } from '../http/web-request.ts'
import { openaiCompatible } from '../upstreams/openai-compatible.ts'

/** Creates a transport that never responds and reports each call that allows resending as sent twice. */
const silent =
  (calls: { made: number }): Transport =>
  ({ resend, signal }) =>
    new Promise((_, reject) => {
      const resent = resend !== false
      calls.made += resent ? 2 : 1
      signal.addEventListener('abort', () => reject(Object.assign(new Error('aborted'), resent ? { resent } : {})))
    })

async function ask(targets: number, stream: boolean, limits: Limits) {
  const attempts: Attempt[] = []
  const upstreams = Object.fromEntries(
    Array.from({ length: targets }, (_, index) => [
      `u${index}`,
      openaiCompatible({ baseURL: `http://u${index}.test` }),
    ]),
  )
  const gateway = createGateway({
    auth: 'none',
    upstreams,
    models: { m: Object.keys(upstreams).map((upstream) => ({ upstream, model: 'm' })) },
    limits,
    logger: false,
    plugins: [{ name: 'witness', onFinish: (event) => void attempts.push(...event.attempts) }],
  })
  const calls = { made: 0 }
  const request = new Request('http://gateway.test/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', stream, messages: [{ role: 'user', content: 'hello' }] }),
  })
  const { status, headers } = await adapterFunctions(gateway).handle(toInbound(request), silent(calls))
  return { status, again: headers['x-should-retry'], calls: calls.made, attempts }
}

describe.each([false, true])('a call that was sent twice and timed out (stream: %s)', (stream) => {
  it('counts twice towards the attempt limit', async () => {
    const { calls, attempts } = await ask(4, stream, { firstByteMs: 20 })
    expect(attempts.map(({ resent, error }) => [resent, error])).toEqual([
      [true, 'upstream_timeout'],
      [undefined, 'upstream_timeout'],
    ])
    expect(calls).toBe(3)
  })

  it('sets x-should-retry to false even with a single target', async () => {
    const { status, again, attempts } = await ask(1, stream, { firstByteMs: 20 })
    expect([status, again, attempts.length]).toEqual([504, 'false', 1])
  })
})
