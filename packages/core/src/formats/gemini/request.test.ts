import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import { testContext } from '../chat/context.test-support.ts'
import type { ModelRequest } from '../ir.ts'
import { geminiCodec } from './codec.ts'

const decode = (body: JsonObject): ModelRequest => geminiCodec.decodeRequest(structuredClone(body), testContext())
function roundTrip(body: JsonObject, model = 'm') {
  const context = { ...testContext(), target: { model, quirks: {} } }
  const wire = geminiCodec.encodeRequest(geminiCodec.decodeRequest(structuredClone(body), context), context)
  return { wire, losses: context.losses.map(({ path, kind, severity }) => `${severity} ${kind} ${path}`) }
}
const ask = (...parts: JsonObject[]): JsonObject => ({ contents: [{ role: 'user', parts }] })
const text = { text: 'hi' }

const gSchema: JsonObject = {
  type: 'object',
  properties: { x: { $ref: '#/$defs/x' } },
  $defs: { x: { type: 'string' } },
  additionalProperties: false,
}

/** Every field that a client can send, in the form that a round trip preserves. */
const rich: JsonObject = {
  systemInstruction: { parts: [{ text: 'be brief' }, { text: 'be kind' }] },
  contents: [
    {
      role: 'user',
      parts: [
        { text: 'look' },
        { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
        { inlineData: { mimeType: 'audio/mpeg', data: 'BBBB', displayName: 'a.mp3' } },
        {
          fileData: { mimeType: 'video/mp4', fileUri: 'gs://bucket/a.mp4' },
          videoMetadata: { fps: 2, startOffset: '1s' },
        },
        { fileData: { fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/abc' } },
        {
          fileData: { mimeType: 'application/pdf', fileUri: 'https://example.com/a.pdf' },
          mediaResolution: { level: 'X' },
        },
      ],
    },
    {
      role: 'model',
      parts: [
        { text: 'hm', thought: true },
        { text: 'so', thought: true, thoughtSignature: 'S1' },
        { text: 'I will', thoughtSignature: 'S2' },
        { text: 'call' },
        { text: '', thoughtSignature: 'S3' },
        {
          functionCall: { id: 'a', name: 'f', args: { some_key: 1, nested: { snake_case: [1] } } },
          thoughtSignature: 'S4',
        },
        { functionCall: { name: 'f', args: {} } },
        { functionCall: { name: 'f' } },
        { inlineData: { mimeType: 'image/png', data: 'CCCC' }, thoughtSignature: 'S5' },
        { executableCode: { language: 'PYTHON', code: 'print(1)' }, thoughtSignature: 'S6' },
        { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } },
        { toolCall: { id: 't', toolType: 'GOOGLE_SEARCH_WEB', args: { my_query: 'x' } } },
      ],
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { id: 'a', name: 'f', response: { output: 'plain' } } },
        { functionResponse: { name: 'f', response: { error: 'no' }, scheduling: 'SILENT' } },
        {
          functionResponse: {
            name: 'f',
            response: { snake_key: { a: 1 } },
            parts: [{ inlineData: { mimeType: 'image/png', data: 'DDDD' } }],
          },
        },
        { text: 'go on' },
      ],
    },
  ],
  tools: [
    {
      functionDeclarations: [
        {
          name: 'f',
          description: 'does f',
          parameters: {
            type: 'OBJECT',
            properties: {
              some_key: { type: 'INTEGER', format: 'int32', minimum: 1 },
              kind: { type: 'STRING', enum: ['a', 'b'], nullable: true },
              list: { type: 'ARRAY', items: { type: 'STRING' }, minItems: 1 },
            },
            required: ['some_key'],
            propertyOrdering: ['some_key', 'kind'],
          },
          behavior: 'NON_BLOCKING',
          response: { type: 'OBJECT' },
        },
        {
          name: 'g',
          parametersJsonSchema: gSchema,
        },
        { name: 'h' },
      ],
    },
    { googleSearch: {} },
    { urlContext: {} },
    { codeExecution: {} },
  ],
  toolConfig: {
    functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f', 'g'], streamFunctionCallArguments: true },
    retrievalConfig: { languageCode: 'en' },
  },
  generationConfig: {
    temperature: 0.5,
    topP: 0.9,
    topK: 40,
    candidateCount: 2,
    maxOutputTokens: 99,
    stopSequences: ['a', 'b'],
    seed: 7,
    presencePenalty: 1,
    frequencyPenalty: -1,
    responseLogprobs: true,
    logprobs: 3,
    responseMimeType: 'application/json',
    responseSchema: { type: 'OBJECT', properties: { a: { type: 'STRING' } } },
    responseModalities: ['TEXT', 'IMAGE'],
    thinkingConfig: { includeThoughts: true, thinkingLevel: 'high', newField: 1 },
    speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
    imageConfig: { aspectRatio: '1:1' },
    mediaResolution: 'MEDIA_RESOLUTION_LOW',
  },
  safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
  cachedContent: 'cachedContents/x',
  labels: { team_name: 'a' },
  serviceTier: 'flex',
  store: false,
}

/** The same body in snake_case; user data keeps its keys. */
const data = new Set([
  'args',
  'response',
  'properties',
  '$defs',
  'labels',
  'speechConfig',
  'imageConfig',
  'videoMetadata',
  'toolCall',
  'retrievalConfig',
])
function snaked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snaked)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      data.has(key) ? inner : snaked(inner),
    ]),
  )
}

describe('a generateContent request', () => {
  test('survives a round trip through the IR, field by field', () => {
    const { wire, losses } = roundTrip(rich)
    expect(wire).toEqual(rich)
    expect(losses.filter((loss) => loss.startsWith('warn'))).toEqual([])
  })

  test('is decoded from snake_case too, only where the format defines the fields', () => {
    const body = snaked(rich) as JsonObject
    const declarations = (body.tools as JsonObject[])[0]?.function_declarations as JsonObject[]
    // A JSON Schema is user data: its keywords have one spelling.
    declarations[1] = { name: 'g', parameters_json_schema: gSchema }
    expect(roundTrip(body).wire).toEqual(rich)
    const { at } = decode(body)
    expect(at?.['sampling.maxTokens']).toBe('/generation_config/max_output_tokens')
    expect(at?.['tools.choice']).toBe('/tool_config/function_calling_config')
  })

  test.each(['constructor', '__proto__', 'toString'])('keeps the unknown service tier %s as a text', (serviceTier) => {
    expect(decode({ ...ask(text), serviceTier }).serviceTier).toBe(serviceTier)
  })

  test('keeps unknown fields whose names in camelCase are those of methods', () => {
    expect(decode({ ...ask(text), to_string: 1, has_own_property: 2 }).extra?.gemini).toEqual({
      toString: 1,
      hasOwnProperty: 2,
    })
  })

  test.each<[string, JsonObject, JsonObject]>([
    ['a text', { contents: 'hi' }, ask(text)],
    ['a list of texts', { contents: ['hi'] }, ask(text)],
    ['a single content', { contents: { parts: [text] } }, ask(text)],
    ['a single part', { contents: [{ role: 'user', parts: text }] }, ask(text)],
    ['bare parts', { contents: [text] }, ask(text)],
    ['neighbours of one role', { contents: [{ role: 'user', parts: [text] }, { parts: [text] }] }, ask(text, text)],
    ['the role function', { contents: [{ role: 'function', parts: [text] }] }, ask(text)],
    [
      'an instruction as text',
      { ...ask(text), systemInstruction: 'x' },
      { ...ask(text), systemInstruction: { parts: [{ text: 'x' }] } },
    ],
    [
      'an instruction with the role user',
      { ...ask(text), system_instruction: { role: 'user', parts: { text: 'x' } } },
      { ...ask(text), systemInstruction: { parts: [{ text: 'x' }] } },
    ],
    ['a single tool', { ...ask(text), tools: { googleSearch: {} } }, { ...ask(text), tools: [{ googleSearch: {} }] }],
    ['no tools', { ...ask(text), tools: [] }, ask(text)],
    ['an empty config', { ...ask(text), generationConfig: {} }, ask(text)],
    [
      'a level in upper case',
      { ...ask(text), generationConfig: { thinkingConfig: { thinkingLevel: 'LOW', includeThoughts: false } } },
      { ...ask(text), generationConfig: { thinkingConfig: { thinkingLevel: 'low' } } },
    ],
    [
      'an unspecified level',
      { ...ask(text), generationConfig: { thinkingConfig: { thinkingLevel: 'THINKING_LEVEL_UNSPECIFIED' } } },
      ask(text),
    ],
    ...([0, -1, 500].map((thinkingBudget) => [
      `a budget of ${thinkingBudget}`,
      { ...ask(text), generationConfig: { thinkingConfig: { thinkingBudget } } },
      { ...ask(text), generationConfig: { thinkingConfig: { thinkingBudget } } },
    ]) as [string, JsonObject, JsonObject][]),
    ...(['AUTO', 'NONE', 'ANY', 'VALIDATED'].map((mode) => [
      `the mode ${mode}`,
      {
        ...ask(text),
        tools: [{ googleSearch: {} }],
        toolConfig: { functionCallingConfig: { mode: mode.toLowerCase() } },
      },
      { ...ask(text), tools: [{ googleSearch: {} }], toolConfig: { functionCallingConfig: { mode } } },
    ]) as [string, JsonObject, JsonObject][]),
    [
      'an unknown mode',
      { ...ask(text), toolConfig: { functionCallingConfig: { mode: 'X' } } },
      { ...ask(text), toolConfig: { functionCallingConfig: { mode: 'X' } } },
    ],
    ['the model in the body', { ...ask(text), model: 'models/x', stream: true }, ask(text)],
    [
      'unknown fields anywhere',
      { ...ask({ text: 'hi', new: 1 }), other: [1] },
      { ...ask({ text: 'hi', new: 1 }), other: [1] },
    ],
  ])('is normalized: %s', (_, body, expected) => {
    const { wire, losses } = roundTrip(body)
    expect(wire).toEqual(expected)
    expect(losses.filter((loss) => loss.startsWith('warn'))).toEqual([])
  })
})

describe('the decoded request', () => {
  test('has the model and the stream flag that the URL named', () => {
    expect(decode({ ...ask(text), model: 'publishers/x/y', stream: true })).toMatchObject({
      model: 'publishers/x/y',
      stream: true,
    })
    expect(decode({ ...ask(text), model: 'models/x' }).model).toBe('x')
  })

  test.each<[string, JsonObject, Partial<ModelRequest>]>([
    ['effort', { thinkingConfig: { thinkingLevel: 'MINIMAL' } }, { reasoning: { effort: 'minimal', summary: 'none' } }],
    ['shown thoughts', { thinkingConfig: { includeThoughts: true } }, { reasoning: { summary: 'auto' } }],
    ['hidden thoughts', { thinkingConfig: { includeThoughts: false } }, {}],
    ['no thinking', { thinkingConfig: { thinkingBudget: 0 } }, { reasoning: { off: true, summary: 'none' } }],
    ['free thinking', { thinkingConfig: { thinkingBudget: -1 } }, { reasoning: { adaptive: true, summary: 'none' } }],
    ['a budget', { thinkingConfig: { thinkingBudget: 9 } }, { reasoning: { budgetTokens: 9, summary: 'none' } }],
    ['text', { responseMimeType: 'text/plain' }, { output: { format: { type: 'text' } } }],
    ['JSON', { responseMimeType: 'application/json' }, { output: { format: { type: 'json' } } }],
    [
      'a schema without a media type',
      { responseJsonSchema: { type: 'OBJECT', properties: { type: { type: 'STRING' } } } },
      {
        output: {
          format: { type: 'json', schema: { type: 'object', properties: { type: { type: 'string' } } }, strict: true },
        },
      },
    ],
    ['log probabilities', { responseLogprobs: true }, { output: { logprobs: 0 } }],
    ['modalities', { responseModalities: ['TEXT', 'Audio'] }, { output: { modalities: ['text', 'audio'] } }],
  ])('holds the generation setting: %s', (_, generationConfig, expected) => {
    const { reasoning, output, extra } = decode({ ...ask(text), generationConfig })
    expect({ reasoning, output, extra }).toEqual({
      reasoning: undefined,
      output: undefined,
      extra: undefined,
      ...expected,
    })
  })

  test('keeps the media type text/x.enum as a field of Google’s', () => {
    const generationConfig = { responseMimeType: 'text/x.enum', responseSchema: { type: 'STRING', enum: ['a'] } }
    expect(decode({ ...ask(text), generationConfig }).extra?.gemini).toEqual({ generationConfig })
    expect(roundTrip({ ...ask(text), generationConfig }).wire.generationConfig).toEqual(generationConfig)
  })
})
