import { describe, expect, it, test } from 'vitest'
import { GatewayError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/json.ts'
import type { Part } from '../ir.ts'
import { contextOf } from './client.test-support.ts'
import { converseCodec as codec } from './index.ts'

/** A request with everything that the API has for clients. */
const everything: JsonObject = {
  system: [
    { text: 'Be brief.' },
    { cachePoint: { type: 'default', ttl: '1h' } },
    { guardContent: { text: { text: 'Policy.', qualifiers: ['guard_content'] } } },
    { cachePoint: { type: 'default' } },
  ],
  messages: [
    {
      role: 'user',
      content: [
        { text: 'Look.' },
        { image: { format: 'png', source: { bytes: 'iVBORw0KGgo=' } } },
        {
          image: {
            format: 'jpeg',
            source: { s3Location: { uri: 's3://bucket/cat.jpg', bucketOwner: '123456789012' } },
          },
        },
        {
          document: {
            format: 'pdf',
            name: 'Report',
            source: { bytes: 'JVBERi0=' },
            citations: { enabled: true },
            context: 'Annual.',
          },
        },
        { document: { format: 'txt', name: 'Notes', source: { text: 'Notes.' } } },
        { document: { name: 'Pieces', source: { content: [{ text: 'One.' }, { text: 'Two.' }] } } },
        { video: { format: 'three_gp', source: { bytes: 'AAAA' } } },
        { audio: { format: 'mp3', source: { bytes: 'AAAA' } } },
        { guardContent: { image: { format: 'png', source: { bytes: 'iVBORw0KGgo=' } } } },
        {
          searchResult: {
            source: 'https://example.com',
            title: 'Example',
            content: [{ text: 'Found.' }],
            citations: { enabled: true },
          },
        },
        { cachePoint: { type: 'default' } },
      ],
    },
    {
      role: 'assistant',
      content: [
        { reasoningContent: { reasoningText: { text: 'I think.', signature: 'c2lnbmVk' } } },
        { reasoningContent: { redactedContent: 'cmVkYWN0ZWQ=' } },
        {
          citationsContent: {
            content: [{ text: 'It says so.' }],
            citations: [{ title: 'Report', location: { documentPage: { documentIndex: 0, start: 1, end: 2 } } }],
          },
        },
        { toolUse: { toolUseId: 'tooluse_1', name: 'weather', input: { city: 'Oslo' } } },
        { toolUse: { toolUseId: 'tooluse_2', name: 'weather', input: {} } },
      ],
    },
    {
      role: 'user',
      content: [
        {
          toolResult: {
            toolUseId: 'tooluse_1',
            content: [{ json: { rain: true } }, { text: 'Wet.' }],
            status: 'error',
          },
        },
        {
          toolResult: {
            toolUseId: 'tooluse_2',
            content: [{ image: { format: 'png', source: { bytes: 'iVBORw0KGgo=' } } }],
          },
        },
      ],
    },
    {
      role: 'system',
      content: [{ text: 'Now in French.' }, { toolRemoval: { tool: { type: 'tool_reference', name: 'weather' } } }],
    },
    { role: 'assistant', content: [{ text: 'Oui.' }] },
    { role: 'user', content: [{ text: 'And now?' }] },
  ],
  inferenceConfig: { maxTokens: 1000, temperature: 0.5, topP: 0.9, stopSequences: ['END'], tomorrow: 1 },
  toolConfig: {
    tools: [
      {
        toolSpec: {
          name: 'weather',
          description: 'The weather.',
          inputSchema: { json: { type: 'object', properties: {} } },
          strict: true,
        },
      },
      { cachePoint: { type: 'default' } },
      { systemTool: { name: 'nova_grounding' } },
    ],
    toolChoice: { tool: { name: 'weather' } },
  },
  guardrailConfig: { guardrailIdentifier: 'g1', guardrailVersion: '1', trace: 'enabled' },
  additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 2000 }, top_k: 5, anthropic_beta: ['a'] },
  additionalModelResponseFieldPaths: ['/stop_sequence', '/other'],
  requestMetadata: { team: 'blue' },
  performanceConfig: { latency: 'optimized' },
  serviceTier: { type: 'reserved' },
  outputConfig: {
    effort: 'high',
    textFormat: { type: 'json_schema', structure: { jsonSchema: { schema: '{"type":"object"}', name: 'place' } } },
  },
}

describe('a request', () => {
  test('is accepted by both checks', () => {
    const body = { ...everything, model: 'm', stream: false }
    expect(codec.checkRequest(body)).toBe(body)
    expect(codec.validateRequest(body)).toBe(body)
  })

  test('that is rewritten for an upstream of its own format keeps every value', () => {
    const context = contextOf('converse')
    const decoded = codec.decodeRequest({ ...structuredClone(everything), model: 'm', stream: false }, context)
    const request = { ...decoded, at: { ...codec.fieldPointers, ...decoded.at } }
    expect(codec.encodeRequest(request, context)).toEqual(everything)
    expect(context.report.losses).toEqual([])
  })

  const decoded = codec.decodeRequest({ ...structuredClone(everything), model: 'm', stream: true }, contextOf())

  test('decodes its settings', () => {
    const { sampling, reasoning, output, metadata, serviceTier, extra, at, stream } = decoded
    expect({ sampling, reasoning, output, metadata, serviceTier, stream }).toEqual({
      sampling: { maxTokens: 1000, temperature: 0.5, topP: 0.9, stop: ['END'], topK: 5 },
      reasoning: { budgetTokens: 2000, effort: 'high' },
      output: { format: { type: 'json', schema: { type: 'object' }, strict: true, name: 'place' } },
      metadata: { team: 'blue' },
      serviceTier: 'reserved',
      stream: true,
    })
    expect(at).toEqual({
      'sampling.topK': '/additionalModelRequestFields/top_k',
      'reasoning.effort': '/outputConfig/effort',
    })
    expect(extra?.converse).toEqual({
      guardrailConfig: everything.guardrailConfig,
      performanceConfig: everything.performanceConfig,
      inferenceConfig: { tomorrow: 1 },
      additionalModelRequestFields: { anthropic_beta: ['a'] },
      additionalModelResponseFieldPaths: ['/other'],
    })
  })

  test('decodes its tools, with the cache point of the tool in front of it', () => {
    expect(decoded.tools).toEqual({
      list: [
        {
          type: 'function',
          name: 'weather',
          description: 'The weather.',
          schema: { type: 'object', properties: {} },
          strict: true,
          at: '/toolConfig/tools/0',
          cache: { at: '/toolConfig/tools/1/cachePoint' },
        },
        {
          type: 'native',
          format: 'converse',
          value: { systemTool: { name: 'nova_grounding' } },
          at: '/toolConfig/tools/2',
        },
      ],
      choice: { name: 'weather' },
    })
  })

  test('decodes content to parts', () => {
    const kindsOf = (parts: readonly Part[] = []): string[] =>
      parts.map((part) => (part.type === 'media' ? `${part.kind} ${part.source.type}` : part.type))
    const [system, asked, answered, results, changed] = decoded.turns
    expect(system?.parts).toMatchObject([
      { text: 'Be brief.', cache: { ttl: '1h', at: '/system/1/cachePoint' } },
      { text: 'Policy.', cache: {} },
    ])
    expect(kindsOf(asked?.parts)).toEqual([
      'text',
      'image base64',
      'image url',
      'document base64',
      'document text',
      'document text',
      'video base64',
      'audio base64',
      'image base64',
      'document text',
    ])
    expect(asked?.parts.at(-1)).toMatchObject({ name: 'Example', source: { text: 'Found.' }, cache: {} })
    expect(answered?.parts).toMatchObject([
      { type: 'reasoning', text: 'I think.', seal: { issuer: 'converse', data: 'c2lnbmVk' } },
      { type: 'reasoning', redacted: true, seal: { issuer: 'converse', data: 'cmVkYWN0ZWQ=' } },
      { type: 'text', text: 'It says so.', citations: [{ title: 'Report' }] },
      { type: 'tool-call', id: 'tooluse_1', input: '{"city":"Oslo"}' },
      { type: 'tool-call', id: 'tooluse_2', input: '{}' },
    ])
    expect(results?.parts).toMatchObject([
      { callId: 'tooluse_1', isError: true, parts: [{ text: '{"rain":true}' }, { text: 'Wet.' }] },
      { callId: 'tooluse_2', parts: [{ type: 'media', kind: 'image' }] },
    ])
    expect(changed).toMatchObject({
      role: 'system',
      changes: [{ removedTools: ['weather'] }],
      parts: [{ text: 'Now in French.' }],
    })
  })

  it.each([
    [{ reasoning_effort: 'low' }, { effort: 'low' }, '/additionalModelRequestFields/reasoning_effort'],
    [{ reasoning_config: 'high' }, { effort: 'high' }, '/additionalModelRequestFields/reasoning_config'],
    [{ reasoning_config: { type: 'enabled', budget_tokens: 2000 } }, { budgetTokens: 2000 }, undefined],
    [
      { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'medium' } },
      { effort: 'medium' },
      '/additionalModelRequestFields/reasoningConfig/maxReasoningEffort',
    ],
    [{ reasoningConfig: { type: 'disabled' } }, { off: true }, undefined],
    [
      { thinking: { type: 'adaptive' }, output_config: { effort: 'max' } },
      { adaptive: true, effort: 'max' },
      '/additionalModelRequestFields/output_config/effort',
    ],
    [{ reasoning_config: { type: 'tomorrow' } }, undefined, undefined],
  ])('decodes the reasoning of %j', (additionalModelRequestFields, reasoning, place) => {
    const body = { model: 'm', stream: false, messages: [], additionalModelRequestFields } as unknown as JsonObject
    const request = codec.decodeRequest(body, contextOf())
    expect(request.reasoning).toEqual(reasoning)
    expect(request.at?.['reasoning.effort']).toBe(place)
    expect(request.extra?.converse === undefined).toBe(reasoning !== undefined)
  })
})

describe('an invalid request', () => {
  const ask = (more: JsonObject): JsonObject => ({
    model: 'm',
    stream: false,
    messages: [{ role: 'user', content: [{ text: 'Hello.' }] }],
    ...more,
  })
  it.each([
    [
      ask({ inferenceConfig: { temperature: 2 } }),
      'inferenceConfig.temperature',
      "Value '2' at 'inferenceConfig.temperature' failed to satisfy constraint: Member must have value less than or equal to 1",
    ],
    [ask({ inferenceConfig: { maxTokens: 0 } }), 'inferenceConfig.maxTokens', 'greater than or equal to 1'],
    [ask({ messages: 'Hello.' }), 'messages', 'Member must be a list'],
    [ask({ messages: [{ content: [] }] }), 'messages.0.role', 'Member must not be null'],
    [ask({ messages: [{ role: 'user', content: 'Hello.' }] }), 'messages.0.content', 'Member must be a list'],
  ])('is refused for any upstream: %#', (body, param, message) => {
    const failure = failureOf(() => codec.checkRequest(body))
    expect(failure.info).toMatchObject({ kind: 'invalid_request', param })
    expect(failure.info.message).toContain(message)
    expect(failure.logMessage).not.toContain('Hello')
  })

  it.each([
    [ask({ messages: [{ role: 'tool', content: [] }] }), 'messages.0.role', 'enum value set'],
    [
      ask({ messages: [{ role: 'user', content: [{ text: 1 }] }] }),
      'messages.0.content.0.text',
      'Member must be a string',
    ],
    [
      ask({ messages: [{ role: 'user', content: [{ image: {} }] }] }),
      'messages.0.content.0.image.source',
      'Member must not be null',
    ],
    [
      ask({ messages: [{ role: 'user', content: [{ toolResult: { toolUseId: 'a' } }] }] }),
      'messages.0.content.0.toolResult.content',
      'null',
    ],
    [ask({ toolConfig: { tools: [{ toolSpec: { name: '' } }] } }), 'toolConfig.tools.0.toolSpec.name', 'length'],
    [ask({ messages: undefined as never }), 'messages', 'Member must not be null'],
    [ask({ system: 'Be brief.' }), 'system', 'Member must be a list'],
  ])('is refused before a translation: %#', (body, param, message) => {
    const failure = failureOf(() => codec.validateRequest(body))
    expect(failure.info).toMatchObject({ kind: 'invalid_request', param })
    expect(failure.info.message).toContain(message)
    expect(() => codec.checkRequest(body)).not.toThrow(/toolSpec|image|toolResult/)
  })
})

function failureOf(run: () => unknown): GatewayError {
  try {
    run()
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error('it was accepted')
}

describe('a token count', () => {
  const { count } = codec
  const body: JsonObject = {
    model: 'm',
    stream: false,
    input: { converse: { messages: [{ role: 'user', content: [{ text: 'Hi' }] }] } },
  }

  test('wraps and unwraps a request', () => {
    expect(count?.checkRequest(body)).toBe(body)
    expect(count?.validateRequest(body)).toBe(body)
    expect(count?.toGeneration(body)).toEqual({
      body: { model: 'm', stream: false, messages: [{ role: 'user', content: [{ text: 'Hi' }] }] },
      at: '/input/converse',
    })
    expect(count?.fromGeneration({ ...everything }, 'm')).toEqual({
      input: {
        converse: {
          messages: everything.messages,
          system: everything.system,
          toolConfig: everything.toolConfig,
          additionalModelRequestFields: everything.additionalModelRequestFields,
        },
      },
    })
    expect(count?.encode({ tokens: 7 })).toEqual({ inputTokens: 7 })
    expect(count?.decode({ inputTokens: 7 })).toEqual({ tokens: 7 })
    expect(count?.decode({})).toBeUndefined()
  })

  it.each([
    [{ model: 'm' }, 'input'],
    [{ model: 'm', input: { converse: { messages: [{ role: 'user' }] } } }, 'input.converse.messages.0.content'],
  ])('of %j is refused', (invalid, param) => {
    expect(failureOf(() => count?.validateRequest(invalid)).info.param).toBe(param)
  })
})
