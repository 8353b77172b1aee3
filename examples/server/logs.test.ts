import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFakeProvider, listen } from '@modelgate/testing'
import { afterEach, expect, it } from 'vitest'
import { stopExamples } from '../start-example.ts'
import { modelgate } from './modelgate.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  await stopExamples()
  for (const close of closing.splice(0)) await close()
})

const canaries = {
  key: 'sk-canary-key-9c41',
  wrongKey: 'sk-canary-wrong-9c41',
  token: 'canary-token-9c41',
  stranger: 'canary-stranger-9c41',
  content: 'canary content 9c41',
}

async function start(args: string[] = []) {
  const provider = await listen(createFakeProvider({ apiKey: canaries.key }))
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-logs-'))
  closing.push(provider.close, () => rmSync(folder, { recursive: true, force: true }))
  const upstream = (apiKey: string) => ({ provider: 'openai', apiKey, baseURL: provider.url, formats: ['chat'] })
  const file = join(folder, 'modelgate.config.json')
  const upstreams = { one: upstream(canaries.key), wrong: upstream(canaries.wrongKey) }
  const models = { good: 'one', locked: 'wrong' }
  const write = (more: object): void =>
    writeFileSync(file, JSON.stringify({ upstreams, models, token: canaries.token, ...more }))
  write({})
  const server = modelgate(['start', '--config', file, ...args])
  const [, root = ''] = await server.waitForOutput(/listens on (\S+)/)
  await server.waitForOutput(/\/v1\/models .*\n/)
  const ask = async (model: string, token = canaries.token): Promise<number> => {
    const response = await fetch(`${root}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: canaries.content }] }),
    })
    await response.text()
    return response.status
  }
  /** Returns the lines after the startup message, without the one about responses in memory. */
  const lines = (): string[] => {
    const [, text = ''] = server.output().split(/\/v1\/models .*\n/)
    return text.split('\n').filter((line) => line !== '' && !line.includes('stored responses'))
  }
  return { server, ask, write, lines }
}

it('logs calls, reloads and shutdown as JSON, one line each, without secrets', async () => {
  const { server, ask, write, lines } = await start()
  expect(await ask('good')).toBe(200)
  expect(await ask('locked')).toBe(502)
  expect(await ask('unknown')).toBe(404)
  expect(await ask('good', canaries.stranger)).toBe(401)
  write({ onLoss: 'ignore' })
  server.signal('SIGHUP')
  await server.waitForOutput(/Configuration reloaded/)
  write({ prot: 1 })
  server.signal('SIGHUP')
  await server.waitForOutput(/Reload failed/)
  server.signal('SIGTERM')
  expect(await server.ended).toBe(0)
  const parsed = lines().map((line) => JSON.parse(line))
  expect(parsed.map(({ level, status, event }) => [level, status ?? event])).toEqual([
    [30, 200],
    [50, 502],
    [40, 404],
    [40, 401],
    [30, 'reconfigured'],
    [50, 'reload-failed'],
    [30, 'drain-started'],
    [30, 'stopped'],
  ])
  expect(parsed[1].failures).toEqual([
    expect.objectContaining({ upstream: 'wrong', status: 401, error: 'upstream_auth' }),
  ])
  expect(parsed[6].msg).toBe('SIGTERM received: draining 0 in-flight requests (send it again to force quit)')
  expect(server.output()).not.toContain('9c41')
})

it('logs for people with --log pretty, and nothing with --log off', async () => {
  const pretty = await start(['--log', 'pretty'])
  expect(await pretty.ask('good')).toBe(200)
  await pretty.server.waitForOutput(
    /^\d\d:\d\d:\d\d info {2}chat +good -> one\/good +200 .* caller owner {2}req_\w+\n/m,
  )
  const off = await start(['--log', 'off'])
  expect(await off.ask('locked')).toBe(502)
  off.server.signal('SIGTERM')
  expect(await off.server.ended).toBe(0)
  expect(off.lines()).toEqual([])
})
