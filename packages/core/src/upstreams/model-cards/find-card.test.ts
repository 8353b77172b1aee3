import { describe, expect, it } from 'vitest'
import type { ModelCardRow } from '../../formats/model-card.ts'
import { checkCard } from './check-card.ts'
import { findCard } from './find-card.ts'
import { modelCards } from './table.ts'

const anywhere = 'https://any.test/v1'
const find = (model: string, baseURL = anywhere) => findCard(modelCards.cards, model, baseURL)?.model

describe('the name of a model', () => {
  it.each([
    ['gpt-5', 'gpt-5'],
    ['openai/gpt-5', 'gpt-5'],
    ['gpt-5-2025-08-07', 'gpt-5'],
    ['GPT-5', 'gpt-5'],
    ['us.openai.gpt-5.4', 'gpt-5.4'],
    ['gpt-5.4-mini', 'gpt-5.4-mini'],
    ['ft:gpt-4.1-2025-04-14:org::id', 'gpt-4.1'],
    ['gpt-4o-2024-05-13', 'gpt-4o-2024-05-13'],
    ['gpt-4o-2024-11-20', 'gpt-4o'],
    ['claude-opus-4-5', 'claude-opus-4-5'],
    ['claude-opus-4.5', 'claude-opus-4-5'],
    ['anthropic/claude-opus-4.5', 'claude-opus-4-5'],
    ['claude-opus-4-5-20251101', 'claude-opus-4-5'],
    ['claude-opus-4-5@20251101', 'claude-opus-4-5'],
    ['us.anthropic.claude-haiku-4-5-20251001-v1:0', 'claude-haiku-4-5'],
    ['anthropic.claude-opus-4-6-v1', 'claude-opus-4-6'],
    ['gemini-2.5-flash-001', 'gemini-2.5-flash'],
    ['models/gemini-3.1-pro-preview', 'gemini-3.1-pro'],
    ['gemini-2.5-flash-preview-09-2025', 'gemini-2.5-flash'],
    ['command-a-03-2025', 'command-a'],
    ['codestral-latest', 'codestral', 'https://api.mistral.ai'],
    ['amazon.nova-lite-v1:0', 'nova-lite'],
  ])('%s matches the card of %s', (model, card, baseURL = anywhere) => expect(find(model, baseURL)).toBe(card))

  it.each([
    // Other sizes and later versions have limits of their own.
    'gpt-5-unknown',
    'gpt-5.9',
    'gpt-4o-audio-preview',
    'gpt-4o-mini-tts',
    'gpt-5.2-chat-latest',
    'o365-assistant',
    'claude-opus-5-9',
    'claude-opus-50',
    'my-gpt-5',
    'command-a-plus-05-2026',
    'command-a-translate-08-2025',
    'gemini-2.5-flash-image',
    '',
  ])("'%s' matches no card", (model) => expect(find(model)).toBeUndefined())
})

describe('the host of a card', () => {
  it.each([
    ['https://api.groq.com/openai', 65_536],
    ['https://api.cerebras.ai', 40_960],
    ['http://localhost:11434', undefined],
    ['https://groq.com.attacker.test', undefined],
    ['https://notgroq.com', undefined],
    ['no address', undefined],
  ])('%s has its own limits of gpt-oss-120b', (baseURL, maxOutput) =>
    expect(findCard(modelCards.cards, 'openai/gpt-oss-120b', baseURL)?.maxOutput).toBe(maxOutput),
  )
})

const rows = modelCards.cards.map((row) => [`${row.host ?? ''} ${row.model}`, row] as const)

describe('the shipped table', () => {
  it('states the day of the last check', () => expect(modelCards.checked).toMatch(/^\d{4}-\d{2}-\d{2}$/))

  it('has every row only once', () => expect(new Set(rows.map(([name]) => name)).size).toBe(rows.length))

  it.each(rows)('finds the row %s by its own name', (_, row) =>
    expect(findCard(modelCards.cards, row.model, `https://api.${row.host ?? 'any.test'}`)).toBe(row),
  )

  it.each(rows)('has a source and valid facts in the row %s', (_, row) => {
    const problems: string[] = []
    const { model: _model, host: _host, source, ...card } = row
    checkCard(card, 'card', (problem) => problems.push(problem))
    expect(problems).toEqual([])
    expect(source).toMatch(/^https:\/\//)
  })

  it.each(rows)('has limits that are consistent in the row %s', (_, row: ModelCardRow) => {
    const { contextWindow = 0, maxInput = contextWindow, maxOutput = 0, prices } = row
    expect(maxInput).toBeLessThanOrEqual(contextWindow)
    expect(maxOutput).toBeLessThanOrEqual(contextWindow)
    if (maxInput < contextWindow) expect(maxInput + maxOutput).toBeLessThanOrEqual(contextWindow)
    // A price of a cached token above that of an input token would be a mistake in a column.
    expect(prices?.cachedInput ?? 0).toBeLessThanOrEqual(prices?.input ?? 0)
    expect(prices?.output ?? 0).toBeGreaterThanOrEqual(prices?.input ?? 0)
  })
})
