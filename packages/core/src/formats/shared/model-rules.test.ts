import { describe, expect, it } from 'vitest'
import type { UpstreamFormat } from '../../base/names.ts'
import { openaiModels } from '../../upstreams/openai-models.ts'
import { xaiModels } from '../../upstreams/xai.ts'
import type { ModelRequest } from '../ir.ts'
import { createReport } from '../loss-report.ts'
import type { ModelRule } from '../target-traits.ts'
import { findModelRule, fitToModel } from './model-rules.ts'

const request = (more: Partial<ModelRequest>): ModelRequest => ({ model: 'x', turns: [], stream: false, ...more })
const tools = { list: [{ type: 'function' as const, name: 'f' }] }

function fitted(rules: readonly ModelRule[], model: string, format: UpstreamFormat, more: Partial<ModelRequest>) {
  const report = createReport()
  const fit = fitToModel(request(more), findModelRule(rules, model), format, report)
  return { ...fit, losses: report.losses.map(({ path, severity }) => `${severity} ${path}`) }
}

describe('a model rule', () => {
  it.each([
    ['gpt-5.4', 'gpt-5.4'],
    ['gpt-5.4-2026-03-05', 'gpt-5.4'],
    ['gpt-5.4-pro', 'gpt-5.4-pro'],
    ['openai/GPT-5.4', 'gpt-5.4'],
    ['us.openai.gpt-5.5', 'gpt-5.5'],
    ['ft:gpt-4.1:org', 'gpt-4'],
    ['gpt-5.9', 'gpt-5.'],
    ['gpt-6.1-terra', 'gpt-6'],
    ['o3', 'o3'],
    ['o3-pro', 'o3-pro'],
    ['gpt-35-turbo', 'gpt-35'],
  ])('is found for %s by the prefix %s', (model, prefix) => {
    expect(findModelRule(openaiModels, model)?.model).toBe(prefix)
  })

  it('is not found for an unknown name', () => {
    for (const name of [
      'my-deployment',
      'text-embedding-3-large',
      'opus',
      'claude-opus-5',
      'o365-assistant',
      'chat.o1999',
      'gpt-50',
    ])
      expect(findModelRule(openaiModels, name)).toBeUndefined()
  })

  it('has its source and check date in every built-in table', () => {
    for (const { source, checked } of [...openaiModels, ...xaiModels]) {
      expect(source).toMatch(/^https:/)
      expect(checked).toMatch(/^\d{4}-\d{2}-\d{2}$/)
    }
  })

  it('is not hidden by a rule with a shorter prefix', () => {
    for (const rules of [openaiModels, xaiModels])
      for (const [index, { model }] of rules.entries()) expect(findModelRule(rules, model)).toBe(rules[index])
  })

  it('follows the name in `like` once', () => {
    const rules: ModelRule[] = [
      { model: 'mine', like: 'yours' },
      { model: 'yours', like: 'mine', efforts: [] },
    ]
    expect(findModelRule(rules, 'mine')).toMatchObject({ model: 'mine', efforts: [] })
  })
})

describe('a request fitted to a model', () => {
  it('drops default values without a report', () => {
    const { request, losses } = fitted(openaiModels, 'gpt-5', 'responses', {
      sampling: { temperature: 1, topP: 1, maxTokens: 5 },
    })
    expect(request.sampling).toEqual({ maxTokens: 5 })
    expect(losses).toEqual([])
  })

  it('is the same object if the model accepts everything', () => {
    const original = request({ sampling: { maxTokens: 5 }, reasoning: { effort: 'low' } })
    expect(fitToModel(original, findModelRule(openaiModels, 'gpt-5'), 'chat', createReport()).request).toBe(original)
  })

  it('uses the nearest effort and reports a warning if reasoning cannot be turned off', () => {
    expect(fitted(openaiModels, 'gpt-5', 'chat', { reasoning: { effort: 'max' } })).toMatchObject({
      request: { reasoning: { effort: 'high' } },
      losses: ['note /reasoning/effort'],
      restricted: false,
    })
    expect(fitted(openaiModels, 'gpt-6-astra', 'chat', { reasoning: { off: true } })).toMatchObject({
      request: { reasoning: { effort: 'low' } },
      losses: ['warn /reasoning/off'],
    })
  })

  it('is restricted in a format with fewer efforts', () => {
    const reasoning = { effort: 'max' } as const
    expect(fitted(openaiModels, 'gpt-6-sol', 'chat', { reasoning }).restricted).toBe(true)
    expect(fitted(openaiModels, 'gpt-6-sol', 'responses', { reasoning })).toMatchObject({
      restricted: false,
      losses: [],
    })
  })

  it('keeps tools and effort for chat if the model accepts both', () => {
    for (const model of ['gpt-5.2', 'o3', 'gpt-4.1', 'unknown'])
      expect(fitted(openaiModels, model, 'chat', { tools })).toMatchObject({ restricted: false, losses: [] })
    for (const model of ['gpt-5.4', 'gpt-5.6'])
      expect(fitted(openaiModels, model, 'chat', { tools, reasoning: { effort: 'none' } })).toMatchObject({
        restricted: false,
        losses: [],
      })
  })

  it('loses its reasoning settings if the model does not reason', () => {
    const reasoning = { budgetTokens: 2048, summary: 'auto' } as const
    const { request, losses } = fitted(openaiModels, 'gpt-4.1', 'chat', { reasoning })
    expect(request).not.toHaveProperty('reasoning')
    expect(losses).toEqual(['warn /reasoning/budgetTokens', 'note /reasoning/summary'])
    expect(fitted(openaiModels, 'gpt-4.1', 'chat', { reasoning: { off: true } }).losses).toEqual([])
  })

  it('loses penalties and stop sequences for xAI only if the model reasons', () => {
    const sampling = { stop: ['x'], presencePenalty: 1 }
    expect(fitted(xaiModels, 'grok-4.5', 'chat', { sampling }).losses).toEqual([
      'warn /sampling/presencePenalty',
      'warn /sampling/stop',
    ])
    expect(fitted(xaiModels, 'grok-4.20-non-reasoning', 'chat', { sampling }).losses).toEqual([])
  })
})
