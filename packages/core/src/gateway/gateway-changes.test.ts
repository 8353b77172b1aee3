import { describe, expect, it } from 'vitest'
import { openai } from '../upstreams/openai.ts'
import { asJson, message, setUp } from './create-gateway.test-support.ts'

const input = [
  { role: 'user', content: 'a' },
  { role: 'assistant', content: 'b' },
  { type: 'configuration_update', reasoning: { effort: 'low' } },
  { role: 'user', content: 'c' },
  { type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: 'f', parameters: null }] },
]
const body = { model: 'claude-opus-5', max_output_tokens: 999, reasoning: { effort: 'high' }, input }
const messages = [
  { role: 'user', content: 'a' },
  { role: 'system', content: [{ type: 'tool_removal', tool: { type: 'tool_reference', name: 'f' } }] },
]

describe('changes within a conversation', () => {
  it('are sent to Anthropic with the required beta flags in addition to those of the client', async () => {
    const { post, seen } = setUp({ m: asJson(message) })
    const reply = await post('/v1/responses', body, { 'anthropic-beta': 'own-1, inline-tools-2026-09-15' })
    expect(reply.status).toBe(200)
    const sent = JSON.parse(seen[0]?.body ?? '') as { messages: { role: string }[] }
    expect(sent.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'system', 'user', 'system'])
    expect(seen[0]?.headers.get('anthropic-beta')).toBe(
      'own-1,inline-tools-2026-09-15,mid-conversation-output-config-2026-07-01',
    )
    expect(reply.headers.get('modelgate-loss') ?? '').not.toContain('/input/')
  })

  it('are listed by explain with their beta flags', async () => {
    const { gateway } = setUp({ m: asJson(message) })
    const { plan } = await gateway.explain(
      new Request('http://gw/v1/responses', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer good' },
        body: JSON.stringify(body),
      }),
    )
    expect(plan[0]?.request?.headers).toMatchObject({
      'anthropic-beta': 'mid-conversation-output-config-2026-07-01,inline-tools-2026-09-15',
    })
  })

  it('add no beta flags if nothing changes or if the body is already in the format of the upstream', async () => {
    const { post, messages: postMessages, seen } = setUp({ m: asJson(message) })
    await post('/v1/responses', { ...body, input: 'a' })
    await postMessages({ messages })
    expect(seen.map(({ headers }) => headers.get('anthropic-beta'))).toEqual([null, null])
    expect(seen[1]?.body).toContain('"tool_removal"')
  })

  it('are sent as items to OpenAI models that accept them, but not to other servers of its formats', async () => {
    const quirksOf = (options: Parameters<typeof openai>[0]) => openai(options).quirks.laterChanges
    expect(quirksOf({ apiKey: 'k' })).toEqual(['effort', 'tools'])
    expect(quirksOf({ apiKey: 'k', baseURL: 'http://a/v1' })).toBeUndefined()
    const own = openai({ apiKey: 'k' })
    const rules = own.modelRules ?? []
    const first = (model: string) => rules.find((rule) => model.startsWith(rule.model))?.laterChanges
    expect(first('gpt-6-astra')).toEqual(['effort', 'tools'])
    expect(first('gpt-6-astra-pro')).toEqual(['tools'])
    expect(first('gpt-5.6')).toEqual(['tools'])
    expect(first('gpt-4o')).toBeUndefined()
  })
})
