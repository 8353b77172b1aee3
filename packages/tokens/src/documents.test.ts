import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { LedgerRecord } from './ledger/ledger-record.ts'
import { sumLedger } from './ledger/sum-ledger.ts'
import { type PriceTable, priceFields } from './prices/price-table.ts'
import { createPrices } from './prices/prices.ts'

const read = (name: string): string => readFileSync(new URL(`../../../docs/guide/${name}`, import.meta.url), 'utf8')
const between = (text: string, mark: string): string =>
  text.split(`<!-- ${mark} -->`)[1]?.split(`<!-- /${mark} -->`)[0] ?? expect.fail(`the mark ${mark} is missing`)
const example = (text: string): unknown => JSON.parse(between(text, 'example').replaceAll(/^```.*$/gm, ''))
/** Names in the first column of the first table. */
const named = (text: string): string[] =>
  [...text.matchAll(/^\| ([^|]*`[^|]*) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
  )

describe('docs/guide/prices.md', () => {
  const text = read('prices.md')

  it('names every price field, and no other', () =>
    expect(named(text.slice(0, text.indexOf('## How'))).sort()).toEqual(
      [...priceFields, 'longContext', 'tiers', 'from'].sort(),
    ))

  it('has an example that is a valid price table', () => {
    const prices = createPrices(example(text) as PriceTable)
    const further = text.slice(text.indexOf('Three fields hold further prices'))
    const agent = createPrices(example(further) as PriceTable)
    const call = {
      upstream: 'any',
      model: 'example-agent',
      usage: { input: { total: 1_000_000 }, output: { total: 0 } },
    }
    expect(agent.costOf({ ...call, at: Date.parse('2027-01-30') })?.amount).toBe(6)
    expect(agent.costOf({ ...call, at: Date.parse('2027-01-31') })?.amount).toBe(2.5)
    expect(agent.costOf({ ...call, tier: 'batch', at: 0 })?.amount).toBe(1.5)
    expect(prices.priceOf('azure', 'example-chat')).toEqual({ input: 1.4, output: 11 })
    expect(prices.priceOf('local', 'anything')).toEqual({ input: 0, output: 0 })
    const reranked = { usage: { input: { total: 50 }, output: { total: 0 } } }
    expect(prices.costOf({ upstream: 'cohere', model: 'example-rerank', ...reranked })?.amount).toBe(0.002)
  })
})

describe('docs/guide/ledger.md', () => {
  const text = read('ledger.md')
  const table = between(text, 'record')
  /** Names of the record fields, mapped to true if every record has the field. */
  const fields = {
    id: true,
    time: true,
    token: true,
    owner: false,
    operation: true,
    format: true,
    model: true,
    upstream: false,
    upstreamModel: false,
    attempts: true,
    status: true,
    outcome: true,
    error: false,
    basis: false,
    usage: false,
    abandoned: false,
    uncounted: false,
    deferred: false,
    unreportedResponses: false,
    units: false,
    cost: false,
    currency: false,
    losses: true,
    durationMs: true,
    firstEventMs: false,
    stream: true,
  } satisfies { [Field in keyof LedgerRecord]-?: undefined extends LedgerRecord[Field] ? false : true }
  const parts = {
    usage: { input: true, cacheRead: true, cacheWrite: true, output: true, reasoning: true },
    units: { images: true, seconds: true, characters: true, searches: true, fetches: true, executions: true },
    losses: { path: true, kind: true, severity: true },
  } satisfies {
    usage: Record<keyof NonNullable<LedgerRecord['usage']>, true>
    units: Record<keyof NonNullable<LedgerRecord['units']>, true>
    losses: Record<keyof LedgerRecord['losses'][number], true>
  }

  it('names every field of a record, and no other', () =>
    expect(named(table).sort()).toEqual(Object.keys(fields).sort()))

  it('lists the fields that every record has', () => {
    const always = [...table.matchAll(/^\| `(\w+)` \| yes \|/gm)].map(([, name]) => name)
    expect(always.sort()).toEqual(
      Object.entries(fields)
        .flatMap(([name, is]) => (is ? [name] : []))
        .sort(),
    )
  })

  it.each(Object.entries(parts))('lists the fields of %s', (field, names) => {
    const row = table.split('\n').find((line) => line.startsWith(`| \`${field}\``)) ?? ''
    for (const name of Object.keys(names)) expect(row).toContain(`\`${name}\``)
  })

  it('has an example that is a valid record', async () => {
    const record = example(text) as LedgerRecord
    for (const [name, is] of Object.entries(fields)) if (is) expect(record).toHaveProperty(name)
    for (const name of Object.keys(record)) expect(fields).toHaveProperty(name)
    const [sum] = await sumLedger([record])
    expect(sum).toMatchObject({ calls: 1, inputTokens: 120, costs: [{ amount: 0.00183, currency: 'USD' }] })
  })
})
