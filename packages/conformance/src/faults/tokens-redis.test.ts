import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFakeProvider, listen } from '@modelgate/testing'
import { createPrices, createTokens, readLedger, redisStorage, sumLedger } from '@modelgate/tokens'
import { sharedRedis, withoutRedis } from '@modelgate/tokens/test-support'
import { createClient } from 'redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Bundled, bundle, type Child } from '../base/child-process.ts'

/** Ten dollars per million input or output tokens. */
const table = { models: { '*': { input: 10, output: 10 } } }
const dollarsPerToken = 10 / 1e6
const callers = 200
const words = 'word '.repeat(400)
const mostOutput = 300

if (withoutRedis !== undefined) console.warn(`skipped: tests with Redis: ${withoutRedis}`)

describe.skipIf(withoutRedis !== undefined)('one budget in two processes with 200 concurrent callers', () => {
  const prefix = `conformance-${process.pid}:`
  let server: Awaited<ReturnType<typeof sharedRedis>>
  let program: Bundled
  let folder: string
  const children: Child[] = []
  beforeAll(async () => {
    server = await sharedRedis()
    program = await bundle('./tokens-process.ts')
    folder = await mkdtemp(join(tmpdir(), 'modelgate-ledger-'))
  })
  afterAll(async () => {
    for (const child of children) child.process.kill()
    await program.remove()
    await server.close()
    await rm(folder, { recursive: true, force: true })
  })

  /**
   * Runs callers until the budget is used up.
   *
   * @param extra input tokens beyond the gateway's estimate
   */
  async function spend(name: string, money: number, extra: number) {
    const served = { calls: 0, input: 0, output: 0 }
    let running = 0
    let mostRunning = 0
    const provider = createFakeProvider({
      keepRequests: 0,
      brain() {
        const input = 300 + extra + Math.floor(Math.random() * 100)
        const output = 1 + Math.floor(Math.random() * mostOutput)
        served.calls++
        served.input += input
        served.output += output
        return { text: 'hello', usage: { input, output } }
      },
    })
    const upstream = await listen(provider)
    const ledger = join(folder, name)
    const env = {
      REDIS_URL: server.url,
      UPSTREAM_URL: upstream.url,
      LEDGER: ledger,
      PREFIX: `${prefix}${name}:`,
      PRICES: JSON.stringify(table),
    }
    const pair = [program.run(env), program.run(env)]
    children.push(...pair)
    const origins = await Promise.all(pair.map(async ({ ready }) => ((await ready) as { origin: string }).origin))
    const client = createClient({ url: server.url })
    client.on('error', () => {})
    await client.connect()
    const tokens = createTokens({ storage: redisStorage({ client, prefix: env.PREFIX }), prices: createPrices(table) })
    const token = await tokens.issue({ name, budget: { period: 'total', money } })
    const statuses = new Map<string, number>()
    const call = async (origin: string): Promise<boolean> => {
      mostRunning = Math.max(mostRunning, ++running)
      const response = await fetch(`${origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token.secret}` },
        body: JSON.stringify({ model: 'any', max_tokens: mostOutput, messages: [{ role: 'user', content: words }] }),
      })
      const { error } = (await response.json()) as { error?: { code: string } }
      running--
      const word = `${response.status} ${error?.code ?? 'ok'}`
      statuses.set(word, (statuses.get(word) ?? 0) + 1)
      if (response.status === 429) {
        expect(response.headers.get('x-should-retry')).toBe('false')
        expect(response.headers.get('retry-after')).toBeNull()
      }
      return response.status === 200
    }
    await Promise.all(
      Array.from({ length: callers }, async (_, at) => {
        let turn = at
        while (await call(origins[turn++ % 2] as string)) {
          // On to the next process.
        }
      }),
    )
    await Promise.all(pair.map((child) => child.stop()))
    const [sum] = await sumLedger(readLedger(ledger), { by: ['token'] })
    const usage = await tokens.usage(token.id)
    await tokens.close()
    await client.close()
    await upstream.close()
    const spent = (served.input + served.output) * dollarsPerToken
    console.log(
      `${name}: budget $${money}, spent $${spent.toFixed(4)} in ${served.calls} calls, ${mostRunning} at a time, ${JSON.stringify(Object.fromEntries(statuses))}`,
    )
    return { served, spent, sum, usage, statuses, token }
  }

  it('is enforced to the last cent if calls use no more than reserved', async () => {
    const money = 15
    const { served, spent, sum, usage, statuses, token } = await spend('honest', money, 0)
    expect([...statuses.keys()].sort()).toEqual(['200 ok', '429 insufficient_quota'])
    expect(statuses.get('429 insufficient_quota')).toBe(callers)
    expect(spent).toBeLessThanOrEqual(money)
    // The remaining budget is smaller than the reservation of one more call.
    expect(spent).toBeGreaterThan(money - callers * 1200 * dollarsPerToken)
    expect(sum).toMatchObject({ token: token.id, inputTokens: served.input, outputTokens: served.output })
    expect(sum?.costs).toEqual([{ amount: expect.closeTo(spent, 9), currency: 'USD' }])
    expect(sum?.calls).toBe(served.calls + callers)
    expect(usage.totals).toMatchObject({ inputTokens: served.input, outputTokens: served.output })
    expect(usage.totals.cost).toBeCloseTo(spent, 9)
  })

  it('is exceeded by at most the calls in flight if they use more than reserved', async () => {
    const money = 10
    const { served, spent, sum } = await spend('surprising', money, 2000)
    const beyond = callers * 2400 * dollarsPerToken
    expect(spent).toBeLessThanOrEqual(money + beyond)
    expect(spent).toBeGreaterThan(money - 2 * beyond)
    expect(sum).toMatchObject({ inputTokens: served.input, outputTokens: served.output })
  })
})
