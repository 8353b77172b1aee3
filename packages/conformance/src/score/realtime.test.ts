import { type FakeRealtimeOptions, listenRealtime } from '@modelgate/testing'
import { expect, onTestFinished, test } from 'vitest'
import { score } from './score.ts'

const token = 'good-token'

/** Returns the results of the two session checks. */
async function verdicts(options: FakeRealtimeOptions): Promise<(string | undefined)[]> {
  const server = await listenRealtime(options)
  onTestFinished(() => server.close())
  const scoreOptions = { url: server.url, token, model: 'demo', models: { realtime: 'demo-realtime' } }
  const { results } = await score({ ...scoreOptions, only: ['realtime'], timeoutMs: options.mute ? 2000 : 20_000 })
  return results.map(({ verdict, why }) => (why === undefined ? verdict : `${verdict}: ${why}`))
}

test('passes a server that opens a session and rejects an unknown token', async () => {
  expect(await verdicts({ apiKey: token })).toEqual(['passed', 'passed'])
})

test('fails a server that accepts every token', async () => {
  expect(await verdicts({})).toEqual(['passed', 'failed: a session was opened although the token is unknown'])
})

test('fails a server that sends nothing', async () => {
  const [session] = await verdicts({ apiKey: token, mute: true })
  expect(session).toBe('failed: no response within 2 seconds')
})

test('fails a server that does not know the model', async () => {
  const [session] = await verdicts({ apiKey: token, models: ['other'] })
  expect(session).toBe('failed: received status 404 instead of the upgrade')
})
