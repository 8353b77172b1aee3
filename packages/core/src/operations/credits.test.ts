import { describe, expect, it, vi } from 'vitest'
import { GatewayError } from '../base/errors.ts'
import type { CallerBudget } from '../config/admission.ts'
import type { FinishEvent } from '../config/finish-event.ts'
import type { Plugin } from '../config/plugin.ts'
import { setUp } from '../gateway/create-gateway.test-support.ts'

const usd = (limit: number, used: number, more: Partial<CallerBudget> = {}): CallerBudget => ({
  currency: 'USD',
  limit,
  used,
  ...more,
})

/** Asks a gateway for credits, with a plugin for each list of budgets. */
async function creditsOf(
  hooks: readonly Plugin['budgetsOf'][],
  path = '/api/v1/credits',
  admit: NonNullable<Plugin['admit']> = () => ({ headers: { 'x-left': '1' } }),
) {
  const finished: FinishEvent[] = []
  const plugins: Plugin[] = hooks.map((budgetsOf, index) => ({ name: `p${index}`, ...(budgetsOf && { budgetsOf }) }))
  plugins.push({ name: 'limits', admit, onFinish: (event) => void finished.push(event) })
  const { gateway, seen, logged } = setUp({}, { plugins })
  const reply = await gateway.fetch(`http://gw${path}`, { headers: { authorization: 'Bearer good' } })
  const { status } = reply
  expect(seen).toEqual([])
  expect(finished).toMatchObject([{ operation: 'get-credits', model: '', identity: { id: 'me' }, status }])
  return { status, body: await reply.json(), logged, left: reply.headers.get('x-left') }
}

describe('credits of OpenRouter’s clients', () => {
  it.each(['/api/v1/credits', '/v1/credits'])('are the budget with the least left, on %s', async (path) => {
    const identities: unknown[] = []
    const { status, body, left } = await creditsOf(
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
    expect([status, body, left]).toEqual([200, { data: { total_credits: 20, total_usage: 15 } }, '1'])
    expect(identities).toHaveLength(1)
  })

  it('are not read for a call that a plugin rejects', async () => {
    const budgetsOf = vi.fn(() => [usd(2, 1)])
    const { status } = await creditsOf([budgetsOf], undefined, ({ targets }) => {
      expect(targets).toEqual([])
      throw new GatewayError('rate_limited', 'Too many requests.')
    })
    expect([status, budgetsOf.mock.calls]).toEqual([429, []])
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
