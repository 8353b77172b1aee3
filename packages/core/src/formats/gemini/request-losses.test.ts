import { describe, expect, test } from 'vitest'
import { testContext } from '../chat/context.test-support.ts'
import type { JsonObject, ModelRequest, Part, Turn } from '../ir.ts'
import { geminiCodec } from './index.ts'

/** A request that came from another format: what generateContent makes of it, and what it says it could not. */
function encode(request: Partial<ModelRequest>, model = 'gemini-2.5-flash') {
  const context = { ...testContext(), target: { model, quirks: {} } }
  const wire = geminiCodec.encodeRequest({ model: 'x', turns: [], stream: false, ...request }, context)
  return { wire, losses: context.losses.map(({ path, kind, severity }) => `${severity} ${kind} ${path}`) }
}
const ask = (role: Turn['role'], parts: Part[], model?: string) => {
  const { wire, losses } = encode({ turns: [{ role, parts, at: '/t' }] }, model)
  return { contents: wire.contents, losses }
}

describe('fields of a foreign request', () => {
  test.each<[string, Partial<ModelRequest>, JsonObject, string[], string?]>([
    ['model and stream stand in the URL', { model: 'a', stream: true, output: { includeUsage: true } }, {}, []],
    ['a bias', { sampling: { logitBias: { '1': 2 } } }, {}, ['warn unsupported /sampling/logitBias']],
    [
      'a seed beyond 32 bits',
      { sampling: { seed: 2 ** 40 }, at: { 'sampling.seed': '/seed' } },
      {},
      ['warn unsupported /seed'],
    ],
    [
      'many stop sequences',
      { sampling: { stop: ['1', '2', '3', '4', '5', '6'] } },
      { generationConfig: { stopSequences: ['1', '2', '3', '4', '5'] } },
      ['warn clamped /sampling/stop'],
    ],
    ['one call at a time', { tools: { list: [], parallel: false } }, {}, ['warn unsupported /tools/parallel']],
    ['calls in parallel', { tools: { list: [], parallel: true } }, {}, []],
    [
      'allowed tools that need not be called',
      { tools: { list: [{ type: 'function', name: 'f' }], choice: { allowed: ['f'], mode: 'auto' } } },
      {
        tools: [{ functionDeclarations: [{ name: 'f' }] }],
        toolConfig: { functionCallingConfig: { mode: 'VALIDATED', allowedFunctionNames: ['f'] } },
      },
      ['note approximated /tools/choice'],
    ],
    [
      'a forced tool',
      { tools: { list: [{ type: 'function', name: 'f', strict: true, at: '/tools/0' }], choice: { name: 'f' } } },
      {
        tools: [{ functionDeclarations: [{ name: 'f' }] }],
        toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
      },
      ['note unsupported /tools/0/strict'],
    ],
    [
      'tools of another format',
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
      'a free-text tool',
      {
        tools: { list: [{ type: 'custom', name: 'c', grammar: { syntax: 'lark', definition: 'x' }, at: '/tools/0' }] },
      },
      {
        tools: [
          {
            functionDeclarations: [
              {
                name: 'c',
                parameters: {
                  type: 'OBJECT',
                  properties: {
                    input: {
                      type: 'STRING',
                      description: 'The whole input, as raw text that matches this grammar (lark):\nx',
                    },
                  },
                  required: ['input'],
                },
              },
            ],
          },
        ],
      },
      ['warn approximated /tools/0'],
    ],
    [
      'a named schema',
      {
        output: { format: { type: 'json', name: 'n', description: 'd', strict: true, schema: { type: 'string' } } },
        at: { 'output.format': '/response_format' },
      },
      { generationConfig: { responseMimeType: 'application/json', responseSchema: { type: 'STRING' } } },
      ['note unsupported /response_format/name', 'note unsupported /response_format/description'],
    ],
    ['verbosity', { output: { verbosity: 'low' } }, {}, ['warn unsupported /output/verbosity']],
    ['a voice', { output: { audio: { voice: 'alloy' } } }, {}, ['warn unsupported /output/audio']],
    [
      'who asks',
      { user: { id: 'u', cacheKey: 'k', safetyId: 's' }, metadata: { a: 'b' } },
      {},
      ['user/id', 'user/cacheKey', 'user/safetyId', 'metadata'].map((path) => `note unsupported /${path}`),
    ],
    ['the default tier', { serviceTier: 'auto' }, {}, []],
    ['a tier of its own', { serviceTier: 'scale' }, {}, ['warn unsupported /serviceTier']],
    ['a tier of both', { serviceTier: 'default' }, { serviceTier: 'standard' }, []],
    [
      'fields of its own',
      { extra: { chat: { store: true, prediction: {} } } },
      {},
      ['note unsupported /store', 'warn unsupported /prediction'],
    ],
  ])('%s', (_, request, fields, losses, model) => {
    expect(encode(request, model)).toEqual({ wire: { contents: [], ...fields }, losses })
  })

  test('groups of Google’s are named field by field to others', async () => {
    const { chatCodec } = await import('../chat/index.ts')
    const context = testContext()
    const request = geminiCodec.decodeRequest(
      {
        contents: [],
        generationConfig: { speechConfig: {}, thinkingConfig: { newField: 1 } },
        toolConfig: { functionCallingConfig: { mode: 'VALIDATED' }, retrievalConfig: {} },
        safetySettings: [],
      },
      context,
    )
    chatCodec.encodeRequest(request, context)
    const lost = context.losses.filter(({ severity }) => severity === 'warn').map(({ path }) => path)
    expect(lost.sort()).toEqual([
      '/generationConfig/speechConfig',
      '/generationConfig/thinkingConfig/newField',
      '/safetySettings',
      '/toolConfig/functionCallingConfig/mode',
      '/toolConfig/retrievalConfig',
    ])
  })
})

describe('a wish for reasoning', () => {
  test.each<[string, ModelRequest['reasoning'], string, JsonObject | undefined, string[]]>([
    ['an effort', { effort: 'high' }, 'gemini-3-flash-preview', { thinkingLevel: 'high', includeThoughts: true }, []],
    ['an effort without thoughts', { effort: 'low', summary: 'none' }, 'gemini-3-pro', { thinkingLevel: 'low' }, []],
    [
      'an effort between',
      { effort: 'medium' },
      'gemini-3-pro-preview',
      { thinkingLevel: 'high', includeThoughts: true },
      ['note approximated effort'],
    ],
    [
      'the most',
      { effort: 'max' },
      'gemini-3.1-pro',
      { thinkingLevel: 'high', includeThoughts: true },
      ['note approximated effort'],
    ],
    [
      'an effort as a budget',
      { effort: 'medium' },
      'gemini-2.5-flash',
      { thinkingBudget: 8192, includeThoughts: true },
      ['note approximated effort'],
    ],
    ['a budget', { budgetTokens: 5000 }, 'gemini-3-flash', { thinkingBudget: 5000, includeThoughts: true }, []],
    [
      'too great a budget',
      { budgetTokens: 64000 },
      'gemini-2.5-pro',
      { thinkingBudget: 32768, includeThoughts: true },
      ['warn clamped budgetTokens'],
    ],
    [
      'both',
      { effort: 'low', budgetTokens: 5000 },
      'gemini-3-flash',
      { thinkingLevel: 'low', includeThoughts: true },
      ['note unsupported budgetTokens'],
    ],
    [
      'both, on a model of budgets',
      { effort: 'low', budgetTokens: 5000 },
      'gemini-2.5-flash',
      { thinkingBudget: 5000, includeThoughts: true },
      ['note unsupported effort'],
    ],
    ['as it sees fit', { adaptive: true }, 'gemini-2.5-pro', { thinkingBudget: -1, includeThoughts: true }, []],
    ['none', { off: true }, 'gemini-2.5-flash', { thinkingBudget: 0 }, []],
    ['none, by effort', { effort: 'none' }, 'gemini-2.5-flash', { thinkingBudget: 0 }, []],
    [
      'none of one that always thinks',
      { off: true },
      'gemini-2.5-pro',
      { thinkingBudget: 128 },
      ['warn approximated off'],
    ],
    ['none of a newer one', { off: true }, 'gemini-3-flash', { thinkingLevel: 'minimal' }, ['warn approximated off']],
    ['any of one that cannot', { effort: 'high' }, 'gemini-2.0-flash', undefined, ['warn unsupported effort']],
    ['none of one that cannot', { off: true }, 'gemini-2.0-flash', undefined, []],
    [
      'a long summary',
      { effort: 'low', summary: 'detailed' },
      'gemini-3-pro',
      { thinkingLevel: 'low', includeThoughts: true },
      ['note approximated summary'],
    ],
  ])('%s', (_, reasoning, model, thinkingConfig, losses) => {
    const { wire, losses: told } = encode({ ...(reasoning === undefined ? {} : { reasoning }) }, model)
    expect(wire.generationConfig).toEqual(thinkingConfig === undefined ? undefined : { thinkingConfig })
    expect(told).toEqual(losses.map((loss) => loss.replace(/ (\w+)$/, ' /reasoning/$1')))
  })
})

describe('turns of a foreign request', () => {
  const said = (role: Turn['role'], text: string): Turn => ({ role, parts: [{ type: 'text', text }], at: `/${text}` })

  test('instructions come first, or stand marked where they were', () => {
    const { wire, losses } = encode({
      turns: [
        said('system', 'a'),
        said('developer', 'b'),
        said('user', 'c'),
        said('system', 'd'),
        said('assistant', 'e'),
      ],
    })
    expect(wire).toEqual({
      systemInstruction: { parts: [{ text: 'a' }, { text: 'b' }] },
      contents: [
        { role: 'user', parts: [{ text: 'c' }, { text: '<system>\nd\n</system>' }] },
        { role: 'model', parts: [{ text: 'e' }] },
      ],
    })
    expect(losses).toEqual(['warn moved /d'])
  })

  test('an instruction alone is sent as the user’s', () => {
    const { wire, losses } = encode({ turns: [said('system', 'a')] })
    expect(wire).toEqual({ contents: [{ role: 'user', parts: [{ text: 'a' }] }] })
    expect(losses).toEqual(['warn moved /a'])
  })

  test('empty turns are left out, names and cache hints reported', () => {
    const { wire, losses } = encode({
      turns: [
        { role: 'assistant', parts: [], at: '/0' },
        { ...said('user', 'x'), name: 'ann', cache: {} },
      ],
    })
    expect(wire.contents).toEqual([{ role: 'user', parts: [{ text: 'x' }] }])
    expect(losses).toEqual(['note unsupported /0', 'warn unsupported /x/name', 'note unsupported /x/cache_control'])
  })
})

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

describe('parts of a foreign request', () => {
  test.each<[string, Turn['role'], Part[], JsonObject[], string[]]>([
    [
      'a named document',
      'user',
      [pdf],
      [{ inlineData: { mimeType: 'application/pdf', data: 'AA' } }],
      ['note unsupported /p/name'],
    ],
    [
      'a document as text',
      'user',
      [{ ...png, kind: 'document', source: { type: 'text', text: 'é' } }],
      [{ inlineData: { mimeType: 'text/plain', data: 'w6k=' } }],
      [],
    ],
    [
      'an image by address',
      'user',
      [{ type: 'media', kind: 'image', source: { type: 'url', url: 'https://a/b.png?x' }, detail: 'low', at: '/p' }],
      [{ fileData: { fileUri: 'https://a/b.png?x', mimeType: 'image/png' } }],
      ['note unsupported /p/detail', 'note approximated /p'],
    ],
    [
      'an image of no type',
      'user',
      [{ type: 'media', kind: 'image', source: { type: 'base64', data: 'AA' }, at: '/p' }],
      [wirePng],
      ['warn approximated /p'],
    ],
    [
      'citations',
      'assistant',
      [{ type: 'text', text: 'x', citations: [{ url: 'u' }], at: '/p' }],
      [{ text: 'x' }],
      ['note unsupported /p/citations'],
    ],
    ['a refusal', 'assistant', [{ type: 'refusal', text: 'no', at: '/p' }], [{ text: 'no' }], ['note approximated /p']],
    [
      'reasoning that nobody sealed',
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
      'a call of free text',
      'assistant',
      [call('a', { custom: true, input: 'not json' })],
      [{ functionCall: { id: 'a', name: 'f', args: { input: 'not json' } } }],
      [],
    ],
    [
      'a call that is no JSON',
      'assistant',
      [call('a', { input: '{"a":' })],
      [{ functionCall: { id: 'a', name: 'f', args: { invalid_json: '{"a":' } } }],
      ['warn approximated /a'],
    ],
    [
      'a call with a long number',
      'assistant',
      [call('a', { input: '{"n":12345678901234567890}' })],
      [{ functionCall: { id: 'a', name: 'f', args: { n: 12345678901234567000 } } }],
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
      'a result with a long number',
      'user',
      [
        {
          type: 'tool-result',
          callId: 'a',
          name: 'f',
          parts: [{ type: 'text', text: '{"n":12345678901234567890}' }],
          at: '/p',
        },
      ],
      [{ functionResponse: { id: 'a', name: 'f', response: { output: '{"n":12345678901234567890}' } } }],
      [],
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
  ])('%s', (_, role, parts, wire, losses) => {
    expect(ask(role, parts)).toEqual({
      contents: [{ role: role === 'assistant' ? 'model' : 'user', parts: wire }],
      losses,
    })
  })

  test.each<[string, Part, string]>([
    ['a block', { type: 'native', format: 'messages', value: { type: 'server_tool_use' }, at: '/p' }, 'warn'],
    ["another provider's file", { ...png, source: { type: 'file', seal: { issuer: 'messages', data: 'f' } } }, 'fatal'],
    ['data that is no base64', { ...png, source: { type: 'url', url: 'data:image/svg+xml,<svg/>' } }, 'fatal'],
  ])('%s is left out and reported', (_, part, severity) => {
    expect(ask('assistant', [part, { type: 'text', text: 'x' }])).toEqual({
      contents: [{ role: 'model', parts: [{ text: 'x' }] }],
      losses: [`${severity} unsupported /p`],
    })
  })

  test('a newer model takes media within a response', () => {
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

  test('a response is named after the call of its id', () => {
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

  test('calls of foreign models are vouched for where the model insists on signatures', () => {
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
