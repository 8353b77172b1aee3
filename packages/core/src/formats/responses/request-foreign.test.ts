import { describe, expect, test } from 'vitest'
import type { ModelRequest } from '../ir.ts'
import { responsesCodec } from './codec.ts'
import { contextFor } from './recorded.test-support.ts'

/** Encodes requests of clients of other formats. */
const encode = (request: Partial<ModelRequest>, model = 'gpt-5', quirks = {}) => {
  const context = contextFor({}, false)
  const body = responsesCodec.encodeRequest(
    { model: 'm', turns: [], stream: false, ...request },
    { ...context, target: { model, quirks } },
  )
  return { body, losses: context.report.losses }
}

describe('a request from a client of another format', () => {
  test('has strict functions only where the client asks for them', () => {
    const { body } = encode({ tools: { list: [{ type: 'function', name: 'f' }] } })
    expect(body.tools).toEqual([
      { type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false },
    ])
  })

  const turns: ModelRequest['turns'] = [
    { role: 'system', parts: [{ type: 'text', text: 'Be brief.', at: '/system' }], at: '/system' },
    { role: 'user', parts: [{ type: 'text', text: 'hi', at: '/messages/0/content' }], at: '/messages/0' },
  ]

  test('disables storage and asks for sealed reasoning', () => {
    expect(encode({ turns }).body).toEqual({
      model: 'gpt-5',
      store: false,
      include: ['reasoning.encrypted_content'],
      input: [
        { type: 'message', role: 'system', content: 'Be brief.' },
        { type: 'message', role: 'user', content: 'hi' },
      ],
    })
  })

  test.each([
    ['gpt-5.2', {}, true],
    ['o4-mini', {}, true],
    ['openai/gpt-4o-mini', {}, false],
    ['gpt-4.1', {}, false],
    ['gpt-5-chat-latest', {}, false],
    ['gpt-4o', { sealedReasoning: true }, true],
    ['gpt-5', { sealedReasoning: false }, false],
  ])('asks %s with the quirks %j for sealed reasoning: %s', (model, quirks, wanted) => {
    expect(encode({ turns }, model, quirks).body.include !== undefined).toBe(wanted)
  })

  test.each<[string, Partial<ModelRequest>, string, string]>([
    ['stop sequences', { sampling: { stop: ['x'] } }, '/sampling/stop', 'warn'],
    ['a seed', { sampling: { seed: 1 } }, '/sampling/seed', 'warn'],
    ['penalties', { sampling: { presencePenalty: 1 } }, '/sampling/presencePenalty', 'warn'],
    ['several choices', { sampling: { choices: 2 } }, '/sampling/choices', 'fatal'],
    ['a token limit below the minimum', { sampling: { maxTokens: 5 } }, '/sampling/maxTokens', 'warn'],
    ['a reasoning budget', { reasoning: { budgetTokens: 9000 } }, '/reasoning/budgetTokens', 'warn'],
    ['the audio modality', { output: { modalities: ['text', 'audio'] } }, '/output/modalities', 'warn'],
    [
      'a cache hint',
      { turns: [{ role: 'user', parts: [{ type: 'text', text: 'x', cache: {}, at: '/a' }] }] },
      '/a/cache_control',
      'note',
    ],
    [
      'a failed call',
      { turns: [{ role: 'user', parts: [{ type: 'tool-result', callId: 'c', isError: true, parts: [], at: '/a' }] }] },
      '/a/is_error',
      'note',
    ],
    [
      'audio in a tool result',
      {
        turns: [
          {
            role: 'user',
            parts: [
              {
                type: 'tool-result',
                callId: 'c',
                parts: [{ type: 'media', kind: 'audio', source: { type: 'base64', data: '' }, at: '/b' }],
              },
            ],
          },
        ],
      },
      '/b',
      'warn',
    ],
    [
      'video',
      {
        turns: [
          { role: 'user', parts: [{ type: 'media', kind: 'video', source: { type: 'url', url: 'x' }, at: '/v' }] },
        ],
      },
      '/v',
      'fatal',
    ],
    [
      'another provider’s file',
      {
        turns: [
          {
            role: 'user',
            parts: [
              {
                type: 'media',
                kind: 'document',
                source: { type: 'file', seal: { issuer: 'messages', data: 'f' } },
                at: '/f',
              },
            ],
          },
        ],
      },
      '/f',
      'fatal',
    ],
    [
      'a block of another format',
      {
        turns: [
          {
            role: 'assistant',
            parts: [{ type: 'native', format: 'messages', value: { type: 'server_tool_use' }, at: '/n' }],
          },
        ],
      },
      '/n',
      'warn',
    ],
    [
      'a tool of another format',
      { tools: { list: [{ type: 'native', format: 'messages', value: { type: 'bash' }, at: '/t' }] } },
      '/t',
      'warn',
    ],
    ['a user id that is too long', { user: { id: 'u'.repeat(65) } }, '/user/id', 'note'],
    [
      'a message without any part that can be encoded',
      { turns: [{ role: 'user', parts: [{ type: 'native', format: 'chat', value: {} }], at: '/m' }] },
      '/m',
      'fatal',
    ],
    ['the name of a speaker', { turns: [{ role: 'user', name: 'ann', parts: [], at: '/m' }] }, '/m/name', 'warn'],
  ])('cannot hold %s, which is reported', (_name, request, path, severity) => {
    expect(encode(request).losses.map((loss) => [loss.path, loss.severity])).toContainEqual([path, severity])
  })

  test('keeps tool results in place, with the type of their call', () => {
    const { body } = encode({
      turns: [
        { role: 'assistant', parts: [{ type: 'tool-call', id: 'c', name: 'g', input: 'x', custom: true }] },
        {
          role: 'user',
          parts: [
            { type: 'tool-result', callId: 'c', parts: [{ type: 'text', text: 'r' }] },
            { type: 'text', text: 'and' },
          ],
        },
      ],
    })
    expect(body.input).toEqual([
      { type: 'custom_tool_call', call_id: 'c', name: 'g', input: 'x' },
      { type: 'custom_tool_call_output', call_id: 'c', output: 'r' },
      { type: 'message', role: 'user', content: 'and' },
    ])
  })

  test('names an unnamed document, and sends a text document as text', () => {
    const document = { type: 'media', kind: 'document', at: '/d' } as const
    const { body, losses } = encode({
      turns: [
        {
          role: 'user',
          parts: [
            { ...document, source: { type: 'base64', data: 'QQ==' }, mediaType: 'application/pdf' },
            { ...document, source: { type: 'text', text: 'plain' }, name: 'a.txt' },
          ],
        },
      ],
    })
    expect(body.input).toMatchObject([
      {
        content: [
          { type: 'input_file', filename: 'document.pdf', file_data: 'data:application/pdf;base64,QQ==' },
          { type: 'input_text', text: 'a.txt\n\nplain' },
        ],
      },
    ])
    expect(losses.map(({ severity }) => severity)).toEqual(['note', 'note'])
  })
})
