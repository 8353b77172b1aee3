import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import type { ModelRequest, Part, Turn } from '../ir.ts'
import type { Quirks } from '../target-traits.ts'
import { chatCodec } from './codec.ts'
import { testContext } from './context.test-support.ts'

/** Encodes a request of another format for chat; returns the body and the reported losses. */
function encode(request: Partial<ModelRequest>, quirks: Quirks = {}) {
  const context = testContext({ quirks })
  const wire = chatCodec.encodeRequest({ model: 'x', turns: [], stream: false, ...request }, context)
  return { wire, losses: context.losses.map(({ path, kind, severity }) => `${severity} ${kind} ${path}`) }
}
const turn = (role: Turn['role'], ...parts: Part[]): Turn[] => [{ role, parts, at: '/t' }]
const ask = (role: Turn['role'], parts: Part[], quirks?: Quirks) => {
  const { wire, losses } = encode({ turns: turn(role, ...parts) }, quirks)
  return { messages: wire.messages, losses }
}

describe('fields of a foreign request', () => {
  test.each<[string, Partial<ModelRequest>, JsonObject, string[]]>([
    ['top_k', { sampling: { topK: 5 }, at: { 'sampling.topK': '/top_k' } }, {}, ['warn unsupported /top_k']],
    [
      'a reasoning budget',
      { reasoning: { budgetTokens: 10_000 }, at: { 'reasoning.budgetTokens': '/thinking/budget_tokens' } },
      { reasoning_effort: 'medium' },
      ['warn approximated /thinking/budget_tokens'],
    ],
    [
      'reasoning off',
      { reasoning: { off: true }, at: { 'reasoning.off': '/thinking' } },
      { reasoning_effort: 'none' },
      ['note approximated /thinking'],
    ],
    [
      'reasoning off together with an effort',
      { reasoning: { off: true, effort: 'high' } },
      { reasoning_effort: 'none' },
      ['note approximated /reasoning/off', 'note approximated /reasoning/effort'],
    ],
    ['adaptive reasoning', { reasoning: { adaptive: true } }, {}, ['note approximated /reasoning/adaptive']],
    [
      'adaptive reasoning with an effort',
      { reasoning: { adaptive: true, effort: 'low' } },
      { reasoning_effort: 'low' },
      [],
    ],
    ['a reasoning summary', { reasoning: { summary: 'auto' } }, {}, ['note unsupported /reasoning/summary']],
    [
      "Claude Code's user id",
      { user: { id: 'u'.repeat(65) }, at: { 'user.id': '/metadata/user_id' } },
      {},
      ['note unsupported /metadata/user_id'],
    ],
    [
      'a user id that chat accepts',
      { user: { id: 'u'.repeat(64) }, at: { 'user.id': '/metadata/user_id' } },
      { user: 'u'.repeat(64) },
      [],
    ],
    [
      "a long user id that the client's own format allows",
      { user: { id: 'u'.repeat(65) }, at: { 'user.id': '/user' } },
      { user: 'u'.repeat(65) },
      [],
    ],
    [
      'a schema without a name',
      { output: { format: { type: 'json', schema: { a: 1 } } } },
      { response_format: { type: 'json_schema', json_schema: { name: 'response', schema: { a: 1 } } } },
      ['note approximated /output/format'],
    ],
    [
      'extra fields of its own format',
      { extra: { messages: { container: 'x', metadata: 1 } } },
      {},
      ['warn unsupported /container', 'note unsupported /metadata'],
    ],
    [
      'native tools of its own format',
      {
        tools: {
          list: [{ type: 'native', format: 'messages', value: { type: 'web_search_20250305' }, at: '/tools/0' }],
          choice: 'required',
        },
        at: { 'tools.choice': '/tool_choice' },
      },
      {},
      ['warn unsupported /tools/0', 'warn unsupported /tool_choice'],
    ],
    [
      'extra fields of a tool',
      {
        tools: {
          list: [{ type: 'function', name: 'f', extra: { messages: { allowed_callers: true } }, at: '/tools/0' }],
        },
      },
      { tools: [{ type: 'function', function: { name: 'f' } }] },
      ['warn unsupported /tools/0/allowed_callers'],
    ],
    [
      'a stream with requested usage',
      { stream: true, output: { includeUsage: true } },
      { stream: true, stream_options: { include_usage: true } },
      [],
    ],
  ])('are translated with the expected losses: %s', (_, request, fields, losses) => {
    expect(encode(request)).toEqual({ wire: { model: 'm', messages: [], ...fields }, losses })
  })
})

const pdf: Part = {
  type: 'media',
  kind: 'document',
  source: { type: 'base64', data: 'AA' },
  mediaType: 'application/pdf',
  name: 'a.pdf',
  at: '/p',
}
const png: Part = {
  type: 'media',
  kind: 'image',
  source: { type: 'base64', data: 'AA' },
  mediaType: 'image/png',
  at: '/p',
}
const wirePng = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } }

describe('parts of a foreign request', () => {
  test.each<[string, Turn['role'], Part[], JsonObject[], string[]]>([
    [
      'a document',
      'user',
      [pdf],
      [
        {
          role: 'user',
          content: [{ type: 'file', file: { file_data: 'data:application/pdf;base64,AA', filename: 'a.pdf' } }],
        },
      ],
      [],
    ],
    [
      'a document as text',
      'user',
      [{ ...pdf, source: { type: 'text', text: 'T' } }],
      [{ role: 'user', content: 'a.pdf\n\nT' }],
      ['note approximated /p'],
    ],
    [
      'a document by URL',
      'user',
      [{ ...pdf, source: { type: 'url', url: 'https://a' } }],
      [{ role: 'user', content: '' }],
      ['fatal unsupported /p'],
    ],
    [
      'a stored file of another provider',
      'user',
      [{ ...pdf, source: { type: 'file', seal: { issuer: 'messages', data: 'f' } } }],
      [{ role: 'user', content: '' }],
      ['fatal unsupported /p'],
    ],
    ['video', 'user', [{ ...png, kind: 'video' }], [{ role: 'user', content: '' }], ['fatal unsupported /p']],
    [
      'a document without a name',
      'user',
      [
        {
          type: 'media',
          kind: 'document',
          source: { type: 'base64', data: 'AA' },
          mediaType: 'application/pdf',
          at: '/p',
        },
      ],
      [
        {
          role: 'user',
          content: [{ type: 'file', file: { file_data: 'data:application/pdf;base64,AA', filename: 'document.pdf' } }],
        },
      ],
      ['note approximated /p'],
    ],
    [
      'an image in a system turn',
      'system',
      [png, { type: 'text', text: 'x' }],
      [{ role: 'system', content: 'x' }],
      ['warn unsupported /p'],
    ],
    [
      'an image in an assistant turn',
      'assistant',
      [png],
      [{ role: 'assistant', content: '' }],
      ['warn unsupported /p'],
    ],
    [
      'a native block of its own format',
      'assistant',
      [{ type: 'native', format: 'messages', value: { type: 'server_tool_use' }, at: '/p' }],
      [{ role: 'assistant', content: '' }],
      ['warn unsupported /p'],
    ],
    [
      'citations',
      'assistant',
      [{ type: 'text', text: 'x', citations: [{ url: 'u' }], at: '/p' }],
      [{ role: 'assistant', content: 'x' }],
      ['note unsupported /p/citations'],
    ],
    [
      'tool results with an image and an error',
      'user',
      [
        { type: 'text', text: 'after all', at: '/q' },
        { type: 'tool-result', callId: 'a', parts: [{ type: 'text', text: 'x' }, png], isError: true, at: '/r' },
        { type: 'tool-result', callId: 'b', parts: [], at: '/s' },
      ],
      [
        { role: 'tool', tool_call_id: 'a', content: 'x' },
        { role: 'tool', tool_call_id: 'b', content: '' },
        { role: 'user', content: [wirePng, { type: 'text', text: 'after all' }] },
      ],
      ['note moved /p', 'note approximated /r/is_error', 'note moved /t'],
    ],
    [
      'text after a call',
      'assistant',
      [
        { type: 'tool-call', id: 'a', name: 'f', input: '' },
        { type: 'text', text: 'x', at: '/p' },
      ],
      [
        {
          role: 'assistant',
          content: 'x',
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
      ],
      ['note moved /p'],
    ],
    [
      'a tool result in an assistant turn',
      'assistant',
      [{ type: 'tool-result', callId: 'a', parts: [], at: '/p' }],
      [{ role: 'assistant', content: '' }],
      ['warn unsupported /p'],
    ],
  ])('are translated with the expected losses: %s', (_, role, parts, messages, losses) => {
    expect(ask(role, parts)).toEqual({ messages, losses })
  })

  test('include reasoning if the upstream accepts it, but never the seal of another issuer', () => {
    const sealed: Part = { type: 'reasoning', text: 'hm', seal: { issuer: 'messages', data: 'S' }, at: '/r' }
    const answer: Part = { type: 'text', text: 'x' }
    expect(ask('assistant', [sealed, answer])).toEqual({
      messages: [{ role: 'assistant', content: 'x' }],
      losses: ['note unsupported /r', 'note unsupported /r'],
    })
    expect(ask('assistant', [sealed, answer], { reasoningField: 'reasoning_content' })).toEqual({
      messages: [{ role: 'assistant', content: 'x', reasoning_content: 'hm' }],
      losses: ['note unsupported /r'],
    })
  })

  test('include calls without the seal of another format', () => {
    const { messages, losses } = ask('assistant', [
      { type: 'tool-call', id: 'a', name: 'f', input: '{}', seal: { issuer: 'gemini', data: 'S' }, at: '/c' },
    ])
    expect(JSON.stringify(messages)).not.toContain('S"')
    expect(losses).toEqual(['note unsupported /c'])
  })
})

test('moves a system turn between calls and their results behind the results', () => {
  const call: Part = { type: 'tool-call', id: 'c1', name: 'f', input: '{}' }
  const result: Part = { type: 'tool-result', callId: 'c1', parts: [{ type: 'text', text: 'r' }] }
  const { wire, losses } = encode({
    turns: [...turn('assistant', call), ...turn('system', { type: 'text', text: 's' }), ...turn('user', result)],
  })
  expect((wire.messages as JsonObject[]).map(({ role }) => role)).toEqual(['assistant', 'tool', 'system'])
  expect(losses).toEqual(['note moved /t'])
})
