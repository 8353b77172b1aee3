import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { stopExamples } from '../start-example.ts'
import { modelgate, program } from './modelgate.ts'

let folder = ''
let data = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'modelgate-tokens-'))
  data = join(folder, 'data')
})
afterEach(() => {
  stopExamples()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs the command. */
function command(args: string[], env: Record<string, string> = {}) {
  const { stdout, stderr, status } = spawnSync(process.execPath, [program, 'tokens', ...args], {
    encoding: 'utf8',
    env: { ...process.env, MODELGATE_DATA: data, MODELGATE_PRICES: '', MODELGATE_LEDGER: '', ...env },
  })
  return { stdout, stderr, status }
}

/** Runs the command with `--json`. */
function printedBy(...args: string[]) {
  const { stdout, stderr, status } = command([...args, '--json'])
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 })
  return JSON.parse(stdout)
}

async function startServer(env: Record<string, string> = {}) {
  const server = modelgate(['start'], { MODELGATE_DATA: data, ...env })
  const [, root = ''] = await server.waitForOutput(/listens on (\S+)/)
  await server.waitForOutput(/\/v1\/models .*\n/)
  const ask = (token: string, model = 'demo-chat') =>
    fetch(`${root}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] }),
    })
  return { server, root, ask }
}

const soon = { timeout: 5000, interval: 100 }

describe('the command next to a running server', () => {
  it('issues a token that is accepted at once, and revokes it within a second', async () => {
    const { server, ask } = await startServer()
    expect(server.output()).toContain(`MODELGATE_DATA='${data}' npx modelgate tokens issue`)
    const { id, secret } = printedBy(
      'issue',
      '--name',
      'laptop',
      '--owner',
      'ada',
      '--models',
      'demo-chat,demo-messages',
    )
    expect((await ask(secret)).status).toBe(200)
    expect((await ask(secret, 'demo-gemini')).status).toBe(404)
    expect(printedBy('list')).toMatchObject([
      { id, name: 'laptop', owner: 'ada', models: ['demo-chat', 'demo-messages'] },
    ])
    expect(printedBy('list', '--owner', 'bob')).toEqual([])
    expect(printedBy('revoke', id)).toMatchObject({ id, revokedAt: expect.any(Number) })
    const revokedAt = performance.now()
    await expect.poll(async () => (await ask(secret)).status, soon).toBe(401)
    expect(performance.now() - revokedAt).toBeLessThan(1500)
  })

  it('rotates the secret of a token', async () => {
    const { ask } = await startServer()
    const { id, secret: old } = printedBy('issue')
    const { secret } = printedBy('rotate', id)
    expect([(await ask(old)).status, (await ask(secret)).status]).toEqual([200, 200])
    const { secret: last } = printedBy('rotate', id, '--grace-hours', '0')
    await expect.poll(async () => [(await ask(old)).status, (await ask(secret)).status], soon).toEqual([401, 401])
    expect((await ask(last)).status).toBe(200)
  })

  it('enforces limits and reports usage', async () => {
    const { ask } = await startServer()
    const limits = ['--requests-per-minute', '2', '--concurrent', '4']
    const { id, secret } = printedBy('issue', ...limits, '--budget-tokens', '1000000', '--per', 'week')
    const statuses = [(await ask(secret)).status, (await ask(secret)).status, (await ask(secret)).status]
    expect(statuses).toEqual([200, 200, 429])
    const usage = printedBy('usage', id)
    expect(usage.limits).toMatchObject([
      { of: 'requests', limit: 2, used: 2, remaining: 0 },
      { of: 'concurrent', limit: 4, used: 0 },
    ])
    expect(usage.budgets).toMatchObject([{ of: 'tokens', per: 'week', limit: 1_000_000 }])
    expect(usage.totals).toMatchObject({ calls: 2 })
    expect(usage.byModel).toMatchObject([{ model: 'demo-chat', calls: 2 }])
    const { stdout } = command(['usage', id])
    expect(stdout).toMatch(/PER +OF +MODELS +LIMIT +USED +LEFT/)
    expect(stdout).toMatch(/^minute +requests +\* +2 +2 +0 /m)
    expect(stdout).toMatch(/^at a time +concurrent +\* +4 +0 +4$/m)
    expect(stdout).toMatch(/demo-chat +2 /)
  })

  it('writes the cost of calls to the configured ledger', async () => {
    const prices = join(folder, 'prices.json')
    const ledger = join(folder, 'ledger')
    writeFileSync(prices, JSON.stringify({ models: { 'demo-*': { input: 1, output: 10 } } }))
    const { server, ask } = await startServer({ MODELGATE_PRICES: prices, MODELGATE_LEDGER: ledger })
    const { id, secret } = JSON.parse(
      command(['issue', '--budget-usd', '5', '--json'], { MODELGATE_PRICES: prices }).stdout,
    )
    expect((await ask(secret)).status).toBe(200)
    server.signal('SIGTERM')
    expect(await server.ended).toBe(0)
    const lines = readdirSync(ledger).flatMap((name) => readFileSync(join(ledger, name), 'utf8').trim().split('\n'))
    const [record] = lines.map((line) => JSON.parse(line))
    expect(record).toMatchObject({ token: id, model: 'demo-chat', status: 200, currency: 'USD' })
    expect(record.cost).toBeGreaterThan(0)
    const usage = JSON.parse(command(['usage', id, '--json'], { MODELGATE_PRICES: prices }).stdout)
    expect(usage.totals.cost).toBe(record.cost)
    expect(usage.budgets).toMatchObject([{ of: 'money', limit: 5, used: record.cost }])
  })
})

describe('the server', () => {
  it('accepts MODELGATE_TOKEN in addition to issued tokens', async () => {
    const { ask } = await startServer({ MODELGATE_TOKEN: 'my own' })
    const { secret } = printedBy('issue', '--requests-per-minute', '1')
    expect([(await ask('my own')).status, (await ask(secret)).status, (await ask(secret)).status]).toEqual([
      200, 200, 429,
    ])
    expect((await ask('my own')).status).toBe(200)
    expect((await ask('another')).status).toBe(401)
  })

  it('keeps tokens across restarts', async () => {
    const { secret } = printedBy('issue')
    for (let run = 0; run < 2; run++) {
      const { server, ask } = await startServer()
      expect((await ask(secret)).status).toBe(200)
      server.signal('SIGTERM')
      expect(await server.ended).toBe(0)
    }
  })

  it.each([
    ['missing prices', { MODELGATE_PRICES: '/nowhere/prices.json' }, '/nowhere/prices.json'],
    ['an invalid folder', { MODELGATE_DATA: '/dev/null/data' }, '/dev/null/data'],
  ])('reports %s in one line', async (_, env, words) => {
    const server = modelgate(['start'], env)
    expect(await server.ended).toBe(1)
    expect(server.output().trimEnd().split('\n')).toEqual([expect.stringContaining(words)])
  })
})

describe('text output', () => {
  it('starts with the secret and states that it is shown once', () => {
    const { stdout } = command(['issue', '--name', 'laptop', '--expires', '30d', '--budget-tokens', '10'])
    expect(stdout).toMatch(/^mg-[0-9A-Za-z]{49}\n\nCopy this token now\. It won't be shown again\.\n/)
    expect(stdout).toMatch(/^Name +laptop$/m)
    const { stdout: list } = command(['list'])
    expect(list).toMatch(/^ID +SECRET +NAME/)
    expect(list).toMatch(/tok_\w+ +mg-\w{4}… +laptop .*valid until \d{4}-/)
    expect(list).not.toContain(stdout.slice(0, 20))
  })

  it.each([[], ['--help'], ['help'], ['issue', '--help']])('%j prints help', (...args) => {
    const { stdout, status } = command(args)
    expect(status).toBe(0)
    for (const word of ['issue', 'list', 'revoke', 'rotate', 'usage', '--budget-usd', 'MODELGATE_DATA'])
      expect(stdout).toContain(word)
  })

  it.each([
    [['isue'], 2, "Unknown command 'tokens isue'. Did you mean 'issue'?"],
    [['issue', '--nam', 'x'], 2, '--nam'],
    [['issue', 'laptop'], 2, "'laptop'"],
    [['revoke'], 2, 'requires the id'],
    [['issue', '--per', 'year'], 2, "Invalid --per 'year'"],
    [['issue', '--concurrent', 'many'], 2, "Invalid --concurrent 'many'"],
    [['issue', '--expires', 'soon'], 2, "Invalid --expires 'soon'"],
    [['list'], 1, 'does not exist'],
  ] as const)('%j exits with code %i and a reason', (args, code, words) => {
    const { stderr, stdout, status } = command([...args])
    expect({ status, stdout }).toEqual({ status: code, stdout: '' })
    expect(stderr).toContain(words)
    expect(stderr).toMatch(/^modelgate: /)
    expect(stderr).not.toMatch(/\n\s+at /)
  })

  it('reports an unknown token', () => {
    command(['issue'])
    for (const args of [
      ['show', 'tok_x'],
      ['revoke', 'tok_x'],
      ['usage', 'tok_x'],
    ])
      expect(command(args)).toMatchObject({ status: 1, stderr: expect.stringContaining("'tok_x'") })
  })

  it('requires a folder', () => {
    expect(command(['list'], { MODELGATE_DATA: '' })).toMatchObject({ status: 2, stdout: '' })
  })
})
