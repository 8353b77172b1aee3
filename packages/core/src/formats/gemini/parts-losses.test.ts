import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import { testContext } from '../chat/context.test-support.ts'
import type { ModelRequest, Part, Turn } from '../ir.ts'
import { geminiCodec } from './codec.ts'

/** Encodes the parts of a request that a client wrote in another format. */
function encode(request: Partial<ModelRequest>, model = 'gemini-2.5-flash') {
  const context = { ...testContext(), target: { model, quirks: {} } }
  const wire = geminiCodec.encodeRequest({ model: 'x', turns: [], stream: false, ...request }, context)
  return { wire, losses: context.losses.map(({ path, kind, severity }) => `${severity} ${kind} ${path}`) }
}
const ask = (role: Turn['role'], parts: Part[], model?: string) => {
  const before: Turn[] = role === 'assistant' ? [{ role: 'user', parts: [{ type: 'text', text: 'hi' }] }] : []
  const { wire, losses } = encode({ turns: [...before, { role, parts, at: '/t' }] }, model)
  return { contents: Array.isArray(wire.contents) ? wire.contents.slice(before.length) : undefined, losses }
}

const png: Part = {
  type: 'media',
  kind: 'image',
  source: { type: 'base64', data: 'AA' },
  mediaType: 'image/png',
  at: '/p',
}
const pdf: Part = { ...png, kind: 'document', mediaType: 'application/pdf', name: 'a.pdf' }
const wirePng = { inlineData: { mimeType: 'image/png', data: 'AA' } }
const call = (id: string, rest: Partial<Extract<Part, { type: 'tool-call' }>> = {}): Part => ({
  type: 'tool-call',
  id,
  name: 'f',
  input: '{}',
  at: `/${id}`,
  ...rest,
})

describe('the encoder of parts from other formats', () => {
  test.each<[string, Turn['role'], Part[], JsonObject[], string[]]>([
    [
      'a named document',
      'user',
      [pdf],
      [{ inlineData: { mimeType: 'application/pdf', data: 'AA' } }],
      ['note unsupported /p/name'],
    ],
    [
      'a text document',
      'user',
      [{ ...png, kind: 'document', source: { type: 'text', text: 'é' } }],
      [{ inlineData: { mimeType: 'text/plain', data: 'w6k=' } }],
      [],
    ],
    [
      'an image URL',
      'user',
      [{ type: 'media', kind: 'image', source: { type: 'url', url: 'https://a/b.png?x' }, detail: 'low', at: '/p' }],
      [{ fileData: { fileUri: 'https://a/b.png?x', mimeType: 'image/png' } }],
      ['note unsupported /p', 'note approximated /p'],
    ],
    [
      'an image without a media type',
      'user',
      [{ type: 'media', kind: 'image', source: { type: 'base64', data: 'AA' }, at: '/p' }],
      [wirePng],
      ['warn approximated /p'],
    ],
    [
      'a text with citations',
      'assistant',
      [{ type: 'text', text: 'x', citations: [{ url: 'u' }], at: '/p' }],
      [{ text: 'x' }],
      ['note unsupported /p/citations'],
    ],
    ['a refusal', 'assistant', [{ type: 'refusal', text: 'no', at: '/p' }], [{ text: 'no' }], ['note approximated /p']],
    [
      'reasoning without a seal',
      'assistant',
      [{ type: 'reasoning', text: 'hm', at: '/p' }],
      [{ text: 'hm', thought: true }],
      [],
    ],
    [
      'sealed reasoning',
      'assistant',
      [{ type: 'reasoning', text: 'hm', seal: { issuer: 'messages', data: 'S' }, at: '/p' }],
      [{ text: 'hm', thought: true }],
      ['note unsupported /p'],
    ],
    [
      'a sealed call',
      'assistant',
      [call('a', { seal: { issuer: 'responses', data: 'S' } })],
      [{ functionCall: { id: 'a', name: 'f', args: {} } }],
      ['note unsupported /a'],
    ],
    [
      'a call of a custom tool',
      'assistant',
      [call('a', { custom: true, input: 'not json' })],
      [{ functionCall: { id: 'a', name: 'f', args: { input: 'not json' } } }],
      [],
    ],
    [
      'a call whose input is not JSON',
      'assistant',
      [call('a', { input: '{"a":' })],
      [{ functionCall: { id: 'a', name: 'f', args: { invalid_json: '{"a":' } } }],
      ['warn approximated /a'],
    ],
    [
      'a result of several texts',
      'user',
      [
        {
          type: 'tool-result',
          callId: 'a',
          name: 'f',
          parts: [
            { type: 'text', text: 'x' },
            { type: 'text', text: 'y' },
          ],
          at: '/p',
        },
      ],
      [{ functionResponse: { id: 'a', name: 'f', response: { output: 'x\ny' } } }],
      ['note approximated /p'],
    ],
    [
      'a result with an image',
      'user',
      [{ type: 'tool-result', callId: 'a', name: 'f', parts: [png], at: '/r' }],
      [{ functionResponse: { id: 'a', name: 'f', response: { output: '' } } }, wirePng],
      ['warn moved /p'],
    ],
    [
      'a result of an unknown call',
      'user',
      [{ type: 'tool-result', callId: 'a', parts: [], isError: true, at: '/p' }],
      [{ functionResponse: { id: 'a', name: 'a', response: { error: '' } } }],
      ['warn approximated /p'],
    ],
  ])('encodes %s and reports its losses', (_, role, parts, wire, losses) => {
    expect(ask(role, parts)).toEqual({
      contents: [{ role: role === 'assistant' ? 'model' : 'user', parts: wire }],
      losses,
    })
  })

  test.each<[string, Part, string]>([
    [
      'a block of another format',
      { type: 'native', format: 'messages', value: { type: 'server_tool_use' }, at: '/p' },
      'warn',
    ],
    ["another provider's file", { ...png, source: { type: 'file', seal: { issuer: 'messages', data: 'f' } } }, 'fatal'],
    ['a data URL that is not base64', { ...png, source: { type: 'url', url: 'data:image/svg+xml,<svg/>' } }, 'fatal'],
  ])('omits %s and reports it', (_, part, severity) => {
    expect(ask('assistant', [part, { type: 'text', text: 'x' }])).toEqual({
      contents: [{ role: 'model', parts: [{ text: 'x' }] }],
      losses: [`${severity} unsupported /p`],
    })
  })

  test('puts media into a function response for models that accept them', () => {
    const { contents, losses } = ask(
      'user',
      [{ type: 'tool-result', callId: 'a', name: 'f', parts: [png], at: '/r' }],
      'gemini-3-flash',
    )
    expect(contents).toEqual([
      {
        role: 'user',
        parts: [{ functionResponse: { id: 'a', name: 'f', response: { output: '' }, parts: [wirePng] } }],
      },
    ])
    expect(losses).toEqual([])
  })

  test('names a function response after the call with its id', () => {
    const { wire } = encode({
      turns: [
        { role: 'assistant', parts: [call('a'), call('b', { name: 'g' })] },
        { role: 'user', parts: [{ type: 'tool-result', callId: 'b', parts: [] }] },
      ],
    })
    expect(wire.contents).toContainEqual({
      role: 'user',
      parts: [{ functionResponse: { id: 'b', name: 'g', response: { output: '' } } }],
    })
  })

  test('marks unsigned calls for models that require signatures', () => {
    const parts = [call('a'), call('b')]
    const word = { thoughtSignature: 'skip_thought_signature_validator' }
    const [first, second] = ['a', 'b'].map((id): JsonObject => ({ functionCall: { id, name: 'f', args: {} } }))
    expect(ask('assistant', parts, 'gemini-3-pro-preview')).toEqual({
      contents: [{ role: 'model', parts: [{ ...first, ...word }, second] }],
      losses: ['note approximated /a'],
    })
    expect(ask('assistant', parts, 'gemini-2.5-pro')).toEqual({
      contents: [{ role: 'model', parts: [first, second] }],
      losses: [],
    })
    const signed = [call('a', { seal: { issuer: 'gemini', data: 'S' } }), call('b')]
    expect(ask('assistant', signed, 'gemini-3-pro-preview').losses).toEqual([])
  })
})
