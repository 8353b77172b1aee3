import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import type { Loss, ModelRequest, Reasoning } from '../ir.ts'
import { messagesCodec } from './index.ts'
import { contextFor, target } from './recorded.test-support.ts'

const user = { role: 'user' as const, parts: [{ type: 'text' as const, text: 'Hi' }] }

function encode(request: Partial<ModelRequest>, model: string): { out: JsonObject; losses: readonly Loss[] } {
  const context = contextFor()
  const whole: ModelRequest = { model: 'alias', turns: [user], stream: false, ...request }
  const out = messagesCodec.encodeRequest(whole, { ...context, target: target(model) })
  return { out, losses: context.report.losses }
}

const budget = (budget_tokens: number) => ({ type: 'enabled', budget_tokens })
const adaptive = { type: 'adaptive' }
const disabled = { type: 'disabled' }

describe('reasoning of other formats', () => {
  test.each<[string, Reasoning, number, JsonObject | undefined, string | undefined, string]>([
    // model, reasoning, max_tokens, thinking, effort, kinds of losses
    ['claude-opus-5', { effort: 'high' }, 32_000, adaptive, 'high', ''],
    ['claude-opus-5', { effort: 'minimal' }, 32_000, adaptive, 'low', 'approximated note'],
    ['claude-opus-5', { effort: 'none' }, 32_000, disabled, undefined, ''],
    ['claude-opus-5', { off: true }, 32_000, disabled, undefined, ''],
    ['claude-opus-5', { budgetTokens: 20_000 }, 32_000, adaptive, 'high', 'approximated warn'],
    [
      'claude-opus-5',
      { adaptive: true, effort: 'max', summary: 'auto' },
      32_000,
      { ...adaptive, display: 'summarized' },
      'max',
      '',
    ],
    ['claude-opus-5', { adaptive: true, summary: 'none' }, 32_000, { ...adaptive, display: 'omitted' }, undefined, ''],
    ['claude-opus-5', { adaptive: false, effort: 'low' }, 32_000, undefined, 'low', ''],
    ['claude-opus-5', { effort: 'high' }, 16, adaptive, 'high', ''],
    ['claude-fable-5', { effort: 'none' }, 32_000, undefined, 'low', 'approximated warn'],
    ['claude-opus-4-6', { effort: 'xhigh' }, 32_000, adaptive, 'max', 'approximated note'],
    ['claude-opus-4-6', { budgetTokens: 2048 }, 32_000, budget(2048), undefined, ''],
    ['claude-sonnet-4-5', { effort: 'low' }, 32_000, budget(4096), undefined, 'approximated note'],
    ['claude-sonnet-4-5', { effort: 'high' }, 5000, budget(4999), undefined, 'approximated note'],
    ['claude-sonnet-4-5', { effort: 'high' }, 1024, undefined, undefined, 'unsupported warn'],
    ['claude-sonnet-4-5', { budgetTokens: 64_000 }, 64_000, budget(63_999), undefined, 'clamped warn'],
    ['claude-sonnet-4-5', { budgetTokens: 100 }, 32_000, budget(1024), undefined, 'clamped warn'],
    ['claude-sonnet-4-5', { adaptive: true }, 32_000, budget(24_576), undefined, 'approximated note'],
    [
      'claude-sonnet-4-5',
      { summary: 'detailed', budgetTokens: 2000 },
      32_000,
      { ...budget(2000), display: 'summarized' },
      undefined,
      'approximated note',
    ],
    ['claude-sonnet-4-5', { summary: 'auto' }, 32_000, undefined, undefined, 'unsupported note'],
    ['claude-opus-4-5', { budgetTokens: 2000, effort: 'medium' }, 32_000, budget(2000), 'medium', ''],
    ['claude-3-5-haiku-latest', { effort: 'high' }, 8000, undefined, undefined, 'unsupported warn'],
    ['claude-3-5-haiku-latest', { effort: 'none' }, 8000, undefined, undefined, ''],
    ['anthropic.claude-sonnet-4-5-v1:0', { effort: 'low' }, 32_000, budget(4096), undefined, 'approximated note'],
    ['anthropic/claude-opus-4.7', { effort: 'low' }, 32_000, adaptive, 'low', ''],
    ['claude-from-the-future', { effort: 'xhigh' }, 32_000, adaptive, 'xhigh', ''],
    ['kimi-k3', { effort: 'medium' }, 32_000, budget(12_288), undefined, 'approximated note'],
  ])('is encoded for %s: %j with max_tokens %i', (model, reasoning, maxTokens, thinking, effort, kinds) => {
    const { out, losses } = encode({ reasoning, sampling: { maxTokens } }, model)
    expect(out.thinking).toEqual(thinking)
    expect((out.output_config as JsonObject | undefined)?.effort).toBe(effort)
    expect(losses.map(({ kind, severity }) => `${kind} ${severity}`).join()).toBe(kinds)
    expect(out.max_tokens).toBe(maxTokens)
  })
})

const tools = { list: [{ type: 'function' as const, name: 'f' }] }

describe('settings that exclude thinking', () => {
  test('drops a thinking budget, but not adaptive thinking, for a forced tool call', () => {
    const isToolForced = { tools: { ...tools, choice: 'required' as const }, reasoning: { effort: 'high' as const } }
    const old = encode(isToolForced, 'claude-sonnet-4-5')
    expect(old.out).toMatchObject({ tool_choice: { type: 'any' } })
    expect(old.out.thinking).toBeUndefined()
    expect(old.losses.map(({ detail }) => detail)).toContain(
      'thinking is left out: a budget cannot be combined with a forced tool call',
    )
    expect(encode(isToolForced, 'claude-opus-4-6').out).toMatchObject({
      tool_choice: { type: 'any' },
      thinking: adaptive,
    })
  })

  test('sends an automatic tool choice to a model that cannot be forced, and reports it', () => {
    const { out, losses } = encode({ tools: { ...tools, choice: { name: 'f' } } }, 'claude-opus-5-5')
    expect(out.tool_choice).toEqual({ type: 'auto' })
    expect(losses).toContainEqual(
      expect.objectContaining({ path: '/tools/choice', kind: 'approximated', severity: 'warn' }),
    )
  })

  test('drops and reports temperature, top_k and a small top_p', () => {
    const sampling = { temperature: 0.5, topK: 5, topP: 0.5, maxTokens: 9000 }
    const { out, losses } = encode({ sampling, reasoning: { budgetTokens: 2000 } }, 'claude-sonnet-4-5')
    expect(out).not.toHaveProperty('temperature')
    expect(out).not.toHaveProperty('top_k')
    expect(out).not.toHaveProperty('top_p')
    expect(losses.map(({ path }) => path).sort()).toEqual(['/sampling/temperature', '/sampling/topK', '/sampling/topP'])
    const kept = encode(
      { sampling: { temperature: 1, maxTokens: 9000 }, reasoning: { budgetTokens: 2000 } },
      'claude-sonnet-4-5',
    )
    expect(kept.out.temperature).toBe(1)
    expect(kept.losses).toEqual([])
  })

  const loop = (sealed: boolean): ModelRequest['turns'] => [
    user,
    {
      role: 'assistant',
      parts: [
        { type: 'reasoning', text: 'Hm.', ...(sealed && { seal: { issuer: 'messages' as const, data: 'sig' } }) },
        { type: 'tool-call', id: 'a', name: 'f', input: '{}' },
      ],
    },
    { role: 'user', parts: [{ type: 'tool-result', callId: 'a', parts: [] }] },
  ]
  test('drops the thinking budget in a tool loop without its signed reasoning', () => {
    const request = { reasoning: { effort: 'high' as const }, tools }
    const lost = encode({ ...request, turns: loop(false) }, 'claude-sonnet-4-5')
    expect(lost.out.thinking).toBeUndefined()
    expect(lost.losses).toContainEqual(expect.objectContaining({ severity: 'warn', path: '/reasoning/effort' }))
    expect(encode({ ...request, turns: loop(true) }, 'claude-sonnet-4-5').out.thinking).toEqual(budget(24_576))
    expect(encode({ ...request, turns: loop(false) }, 'claude-opus-5').out.thinking).toEqual(adaptive)
  })
})

describe('thinking of messages clients', () => {
  test.each<[JsonObject, Reasoning | undefined]>([
    [{ thinking: { type: 'enabled', budget_tokens: 2000 } }, { budgetTokens: 2000 }],
    [{ thinking: { type: 'adaptive', display: 'omitted' } }, { adaptive: true, summary: 'none' }],
    [{ thinking: { type: 'adaptive', display: 'updates' } }, { adaptive: true, summary: 'auto' }],
    [{ thinking: { type: 'disabled' } }, { off: true }],
    [{ thinking: { type: 'between_tools' } }, undefined],
    [{ output_config: { effort: 'max' } }, { effort: 'max', adaptive: false }],
    [{ output_config: { effort: 'colossal' } }, undefined],
    [
      { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
      { adaptive: true, effort: 'low' },
    ],
  ])('is decoded from %j', (fields, reasoning) => {
    const body = { model: 'm', max_tokens: 5000, messages: [{ role: 'user', content: 'Hi' }], ...fields }
    expect(messagesCodec.decodeRequest(body, contextFor()).reasoning).toEqual(reasoning)
  })
})
