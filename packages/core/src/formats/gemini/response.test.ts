import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import { run, testContext } from '../chat/context.test-support.ts'
import type { Choice, Finish, ModelEvent, ModelResponse, Part, Usage } from '../ir.ts'
import { foldEvents } from '../shared/fold.test-support.ts'
import { geminiCodec } from './codec.ts'

const stop: Finish = { reason: 'stop' }
const answer = (parts: Part[], rest: Partial<Choice> = {}): ModelResponse => ({
  id: 'r',
  model: 'm',
  created: 1,
  choices: [{ parts, finish: stop, ...rest }],
})
function encode(response: ModelResponse) {
  const context = testContext()
  const wire = geminiCodec.encodeResponse(response, context)
  const [candidate] = (wire.candidates ?? []) as JsonObject[]
  return { wire, candidate, losses: context.losses.map(({ path, kind, severity }) => `${severity} ${kind} ${path}`) }
}
const decode = (body: JsonObject): ModelResponse => geminiCodec.decodeResponse(body, testContext())
const candidates = (...list: JsonObject[]): JsonObject => ({ candidates: list, modelVersion: 'm', responseId: 'r' })
const content = (...parts: JsonObject[]): JsonObject => ({ content: { parts, role: 'model' }, finishReason: 'STOP' })

describe('the finish reason', () => {
  test.each<[string | number, Finish['reason']]>([
    ['STOP', 'stop'],
    [1, 'stop'],
    ['MAX_TOKENS', 'length'],
    [2, 'length'],
    ['SAFETY', 'content-filter'],
    ['RECITATION', 'content-filter'],
    ['BLOCKLIST', 'content-filter'],
    ['PROHIBITED_CONTENT', 'content-filter'],
    ['SPII', 'content-filter'],
    ['IMAGE_SAFETY', 'content-filter'],
    ['IMAGE_PROHIBITED_CONTENT', 'content-filter'],
    ['IMAGE_RECITATION', 'content-filter'],
    ['IMAGE_OTHER', 'content-filter'],
    ['MODEL_ARMOR', 'content-filter'],
    ['ESCALATION', 'content-filter'],
    ['MALFORMED_FUNCTION_CALL', 'error'],
    ['MALFORMED_RESPONSE', 'error'],
    ['UNEXPECTED_TOOL_CALL', 'error'],
    ['TOO_MANY_TOOL_CALLS', 'error'],
    ['MISSING_THOUGHT_SIGNATURE', 'error'],
    ['LANGUAGE', 'other'],
    ['OTHER', 'other'],
    ['NO_IMAGE', 'other'],
    ['FAKE_ENUM', 'other'],
    [99, 'other'],
  ])('decodes %s as %s', (finishReason, reason) => {
    const [choice] = decode(candidates({ ...content({ text: 'x' }), finishReason })).choices
    expect(choice?.finish.reason).toBe(reason)
  })

  test('is tool-calls if there is a call, except after an error', () => {
    const call = { functionCall: { name: 'f', args: {} } }
    expect(decode(candidates(content(call))).choices[0]?.finish.reason).toBe('tool-calls')
    const fault = { ...content(call), finishReason: 'UNEXPECTED_TOOL_CALL', finishMessage: 'no such tool' }
    expect(decode(candidates(fault)).choices[0]?.finish).toMatchObject({ reason: 'error', explanation: 'no such tool' })
  })

  test.each<[Finish['reason'], string]>([
    ['stop', 'STOP'],
    ['stop-sequence', 'STOP'],
    ['length', 'MAX_TOKENS'],
    ['context-length', 'MAX_TOKENS'],
    ['tool-calls', 'STOP'],
    ['content-filter', 'SAFETY'],
    ['refusal', 'SAFETY'],
    ['pause', 'STOP'],
    ['other', 'STOP'],
  ])('encodes %s as %s', (reason, word) => {
    const finish: Finish = { reason, raw: { format: 'chat', value: 'x' }, explanation: 'why' }
    expect(encode(answer([{ type: 'text', text: 'x' }], { finish })).candidate).toMatchObject({
      finishReason: word,
      finishMessage: 'why',
    })
  })

  test.each<[string, Finish, Part[]]>([
    ['an error', { reason: 'error', explanation: 'broken' }, [{ type: 'text', text: 'x' }]],
    ['an empty response', { reason: 'other', explanation: 'broken' }, []],
  ])('reports %s of another format’s model as an error, whole and streamed', (_, finish, parts) => {
    expect(() => geminiCodec.encodeResponse(answer(parts, { finish }), testContext())).toThrow('broken')
    const events: ModelEvent[] = [
      { type: 'response-start', id: 'r', model: 'm', created: 0 },
      { type: 'choice-end', choice: 0, finish },
      { type: 'response-end' },
    ]
    const sent = run(geminiCodec.encodeStream(testContext()), events)
    expect(sent.map(({ data }) => JSON.parse(data))).toEqual([
      { error: { code: 502, message: 'broken', status: 'INTERNAL' } },
    ])
  })
})

describe('blocked prompts', () => {
  const promptFeedback = { blockReason: 'SAFETY', blockReasonMessage: 'because', safetyRatings: [{ category: 'C' }] }

  test('decode to a filtered response, and encode to a blocked prompt for Gemini clients', () => {
    const response = decode({ promptFeedback })
    expect(response.choices).toMatchObject([
      { parts: [], finish: { reason: 'content-filter', raw: { value: 'SAFETY' }, explanation: 'because' } },
    ])
    expect(encode(response).wire).toMatchObject({ promptFeedback })
    expect(encode(response).wire.candidates).toBeUndefined()
    const events = run(geminiCodec.decodeStream(testContext()), [{ data: JSON.stringify({ promptFeedback }) }])
    expect(foldEvents(events).choices[0]?.finish).toEqual(response.choices[0]?.finish)
    const sent = run(geminiCodec.encodeStream(testContext()), events)
    expect(JSON.parse(sent.at(-1)?.data ?? '')).toMatchObject({ promptFeedback })
  })

  test('are not assumed from ratings alone', () => {
    const body = { ...candidates(content({ text: 'x' })), promptFeedback: { safetyRatings: [] } }
    expect(decode(body).choices[0]?.finish.reason).toBe('stop')
  })
})

describe('usage', () => {
  const usageMetadata = {
    promptTokenCount: 100,
    cachedContentTokenCount: 40,
    candidatesTokenCount: 20,
    thoughtsTokenCount: 30,
    toolUsePromptTokenCount: 7,
    totalTokenCount: 157,
    promptTokensDetails: [
      { modality: 'TEXT', tokenCount: 90 },
      { modality: 'AUDIO', tokenCount: 10 },
    ],
    candidatesTokensDetails: [{ modality: 2, tokenCount: 5 }],
    serviceTier: 'standard',
  }

  test('is inclusive in the IR, and survives a round trip', () => {
    const response = decode({ ...candidates(content({ text: 'x' })), usageMetadata })
    expect(response.usage).toMatchObject({
      input: { total: 107, cacheRead: 40, tool: 7, audio: 10 },
      output: { total: 50, reasoning: 30, image: 5 },
    })
    expect(response.serviceTier).toBe('default')
    expect(encode(response).wire.usageMetadata).toEqual(usageMetadata)
  })

  test('of another format is written with exclusive counts', () => {
    const usage: Usage = {
      input: { total: 107, cacheRead: 40, cacheWrite: 3, tool: 7 },
      output: { total: 50, reasoning: 30 },
    }
    expect(encode({ ...answer([]), usage, serviceTier: 'flex' }).wire.usageMetadata).toEqual({
      promptTokenCount: 100,
      candidatesTokenCount: 20,
      totalTokenCount: 157,
      cachedContentTokenCount: 40,
      thoughtsTokenCount: 30,
      toolUsePromptTokenCount: 7,
      serviceTier: 'flex',
    })
  })
})

describe('parts of a response', () => {
  test('give each call without an id a unique one', () => {
    const call = { functionCall: { name: 'f', args: {} } }
    const ids = decode(candidates(content(call, call))).choices[0]?.parts.map((part) => 'id' in part && part.id)
    expect(ids).toEqual(['call_1', 'call_2'])
  })

  test('restore calls of custom tools that were sent as functions', () => {
    const context = testContext({ request: { tools: { list: [{ type: 'custom', name: 'c' }] } } })
    const body = candidates(content({ functionCall: { name: 'c', args: { input: 'raw' } } }))
    expect(geminiCodec.decodeResponse(body, context).choices[0]?.parts).toMatchObject([
      { type: 'tool-call', name: 'c', custom: true, input: 'raw' },
    ])
  })

  test('encode a refusal as text, and report blocks of other formats', () => {
    const { candidate, losses } = encode(
      answer([
        { type: 'refusal', text: 'no', at: '/a' },
        { type: 'native', format: 'messages', value: { type: 'server_tool_use' }, at: '/b' },
        { type: 'native', format: 'messages', value: { type: 'x' }, incidental: true, at: '/c' },
      ]),
    )
    expect(candidate?.content).toEqual({ parts: [{ text: 'no' }], role: 'model' })
    expect(losses).toEqual(['note approximated /a', 'warn unsupported /b', 'note unsupported /c'])
  })

  test('give a call without input empty arguments', () => {
    const { candidate } = encode(answer([{ type: 'tool-call', id: 'a', name: 'f', input: '' }]))
    expect(candidate?.content).toMatchObject({ parts: [{ functionCall: { id: 'a', name: 'f', args: {} } }] })
  })

  test('hold the same log probabilities, whole and streamed', () => {
    const logprobsResult = {
      chosenCandidates: [{ token: 'é', tokenId: 5, logProbability: -0.5 }],
      topCandidates: [{ candidates: [{ token: 'é', tokenId: 5, logProbability: -0.5 }] }],
    }
    const response = decode(candidates({ ...content({ text: 'é' }), logprobsResult }))
    expect(response.choices[0]?.logprobs).toMatchObject({
      content: [{ token: 'é', logprob: -0.5, bytes: [195, 169], top_logprobs: [{ token: 'é' }] }],
    })
    expect(encode(response).candidate?.logprobsResult).toEqual(logprobsResult)
  })
})

describe('sources', () => {
  const text = 'Größe: 3 €. Ende.'
  const groundingMetadata = {
    webSearchQueries: ['q'],
    groundingChunks: [{ web: { uri: 'https://a', title: 'A' } }, { web: { uri: 'https://b', title: 'B' } }],
    groundingSupports: [
      { segment: { endIndex: 15, text: 'Größe: 3 €.' }, groundingChunkIndices: [0, 1], confidenceScores: [0.5, 0.25] },
    ],
  }

  test('decode to citations with character offsets, and encode to byte offsets', () => {
    const response = decode(candidates({ ...content({ text: 'hm', thought: true }, { text }), groundingMetadata }))
    const [choice] = response.choices
    expect(choice?.parts[1]).toMatchObject({
      citations: [
        { url: 'https://a', title: 'A', text: 'Größe: 3 €.', start: 0, end: 11 },
        { url: 'https://b', title: 'B', start: 0, end: 11 },
      ],
    })
    expect(choice?.extra).toEqual({ gemini: { groundingMetadata: { webSearchQueries: ['q'] } } })
    expect(encode(response).candidate?.groundingMetadata).toEqual(groundingMetadata)
  })

  test('of another format become grounding metadata; a citation without a source is reported', () => {
    const { candidate, losses } = encode(
      answer([
        {
          type: 'text',
          text,
          at: '/t',
          citations: [
            { url: 'https://a', title: 'A', start: 12, end: 17, extra: { chat: {} } },
            { text: 'only words' },
          ],
        },
      ]),
    )
    expect(candidate?.groundingMetadata).toEqual({
      groundingChunks: [{ web: { uri: 'https://a', title: 'A' } }],
      groundingSupports: [{ segment: { startIndex: 16, endIndex: 21 }, groundingChunkIndices: [0] }],
    })
    expect(losses).toEqual(['note approximated /t', 'warn unsupported /t'])
  })

  test('stand in the last chunk of a stream', () => {
    const chunks = [
      candidates({ content: { parts: [{ text: 'Größe: ' }], role: 'model' } }),
      candidates({ content: { parts: [{ text: '3 €. Ende.', thoughtSignature: 'S' }], role: 'model' } }),
      candidates({ ...content({ text: '' }), groundingMetadata }),
    ]
    const events = run(
      geminiCodec.decodeStream(testContext()),
      chunks.map((chunk) => ({ data: JSON.stringify(chunk) })),
    )
    expect(foldEvents(events).choices[0]?.parts).toMatchObject([
      { type: 'text', text, citations: [{ url: 'https://a', end: 11 }, { url: 'https://b' }] },
      { type: 'reasoning', seal: { issuer: 'gemini', data: '@text:S' } },
    ])
    const sent = run(geminiCodec.encodeStream(testContext()), events).map(({ data }) => JSON.parse(data))
    expect(sent.at(-1).candidates[0].groundingMetadata).toEqual(groundingMetadata)
  })

  test('keep the licence of recited text', () => {
    const citationMetadata = { citationSources: [{ endIndex: 7, uri: 'https://c', license: 'mit' }] }
    const response = decode(candidates({ ...content({ text }), citationMetadata }))
    expect(response.choices[0]?.parts[0]).toMatchObject({ citations: [{ url: 'https://c', start: 0, end: 5 }] })
    expect(encode(response).candidate?.citationMetadata).toEqual(citationMetadata)
  })
})
