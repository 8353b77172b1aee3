import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import { testContext } from '../chat/context.test-support.ts'
import type { ModelRequest, Turn } from '../ir.ts'
import { geminiCodec } from './codec.ts'

/** Encodes a request that a client wrote in another format, and checks the reported losses. */
function encode(request: Partial<ModelRequest>, model = 'gemini-2.5-flash') {
  const context = { ...testContext(), target: { model, quirks: {} } }
  const wire = geminiCodec.encodeRequest({ model: 'x', turns: [], stream: false, ...request }, context)
  return { wire, losses: context.losses.map(({ path, kind, severity }) => `${severity} ${kind} ${path}`) }
}

describe('the encoder of fields from other formats', () => {
  test.each<[string, Partial<ModelRequest>, JsonObject, string[], string?]>([
    [
      'neither model nor stream, which stand in the URL',
      { model: 'a', stream: true, output: { includeUsage: true } },
      {},
      [],
    ],
    ['a logit bias', { sampling: { logitBias: { '1': 2 } } }, {}, ['warn unsupported /sampling/logitBias']],
    [
      'a seed beyond 32 bits',
      { sampling: { seed: 2 ** 40 }, at: { 'sampling.seed': '/seed' } },
      {},
      ['warn unsupported /seed'],
    ],
    [
      'too many stop sequences',
      { sampling: { stop: ['1', '2', '3', '4', '5', '6'] } },
      { generationConfig: { stopSequences: ['1', '2', '3', '4', '5'] } },
      ['warn clamped /sampling/stop'],
    ],
    ['serial tool calls', { tools: { list: [], parallel: false } }, {}, ['warn unsupported /tools/parallel']],
    ['parallel tool calls', { tools: { list: [], parallel: true } }, {}, []],
    [
      'allowed tools in auto mode',
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
      'a custom tool',
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
        at: {
          'output.format.name': '/response_format/json_schema/name',
          'output.format.description': '/response_format/json_schema/description',
        },
      },
      { generationConfig: { responseMimeType: 'application/json', responseSchema: { type: 'STRING' } } },
      [
        'note unsupported /response_format/json_schema/name',
        'note unsupported /response_format/json_schema/description',
      ],
    ],
    ['verbosity', { output: { verbosity: 'low' } }, {}, ['warn unsupported /output/verbosity']],
    ['a voice', { output: { audio: { voice: 'alloy' } } }, {}, ['warn unsupported /output/audio']],
    [
      'user ids and metadata',
      { user: { id: 'u', cacheKey: 'k', safetyId: 's' }, metadata: { a: 'b' } },
      {},
      ['user/id', 'user/cacheKey', 'user/safetyId', 'metadata'].map((path) => `note unsupported /${path}`),
    ],
    ['the service tier auto', { serviceTier: 'auto' }, {}, []],
    ['an unknown service tier', { serviceTier: 'scale' }, {}, ['warn unsupported /serviceTier']],
    ['a service tier that both formats know', { serviceTier: 'default' }, { serviceTier: 'standard' }, []],
    [
      'fields of the client’s format',
      { extra: { chat: { store: true, prediction: {} } } },
      {},
      ['note unsupported /store', 'warn unsupported /prediction'],
    ],
  ])('encodes %s and reports the losses', (_, request, fields, losses, model) => {
    expect(encode(request, model)).toEqual({ wire: { contents: [], ...fields }, losses })
  })

  test('reports each field of Google’s groups to other formats', async () => {
    const { chatCodec } = await import('../chat/codec.ts')
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

describe('the encoder of reasoning settings', () => {
  test.each<[string, ModelRequest['reasoning'], string, JsonObject | undefined, string[]]>([
    ['an effort', { effort: 'high' }, 'gemini-3-flash-preview', { thinkingLevel: 'high', includeThoughts: true }, []],
    [
      'an effort without shown thoughts',
      { effort: 'low', summary: 'none' },
      'gemini-3-pro',
      { thinkingLevel: 'low' },
      [],
    ],
    [
      'an effort that the model lacks',
      { effort: 'medium' },
      'gemini-3-pro-preview',
      { thinkingLevel: 'high', includeThoughts: true },
      ['note approximated effort'],
    ],
    [
      'an effort above the highest level',
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
      'a budget above the limit',
      { budgetTokens: 64000 },
      'gemini-2.5-pro',
      { thinkingBudget: 32768, includeThoughts: true },
      ['warn clamped budgetTokens'],
    ],
    [
      'effort and budget together',
      { effort: 'low', budgetTokens: 5000 },
      'gemini-3-flash',
      { thinkingLevel: 'low', includeThoughts: true },
      ['note unsupported budgetTokens'],
    ],
    [
      'effort and budget together for a model with budgets',
      { effort: 'low', budgetTokens: 5000 },
      'gemini-2.5-flash',
      { thinkingBudget: 5000, includeThoughts: true },
      ['note unsupported effort'],
    ],
    ['adaptive reasoning', { adaptive: true }, 'gemini-2.5-pro', { thinkingBudget: -1, includeThoughts: true }, []],
    ['reasoning off', { off: true }, 'gemini-2.5-flash', { thinkingBudget: 0 }, []],
    ['the effort none', { effort: 'none' }, 'gemini-2.5-flash', { thinkingBudget: 0 }, []],
    [
      'reasoning off for a model that always thinks',
      { off: true },
      'gemini-2.5-pro',
      { thinkingBudget: 128 },
      ['warn approximated off'],
    ],
    [
      'reasoning off for a model with levels',
      { off: true },
      'gemini-3-flash',
      { thinkingLevel: 'minimal' },
      ['warn approximated off'],
    ],
    [
      'an effort for a model that cannot think',
      { effort: 'high' },
      'gemini-2.0-flash',
      undefined,
      ['warn unsupported effort'],
    ],
    ['reasoning off for a model that cannot think', { off: true }, 'gemini-2.0-flash', undefined, []],
    [
      'a long summary',
      { effort: 'low', summary: 'detailed' },
      'gemini-3-pro',
      { thinkingLevel: 'low', includeThoughts: true },
      ['note approximated summary'],
    ],
  ])('encodes %s', (_, reasoning, model, thinkingConfig, losses) => {
    const { wire, losses: reportedLosses } = encode({ ...(reasoning === undefined ? {} : { reasoning }) }, model)
    expect(wire.generationConfig).toEqual(thinkingConfig === undefined ? undefined : { thinkingConfig })
    expect(reportedLosses).toEqual(losses.map((loss) => loss.replace(/ (\w+)$/, ' /reasoning/$1')))
  })
})

describe('the encoder of turns from other formats', () => {
  const textTurn = (role: Turn['role'], text: string): Turn => ({
    role,
    parts: [{ type: 'text', text }],
    at: `/${text}`,
  })

  test('puts leading system messages first, and marks later ones in place', () => {
    const { wire, losses } = encode({
      turns: [
        textTurn('system', 'a'),
        textTurn('developer', 'b'),
        textTurn('user', 'c'),
        textTurn('system', 'd'),
        textTurn('assistant', 'e'),
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

  test('sends a system prompt without other turns as a user content', () => {
    const { wire, losses } = encode({ turns: [textTurn('system', 'a')] })
    expect(wire).toEqual({ contents: [{ role: 'user', parts: [{ text: 'a' }] }] })
    expect(losses).toEqual(['warn moved /a'])
  })

  test('omits empty turns, and reports names and cache hints', () => {
    const { wire, losses } = encode({
      turns: [
        { role: 'assistant', parts: [], at: '/0' },
        { ...textTurn('user', 'x'), name: 'ann', cache: {} },
      ],
    })
    expect(wire.contents).toEqual([{ role: 'user', parts: [{ text: 'x' }] }])
    expect(losses).toEqual(['note unsupported /0', 'warn unsupported /x/name', 'note unsupported /x/cache_control'])
  })
})
