import { type FakeRealtimeOptions, listenRealtime } from '@modelgate/testing'
import { expect, onTestFinished, test } from 'vitest'
import { score } from './score.ts'

const token = 'good-token'

/** Returns the results of the two session checks. */
async function verdicts(options: FakeRealtimeOptions): Promise<(string | undefined)[]> {
  const server = await listenRealtime(options)
  onTestFinished(() => server.close())
  const asked = { url: server.url, token, model: 'demo', models: { realtime: 'demo-realtime' } }
  const { results } = await score({ ...asked, only: ['realtime'], timeoutMs: options.mute ? 2000 : 20_000 })
  return results.map(({ verdict, why }) => (why === undefined ? verdict : `${verdict}: ${why}`))
}

test('a session is held, and none with a token nobody knows', async () => {
  expect(await verdicts({ apiKey: token })).toEqual(['passed', 'passed'])
})

test('a server that lets everyone in is noticed', async () => {
  expect(await verdicts({})).toEqual(['passed', 'failed: a session was opened, though nobody knows the token'])
})

test('a server that says nothing is noticed', async () => {
  const [session] = await verdicts({ apiKey: token, mute: true })
  expect(session).toBe('failed: no answer within 2 seconds')
})

test('a model that is not there is noticed', async () => {
  const [session] = await verdicts({ apiKey: token, models: ['other'] })
  expect(session).toBe('failed: status 404 came in place of the upgrade')
})
