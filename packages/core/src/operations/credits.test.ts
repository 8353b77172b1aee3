import { describe, expect, it } from 'vitest'
import { GatewayError } from '../base/errors.ts'
import type { CallerBudget } from '../config/admission.ts'
import type { Plugin } from '../config/plugin.ts'
import { setUp } from '../gateway/create-gateway.test-support.ts'

const usd = (limit: number, used: number, more: Partial<CallerBudget> = {}): CallerBudget => ({
  currency: 'USD',
  limit,
  used,
  ...more,
})

/** Asks a gateway for credits, with a plugin for each list of budgets. */
async function creditsOf(hooks: readonly Plugin['budgetsOf'][], path = '/api/v1/credits') {
  const plugins = hooks.map((budgetsOf, index) => ({ name: `p${index}`, ...(budgetsOf && { budgetsOf }) }))
  const { gateway, seen, finished, logged } = setUp({}, { plugins })
  const reply = await gateway.fetch(`http://gw${path}`, { headers: { authorization: 'Bearer good' } })
  expect([seen.length, finished.length]).toEqual([0, 0])
  return { status: reply.status, body: await reply.json(), logged }
}

describe('credits of OpenRouter’s clients', () => {
  it.each(['/api/v1/credits', '/v1/credits'])('are the budget with the least left, on %s', async (path) => {
    const identities: unknown[] = []
    const { status, body } = await creditsOf(
      [
        (identity) => {
          identities.push(identity?.id)
          return [usd(100, 1), usd(20, 15), usd(1, 0, { models: ['gpt-5'] }), usd(2, 1, { currency: 'EUR' })]
        },
        async () => [usd(50, 40)],
        () => undefined,
      ],
      path,
    )
    expect([status, body]).toEqual([200, { data: { total_credits: 20, total_usage: 15 } }])
    expect(identities).toHaveLength(1)
  })

  it('may be exceeded', async () => {
    expect((await creditsOf([() => [usd(2, 2.5)]])).body).toEqual({ data: { total_credits: 2, total_usage: 2.5 } })
  })

  it.each([
    ['no budget', [() => []], 404, 'not_found'],
    ['budgets in another currency only', [() => [usd(5, 1, { currency: 'EUR' })]], 404, 'not_found'],
    ['no plugin that counts budgets', [], 501, 'server'],
  ])('do not exist with %s', async (_, hooks, status, type) => {
    const found = await creditsOf(hooks)
    expect(found).toMatchObject({ status, body: { error: { code: status, metadata: { error_type: type } } } })
  })

  it('name the missing configuration if no plugin counts budgets', async () => {
    expect((await creditsOf([])).body.error.message).toBe(
      'GET /api/v1/credits is not available: this gateway has no budgets in money. Its operator must configure prices.',
    )
  })

  it('log what a plugin must return in place of a budget without an amount', async () => {
    const { logged } = await creditsOf([() => [usd(Number.NaN, 0)]])
    expect(logged.flat().map(String)).toContainEqual(
      expect.stringContaining(
        "budgetsOf of plugin 'p0' must return a list of { currency, limit, used } with amounts of 0 or more",
      ),
    )
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('secret')
      },
    ],
    ['rejects', () => Promise.reject(new Error('secret'))],
    ['returns another value', () => true as never],
    ['returns a budget without an amount', () => [usd(Number.NaN, 0)]],
  ])('fail with 500 if a plugin %s', async (_, hook) => {
    const { status, body } = await creditsOf([hook])
    expect(status).toBe(500)
    expect(JSON.stringify(body)).not.toContain('secret')
  })

  it('fail with the error of a plugin', async () => {
    const unavailable = () => Promise.reject(new GatewayError('unavailable', 'Try again.'))
    expect((await creditsOf([unavailable])).status).toBe(503)
  })
})
