import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFakeProvider, listen } from '@modelgate/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type Answer,
  createFolder,
  type Folder,
  isRunning,
  send,
  startServer,
  type WorkerServer,
} from './worker-server.ts'

// Real processes: the behaviour of `node:cluster`, of signals and of killed processes is what these tests are about.

const hasProcesses = existsSync('/proc/self/task')
if (!hasProcesses) console.log('workers.test.ts: skipped, this system has no /proc to find the workers')

let upstream: Awaited<ReturnType<typeof listen>>
let slow: Awaited<ReturnType<typeof listen>>
beforeAll(async () => {
  upstream = await listen(createFakeProvider({ apiKey: 'k', keepRequests: 0 }))
  slow = await listen(createFakeProvider({ apiKey: 'k', keepRequests: 0, paceMs: 100 }))
})
afterAll(() => Promise.all([upstream.close(), slow.close()]))

const configOf = (models: readonly string[] = ['fast'], rest: object = {}): object => ({
  upstreams: {
    one: { provider: 'openai', apiKey: ['$', '{KEY}'].join(''), baseURL: upstream.url },
    slow: { provider: 'openai', apiKey: ['$', '{KEY}'].join(''), baseURL: slow.url },
  },
  models: { ...Object.fromEntries(models.map((name) => [name, 'one'])), slow: 'slow' },
  data: 'data',
  ledger: 'ledger',
  ...rest,
})

const issue = (folder: Folder, ...args: string[]): string =>
  (JSON.parse(folder.run('tokens', 'issue', '--json', ...args)) as { secret: string }).secret

const chat = (server: WorkerServer, token: string, body: object = {}, onHead?: () => void): Promise<Answer> => {
  const messages = [{ role: 'user', content: 'Say hello.' }]
  return send(server.origin, '/v1/chat/completions', token, { model: 'fast', messages, ...body }, onHead)
}

const times = <T>(count: number, work: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => work(n)))

/** Status of each call; 0 if its connection ended. */
const statuses = async (calls: Promise<Answer>[]): Promise<number[]> =>
  Promise.all(calls.map((call) => call.then(({ status }) => status).catch(() => 0)))

const count = (values: readonly number[], wanted: number): number => values.filter((value) => value === wanted).length

const ledgerIds = (folder: Folder): string[] =>
  readdirSync(join(folder.path, 'ledger'))
    .flatMap((file) => readFileSync(join(folder.path, 'ledger', file), 'utf8').split('\n'))
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { id: string }).id)

describe.skipIf(!hasProcesses)('modelgate --workers', { timeout: 60_000 }, () => {
  it('shares limits, stored responses, recent calls and the ledger among workers', async () => {
    const folder = createFolder(configOf())
    const limited = issue(folder, '--name', 'limited', '--requests-per-minute', '20')
    const free = issue(folder, '--name', 'free')
    const admin = 'admin-token-of-this-test'
    const server = await startServer(folder, ['--workers', '3', '--capture', 'bodies'], {
      MODELGATE_ADMIN_TOKEN: admin,
    })
    expect(server.workers()).toHaveLength(3)

    const results = await statuses(Array.from({ length: 60 }, () => chat(server, limited)))
    expect([count(results, 200), count(results, 429)]).toEqual([20, 40])

    const first = await send(server.origin, '/v1/responses', free, { model: 'fast', input: 'Hello' })
    const { id } = JSON.parse(first.text) as { id: string }
    const next = await times(9, () =>
      send(server.origin, '/v1/responses', free, { model: 'fast', input: 'And now?', previous_response_id: id }),
    )
    expect(next.map(({ status }) => status)).toEqual(Array(9).fill(200))

    // Each worker shows the calls of all.
    const wanted = 60 + 10
    const shown = async (): Promise<number[]> =>
      times(9, async () => {
        const page = await send(server.origin, '/console/api/calls?limit=500', admin)
        return (JSON.parse(page.text) as { calls: unknown[] }).calls.length
      })
    await expect.poll(shown).toEqual(Array(9).fill(wanted))

    // So does the Playground, which asks for one of them by its id.
    const facts = await times(6, () => send(server.origin, `/console/calls/${first.requestId}`, free))
    expect(facts.map(({ status }) => status)).toEqual(Array(6).fill(200))

    const bodies = await times(6, () => send(server.origin, `/console/api/calls/${first.requestId}`, admin))
    expect(bodies.map(({ text }) => (JSON.parse(text) as { bodies: { state: string } }).bodies.state)).toEqual(
      Array(6).fill('captured'),
    )
    const unknown = await send(server.origin, `/console/calls/${'x'.repeat(2000)}`, free)
    expect(unknown.status).toBe(404)

    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(0)
    const ids = ledgerIds(folder)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids).toHaveLength(wanted)
    expect(server.output().match(/Server stopped after/g)).toHaveLength(1)
  })

  it('sees a revoked token in all workers within a second', async () => {
    const folder = createFolder(configOf())
    const token = issue(folder, '--name', 'a')
    const server = await startServer(folder, ['--workers', '2'])
    expect(await statuses(Array.from({ length: 6 }, () => chat(server, token)))).toEqual(Array(6).fill(200))
    const [, id = ''] = /(tok_\S+)/.exec(folder.run('tokens', 'list')) ?? []
    folder.run('tokens', 'revoke', id)
    await expect
      .poll(() => statuses(Array.from({ length: 6 }, () => chat(server, token))), { timeout: 3000 })
      .toEqual(Array(6).fill(401))
  })

  it('never exceeds limits when workers are killed, and replaces them', async () => {
    const folder = createFolder(configOf())
    const token = issue(folder, '--name', 'limited', '--requests-per-minute', '100')
    const server = await startServer(folder, ['--workers', '2'])
    const before = server.workers()
    let served = 0
    for (let round = 0; round < 3; round++) {
      const calls = Array.from({ length: 30 }, () => chat(server, token, { model: 'slow', stream: true }))
      const [victim] = server.workers()
      await new Promise((resolve) => setTimeout(resolve, 150))
      if (victim !== undefined) process.kill(victim, 'SIGKILL')
      served += count(await statuses(calls), 200)
      await expect.poll(() => server.workers().length).toBe(2)
    }
    expect(server.workers()).not.toEqual(before)
    expect(server.output()).toContain('ended unexpectedly (SIGKILL)')
    // Calls of killed workers stay counted, so that at most 100 of all calls are admitted.
    const last = await statuses(Array.from({ length: 60 }, () => chat(server, token)))
    served += count(last, 200)
    expect(count(last, 429)).toBeGreaterThan(0)
    expect(served).toBeLessThanOrEqual(100)
  })

  it('never exceeds a budget when workers are killed', async () => {
    const folder = createFolder(configOf())
    const budget = 2000
    const token = issue(folder, '--name', 'limited', '--budget-tokens', String(budget), '--per', 'day')
    const server = await startServer(folder, ['--workers', '2'])
    let used = 0
    const spend = async (calls: number): Promise<number> => {
      const answers = await times(calls, () => chat(server, token, { max_tokens: 100 }).catch(() => undefined))
      for (const answer of answers)
        if (answer?.status === 200)
          used += (JSON.parse(answer.text) as { usage: { total_tokens: number } }).usage.total_tokens
      return answers.filter((answer) => answer?.status === 429).length
    }
    for (let round = 0; round < 3; round++) {
      const [victim] = server.workers()
      const spent = spend(10)
      if (victim !== undefined) process.kill(victim, 'SIGKILL')
      await spent
      await expect.poll(() => server.workers().length).toBe(2)
    }
    let rejected = 0
    for (let round = 0; round < 40 && rejected === 0; round++) rejected = await spend(10)
    expect(rejected).toBeGreaterThan(0)
    expect(used).toBeGreaterThan(0)
    expect(used).toBeLessThanOrEqual(budget)
  })

  it('reloads one worker after the other, and keeps the configuration if a new one is invalid', async () => {
    const folder = createFolder(configOf(['a']))
    const token = issue(folder, '--name', 'a')
    const server = await startServer(folder, ['--workers', '2'])
    const models = async (): Promise<string[]> =>
      times(6, async () => {
        const list = await send(server.origin, '/v1/models', token)
        return (JSON.parse(list.text) as { data: { id: string }[] }).data.map((model) => model.id).join()
      })
    expect(await models()).toEqual(Array(6).fill('a,slow'))
    folder.write(configOf(['a', 'b']))
    server.child.kill('SIGHUP')
    await expect.poll(models).toEqual(Array(6).fill('a,b,slow'))
    folder.write({ ...configOf(['c']), models: { c: 'unknown' } })
    server.child.kill('SIGHUP')
    await expect.poll(server.output).toContain('Reload failed, the current configuration stays active')
    expect(await models()).toEqual(Array(6).fill('a,b,slow'))
    // The other worker did not try it.
    expect(server.output().match(/Reload failed/g)).toHaveLength(1)
  })

  it('completes running calls on SIGTERM', async () => {
    const folder = createFolder(configOf())
    const token = issue(folder, '--name', 'a')
    const server = await startServer(folder, ['--workers', '2'])
    let begun = 0
    const calls = Array.from({ length: 10 }, () =>
      chat(server, token, { model: 'slow', stream: true }, () => {
        begun++
      }),
    )
    await expect.poll(() => begun, { timeout: 10_000 }).toBe(10)
    server.child.kill('SIGTERM')
    const answers = await Promise.all(calls)
    expect(answers.map(({ text }) => text.trimEnd().endsWith('[DONE]'))).toEqual(Array(10).fill(true))
    expect(await server.ended).toBe(0)
    expect(ledgerIds(folder)).toHaveLength(10)
  })

  it('replaces a worker that does not reload', async () => {
    const folder = createFolder(configOf(['a']))
    const token = issue(folder, '--name', 'a')
    const server = await startServer(folder, ['--workers', '2'])
    const [hung = 0] = server.workers()
    process.kill(hung, 'SIGSTOP')
    folder.write(configOf(['a', 'b']))
    server.child.kill('SIGHUP')
    await expect.poll(server.output, { timeout: 45_000 }).toContain('did not reload within 30 s and is replaced')
    await expect.poll(() => server.workers().includes(hung)).toBe(false)
    const models = async (): Promise<string[]> =>
      times(4, async () => {
        const list = await send(server.origin, '/v1/models', token).catch(() => ({ text: '{"data":[]}' }))
        return (JSON.parse(list.text) as { data: { id: string }[] }).data.map((model) => model.id).join()
      })
    await expect.poll(models).toEqual(Array(4).fill('a,b,slow'))
  })

  it('ends the workers with their primary process', async () => {
    const folder = createFolder(configOf())
    const server = await startServer(folder, ['--workers', '2'])
    const workers = server.workers()
    server.child.kill('SIGKILL')
    await server.ended
    await expect.poll(() => workers.filter(isRunning)).toEqual([])
  })

  it('reports a problem of all workers once', async () => {
    const folder = createFolder({ ...configOf(), models: { a: 'unknown' } })
    const failed = await startServer(folder, ['--workers', '4']).catch((error: Error) => error.message)
    expect(String(failed).match(/names the unknown upstream 'unknown'/g)).toHaveLength(1)
    const other = createFolder(configOf())
    const wrong = await startServer(other, ['--workers', 'many']).catch((error: Error) => error.message)
    expect(wrong).toContain("Invalid --workers 'many': set it to auto, or to a number from 1 to 128.")
    const server = await startServer(other, ['--workers', '2'])
    const inUse = await startServer(createFolder(configOf()), [
      '--workers',
      '2',
      '--port',
      new URL(server.origin).port,
    ]).catch((error: Error) => error.message)
    expect(String(inUse).match(/is in use/g)).toHaveLength(1)
  })
})
