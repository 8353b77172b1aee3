// Isolated: names each schema after the format that uses it first.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import { modelOperations } from '../../operations/model-operations.ts'
import { codecs } from '../codecs.ts'
import { compare, type Named } from './body-schema.test-support.ts'
import { present, readClientRequests, readRecorded } from './recorded.test-support.ts'
import { bodySchemas } from './validate.ts'

const samples: readonly Json[] = [
  {
    model: 'm',
    temperature: 1,
    n: 2,
    stream_options: { include_usage: true },
    stop: ['a', 'b'],
    max_tokens: 5,
    logit_bias: { 5: -100 },
    reasoning_effort: 'low',
    tools: [
      { type: 'function', function: { name: 'f', parameters: { type: 'object' }, strict: true } },
      { type: 'custom', custom: { name: 'g' } },
    ],
    tool_choice: { type: 'function', function: { name: 'f' } },
    response_format: { type: 'json_object' },
    messages: [
      { role: 'system', content: 'a' },
      {
        role: 'user',
        name: 'b',
        content: [
          { type: 'text', text: 'c' },
          { type: 'image_url', image_url: { url: 'https://x.test' } },
          { type: 'input_audio', input_audio: { data: '', format: 'wav' } },
          { type: 'file', file: { file_id: 'd' } },
          { type: 'new', new: 1 },
        ],
      },
      { role: 'assistant', tool_calls: [{ id: 'e', type: 'function', function: { name: 'f', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'e', content: [{ type: 'text', text: 'g' }] },
      { role: 'function', name: 'f', content: null },
    ],
  },
  {
    model: 'm',
    max_tokens: 5,
    system: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }],
    thinking: { type: 'enabled', budget_tokens: 1024 },
    tools: [
      { name: 'f', input_schema: {} },
      { type: 'bash_20250124', name: 'bash' },
    ],
    tool_choice: { type: 'tool', name: 'f' },
    metadata: { user_id: 'u' },
    stop_sequences: ['x'],
    top_k: 5,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: '' } },
          { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'b' }] } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'c', signature: 'd' },
          { type: 'redacted_thinking', data: 'e' },
          { type: 'tool_use', id: 'f', name: 'f', input: { g: [1] } },
        ],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'f', is_error: false, content: [{ type: 'text', text: 'h' }] }],
      },
      { role: 'system', output_config: { effort: 'low' } },
    ],
  },
  {
    model: 'm',
    instructions: 'a',
    max_output_tokens: 16,
    top_logprobs: 3,
    tools: [
      { type: 'function', name: 'f', parameters: {}, strict: false },
      { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'g' }] },
    ],
    text: { format: { type: 'json_schema', name: 's', schema: {}, strict: true }, verbosity: 'low' },
    reasoning: { effort: 'low', summary: 'auto' },
    include: ['reasoning.encrypted_content'],
    truncation: 'auto',
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'b' },
          { type: 'input_image', image_url: 'c' },
        ],
      },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'd' }] },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: '' }], encrypted_content: 'e' },
      { type: 'function_call', call_id: 'f', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'f', output: [{ type: 'input_text', text: 'g' }] },
      { id: 'h' },
    ],
  },
  {
    contents: [
      { role: 'user', parts: [{ text: 'a' }, { inlineData: { mimeType: 'image/png', data: '' } }] },
      { role: 'model', parts: [{ functionCall: { name: 'f', args: {} }, thoughtSignature: 'b' }] },
      { parts: [{ functionResponse: { name: 'f', response: { output: 1 } } }] },
    ],
    systemInstruction: { parts: [{ text: 'c' }] },
    tools: [{ functionDeclarations: [{ name: 'f', description: 'd' }] }, { googleSearch: {} }],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
    generationConfig: { temperature: '1', topK: 3, maxOutputTokens: 5, thinkingConfig: { thinkingBudget: -1 } },
    safetySettings: [{ category: 'x' }],
  },
  {
    model: 'm',
    system: [{ text: 'a' }, { cachePoint: { type: 'default', ttl: '1h' } }],
    messages: [
      {
        role: 'user',
        content: [
          { text: 'b' },
          { image: { format: 'png', source: { bytes: '' } } },
          {
            document: {
              format: 'pdf',
              name: 'c',
              source: { s3Location: { uri: 's3://d' } },
              citations: { enabled: true },
            },
          },
          { guardContent: { text: { text: 'e', qualifiers: ['query'] } } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { reasoningContent: { reasoningText: { text: 'f', signature: 'g' } } },
          { toolUse: { toolUseId: 'h', name: 'f', input: {} } },
        ],
      },
      { role: 'user', content: [{ toolResult: { toolUseId: 'h', status: 'error', content: [{ json: {} }] } }] },
    ],
    inferenceConfig: { maxTokens: 5, temperature: 0.5, topP: 1, stopSequences: ['x'] },
    toolConfig: {
      tools: [{ toolSpec: { name: 'f', description: 'd', inputSchema: { json: {} }, strict: true } }],
      toolChoice: { tool: { name: 'f' } },
    },
    additionalModelRequestFields: { top_k: 5 },
    additionalModelResponseFieldPaths: ['/stop_sequence'],
    outputConfig: { textFormat: { type: 'json_schema', structure: { jsonSchema: { schema: '{}', name: 's' } } } },
    requestMetadata: { a: 'b' },
    serviceTier: { type: 'flex' },
    performanceConfig: { latency: 'optimized' },
    guardrailConfig: { guardrailIdentifier: 'i', guardrailVersion: '1', trace: 'enabled' },
  },
  { input: { converse: { messages: [{ role: 'user', content: [{ text: 'a' }] }] } } },
  { inputText: 'a', dimensions: 256, normalize: true, embeddingTypes: ['float'] },
  { texts: ['a'], input_type: 'search_query', truncate: 'NONE', embedding_types: ['float'] },
  { model: 'm', texts: ['a'], input_type: 'search_query', truncate: 'NONE', embedding_types: ['float'] },
  { input_audio_transcription: { model: 'm' } },
  { model: 'm', prompt: ['a', 'b'], best_of: 2, logprobs: 1, seed: 3 },
  { model: 'm', prompt: 'a', n: 1, partial_images: 2, images: [{ image_url: 'b' }], mask: { file_id: 'c' } },
  { model: 'm', prompt: 'a', image: [{ filename: 'b' }], mask: { filename: 'c' } },
  { image: { filename: 'a' }, size: 'b' },
  { model: 'm', input: [[1, 2], [3]], dimensions: 8, encoding_format: 'base64', user: null },
  { model: 'm', query: 'a', documents: ['b', { text: 'c' }], top_n: 1, return_documents: true, rank_fields: ['text'] },
  { model: 'm', query: 'a', documents: ['b'], max_tokens_per_doc: 5 },
  { model: 'm', input: 'a', voice: { id: 'b' }, speed: 1.5, file: { filename: 'c' }, languages: ['d'], stream: false },
  { session: { model: 'm' }, instances: [{ prompt: 'a' }], parameters: { sampleCount: 2 } },
]

/** All schemas that validate client bodies. */
const schemas: Named[] = []

/** Some validators run manual checks first and throw, so only a valid body reaches their last schema. */
function collect(name: string, validate: ((body: JsonObject) => unknown) | undefined): void {
  for (const body of [{}, ...samples])
    try {
      validate?.(body as JsonObject)
    } catch {}
  for (const schema of bodySchemas().slice(schemas.length)) schemas.push({ name: `${name} ${schemas.length}`, schema })
}

for (const { format, checkRequest, validateRequest, count } of codecs)
  for (const validate of [checkRequest, validateRequest, count?.checkRequest, count?.validateRequest])
    collect(format, validate)
for (const [name, load] of Object.entries(modelOperations)) {
  const operation = await load()
  for (const dialect of operation.dialects)
    for (const validate of [dialect.validate, dialect.form?.validate])
      collect(`${name} ${dialect.name}`, validate?.bind(dialect))
}

/** Keywords of the schemas, so that random values come close to valid bodies. */
const words = [...new Set(JSON.stringify(samples).match(/(?<=")\w+(?=")/g))]
const { value: made } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<Json>(null, true, false, '', 0, -1, 1, 1.5, 3, 2 ** 53, 1e300, ...words),
    fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<Json>,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...words, '__proto__', 'constructor'), tie('value'), {
      maxKeys: 5,
      noNullPrototype: true,
    }),
  ),
}))

/** Creates a deterministic generator of numbers below `bound`. */
function chance(seed: number) {
  let state = seed
  return (bound: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * bound)
  }
}

const replacements: readonly Json[] = [
  null,
  true,
  '',
  'no such word',
  0,
  -1,
  0.5,
  1e9,
  2 ** 53,
  [],
  [null],
  {},
  { type: 'text' },
]

/** Returns a copy with one random change: a removed or added field, another type, number or string. */
function mutated(body: Json, below: (bound: number) => number): Json {
  const copy = structuredClone(body)
  let at: Json = copy
  for (;;) {
    if (typeof at !== 'object' || at === null) return copy
    const inside = at as { [key: string]: Json }
    const keys = Object.keys(inside)
    const key = keys[below(keys.length)]
    const inner = key === undefined ? undefined : inside[key]
    if (key !== undefined && typeof inner === 'object' && inner !== null && below(4) > 0) {
      at = inner
      continue
    }
    const kind = below(5)
    if (key === undefined || kind === 0)
      Object.assign(at, Array.isArray(at) ? { [keys.length]: 'more' } : { more: { x: 1 } })
    else if (kind === 1 && Array.isArray(at)) at.splice(Number(key), 1)
    else if (kind === 1) delete inside[key]
    else if (kind === 2) Object.defineProperty(at, '__proto__', { value: { role: 'user' }, enumerable: true })
    else inside[key] = replacements[below(replacements.length)] ?? null
    return copy
  }
}

describe('the schemas of all formats and operations', () => {
  it('include every format and operation', () => {
    expect(schemas.length).toBeGreaterThanOrEqual(20)
    expect(new Set(schemas.map(({ name }) => name.split(' ')[0])).size).toBeGreaterThanOrEqual(14)
  })

  it('accept at least one sample each, and exactly the values without issues', () => {
    for (const one of schemas) {
      const { accepted, differing } = compare(samples, [one])
      expect(differing, one.name).toEqual([])
      expect(accepted, one.name).toBeGreaterThan(0)
    }
  })

  it('accept exactly the values without issues for changed samples', () => {
    const below = chance(1)
    const bodies = samples.flatMap((sample) => Array.from({ length: 60 }, () => mutated(sample, below)))
    const { differing, accepted, refused } = compare(bodies, schemas)
    expect(differing).toEqual([])
    expect(Math.min(accepted, refused)).toBeGreaterThan(1000)
  })

  it.each(schemas)('accept exactly the values without issues for random values: $name', ({ name, schema }) => {
    const own = samples.filter((sample) => schema.accepts(sample))
    fc.assert(
      fc.property(made, fc.constantFrom(...own), fc.nat(), (value, sample, seed) => {
        const placed = structuredClone(sample) as { [key: string]: Json }
        const keys = Object.keys(placed)
        placed[keys[seed % keys.length] ?? ''] = value
        expect(compare([value, placed, mutated(placed, chance(seed))], [{ name, schema }]).differing).toEqual([])
      }),
      { numRuns: 100 },
    )
  })
})

describe.skipIf(!present)('the schemas and recorded client bodies', () => {
  const indexed = [
    'anthropic-messages',
    'anthropic-count-tokens',
    'openai-chat',
    'openai-responses',
    'gemini',
    'completions',
  ]
  const recorded = [...indexed, 'embeddings', 'rerank', 'images', 'audio'].flatMap(readRecorded)
  const bodies = new Map<string, Json>()
  for (const { body } of [...readClientRequests(() => true), ...recorded.map(({ request }) => request)])
    if (isObject(body)) bodies.set(JSON.stringify(body), body)

  it('accept exactly the values without issues', () => {
    expect(bodies.size).toBeGreaterThan(500)
    const { differing, accepted, refused } = compare(bodies.values(), schemas)
    expect(differing).toEqual([])
    expect(Math.min(accepted, refused)).toBeGreaterThan(1000)
  })

  it('accept exactly the values without issues for changed bodies', () => {
    const below = chance(2)
    for (const body of bodies.values()) {
      const own = schemas.filter(({ schema }) => schema.accepts(body))
      const changed = Array.from({ length: 2 }, () => mutated(body, below))
      expect(compare(changed, own).differing).toEqual([])
    }
  })
})
