import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import type { SharedFormat } from '../../base/names.ts'
import { testContext } from '../chat/context.test-support.ts'
import { codecOf } from '../codecs.ts'
import type { ModelRule, Quirks } from '../target-traits.ts'
import { fitToModel } from './model-rules.ts'

const markedRule: ModelRule = { model: 'gpt-5.6', cacheBreakpoints: true }

/** Translates a request from one format to another, and returns it with what was reported. */
function translate(
  from: SharedFormat,
  to: SharedFormat,
  body: JsonObject,
  more: { rule?: ModelRule; quirks?: Quirks } = {},
) {
  const model = to === 'converse' ? 'anthropic.claude-sonnet-4-5-20250929-v1:0' : 'claude-sonnet-4-5'
  const context = { ...testContext(), upstream: to, target: { model, quirks: more.quirks ?? {} } }
  const codec = codecOf(from)
  const decoded = codec.decodeRequest(structuredClone(body), context)
  const request = { ...decoded, at: { ...codec.fieldPointers, ...decoded.at } }
  const fitted = fitToModel(request, more.rule, to, context.report).request
  const wire = codecOf(to).encodeRequest(fitted, context)
  return { wire, losses: context.losses.map(({ path, kind, severity }) => `${severity} ${kind} ${path}`) }
}

const breakpoint = { mode: 'explicit' }
const chatBody = (mark: JsonObject, more: JsonObject = {}): JsonObject => ({
  model: 'm',
  messages: [
    { role: 'system', content: [{ type: 'text', text: 'rules', prompt_cache_breakpoint: mark }] },
    { role: 'user', content: 'hi' },
  ],
  ...more,
})
const responsesBody = (mark: JsonObject, more: JsonObject = {}): JsonObject => ({
  model: 'm',
  input: [
    { role: 'system', content: [{ type: 'input_text', text: 'rules', prompt_cache_breakpoint: mark }] },
    { role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
  ],
  ...more,
})
const messagesBody = (more: JsonObject = {}): JsonObject => ({
  model: 'm',
  max_tokens: 10,
  system: [{ type: 'text', text: 'rules', cache_control: { type: 'ephemeral' } }],
  messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
  ...more,
})
const openai = { chat: chatBody, responses: responsesBody } as const

describe.each(['chat', 'responses'] as const)('a breakpoint of a %s client', (from) => {
  const body = openai[from]

  it('becomes a mark of Anthropic and a cache point of Bedrock', () => {
    const { wire, losses } = translate(from, 'messages', body(breakpoint))
    expect(wire.system).toEqual([{ type: 'text', text: 'rules', cache_control: { type: 'ephemeral' } }])
    expect(losses.filter((line) => line.includes('cache'))).toEqual([])
    expect(translate(from, 'converse', body(breakpoint)).wire.system).toEqual([
      { text: 'rules' },
      { cachePoint: { type: 'default' } },
    ])
  })

  it('of twelve hours becomes a mark of an hour', () => {
    const { wire, losses } = translate(from, 'messages', body({ ...breakpoint, ttl: '12h' }))
    expect(losses).toContainEqual(expect.stringMatching(/^note approximated .*prompt_cache_breakpoint$/))
    expect(wire.system).toEqual([{ type: 'text', text: 'rules', cache_control: { type: 'ephemeral', ttl: '1h' } }])
    expect(translate(from, 'converse', body({ ...breakpoint, ttl: '12h' })).wire.system).toEqual([
      { text: 'rules' },
      { cachePoint: { type: 'default', ttl: '1h' } },
    ])
  })

  it.each(['chat', 'responses'] as const)('stays one for %s, whatever the model', (to) => {
    const mark = { ...breakpoint, ttl: '30m' }
    const { wire, losses } = translate(from, to, body(mark, { prompt_cache_options: { mode: 'explicit', ttl: '12h' } }))
    expect(JSON.stringify(wire)).toContain(JSON.stringify({ prompt_cache_breakpoint: mark }).slice(1, -1))
    expect(wire.prompt_cache_options).toEqual({ mode: 'explicit', ttl: '12h' })
    expect(losses.filter((line) => line.includes('cache'))).toEqual([])
  })

  it('is reported where there is none', () => {
    const { losses } = translate(from, 'gemini', body(breakpoint, { prompt_cache_options: { ttl: '12h' } }))
    expect(losses).toContainEqual(expect.stringMatching(/^note unsupported .*prompt_cache_breakpoint$/))
    expect(losses).toContain('note unsupported /prompt_cache_options/ttl')
    const quirks: Quirks = { lacks: { prompt_cache_key: 'refused', prompt_cache_options: 'refused' } }
    const other = translate(from, 'chat', body(breakpoint, { prompt_cache_options: { ttl: '12h' } }), { quirks })
    expect(JSON.stringify(other.wire)).not.toContain('prompt_cache')
    expect(other.losses).toHaveLength(2)
  })

  it('in an unknown form stays with its format', () => {
    const odd = { mode: 'explicit', region: 'eu' }
    expect(translate(from, 'messages', body(odd)).losses).toContainEqual(
      expect.stringContaining('prompt_cache_breakpoint'),
    )
    expect(JSON.stringify(translate(from, from, body(odd)).wire)).toContain('"region":"eu"')
  })

  it('asks for the automatic cache of Anthropic by the mode implicit', () => {
    const { wire } = translate(from, 'messages', body(breakpoint, { prompt_cache_options: { mode: 'implicit' } }))
    expect(wire.cache_control).toEqual({ type: 'ephemeral' })
    expect(translate(from, 'messages', body(breakpoint)).wire.cache_control).toBeUndefined()
  })
})

describe.each(['chat', 'responses'] as const)('a mark of a messages client for %s', (to) => {
  it('becomes a breakpoint if the model accepts one', () => {
    const { wire, losses } = translate('messages', to, messagesBody(), { rule: markedRule })
    expect(JSON.stringify(wire)).toContain('"prompt_cache_breakpoint":{"mode":"explicit"}')
    expect(losses.filter((line) => line.includes('cache'))).toEqual([])
  })

  it('of an hour is reported as approximated', () => {
    const hour = { type: 'text', text: 'rules', cache_control: { type: 'ephemeral', ttl: '1h' } }
    const { losses } = translate('messages', to, messagesBody({ system: [hour] }), { rule: markedRule })
    expect(losses).toContain('note approximated /system/0/cache_control')
  })

  it('is reported for other models, which cache automatically', () => {
    const { wire, losses } = translate('messages', to, messagesBody())
    expect(JSON.stringify(wire)).not.toContain('prompt_cache')
    expect(losses).toContain('note unsupported /system/0/cache_control')
  })

  it('is kept without a report if it is the automatic one, which OpenAI always has', () => {
    const { losses } = translate(
      'messages',
      to,
      messagesBody({ system: 'rules', cache_control: { type: 'ephemeral' } }),
    )
    expect(losses.filter((line) => line.includes('cache'))).toEqual([])
  })
})

describe('a request that only fills the cache', () => {
  const prewarm = { prompt_cache_options: { prewarm: true } }

  it('is translated between messages and responses', () => {
    const rule = markedRule
    expect(translate('messages', 'responses', messagesBody({ max_tokens: 0 }), { rule }).wire).toMatchObject(prewarm)
    const { wire } = translate('responses', 'messages', { model: 'm', input: 'hi', ...prewarm })
    expect(wire).toMatchObject({ max_tokens: 0, cache_control: { type: 'ephemeral' } })
    expect(translate('responses', 'responses', { model: 'm', input: 'hi', ...prewarm }).wire).toMatchObject(prewarm)
    const reasoning = { reasoning: { effort: 'high' } }
    const thinking = translate('responses', 'messages', { model: 'm', input: 'hi', ...prewarm, ...reasoning }).wire
    expect(thinking.thinking).toBeUndefined()
    const marked = translate('responses', 'messages', responsesBody(breakpoint, prewarm)).wire
    expect(marked.max_tokens).toBe(0)
    expect(marked.cache_control).toBeUndefined()
    expect(translate('messages', 'messages', messagesBody({ max_tokens: 0 })).wire).toEqual({
      ...messagesBody({ max_tokens: 0 }),
      model: 'claude-sonnet-4-5',
    })
  })

  it('is refused for models of responses that do not accept it', () => {
    const { losses } = translate('messages', 'responses', messagesBody({ max_tokens: 0 }))
    expect(losses).toContain('fatal unsupported /max_tokens')
  })

  it.each(['chat', 'gemini', 'converse'] as const)('is refused for %s', (to) => {
    expect(translate('messages', to, messagesBody({ max_tokens: 0 })).losses).toContain('fatal unsupported /max_tokens')
    expect(translate('responses', to, { model: 'm', input: 'hi', ...prewarm }).losses).toContain(
      'fatal unsupported /prompt_cache_options/prewarm',
    )
  })
})
