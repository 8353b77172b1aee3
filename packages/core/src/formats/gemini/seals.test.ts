import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import type { Format } from '../../base/names.ts'
import { hasSealPrefix } from '../../lanes/generation.ts'
import { chatCodec } from '../chat/codec.ts'
import { run, testContext } from '../chat/context.test-support.ts'
import type { Codec } from '../codec.ts'
import type { ModelResponse, Part, Sealed } from '../ir.ts'
import { messagesCodec } from '../messages/index.ts'
import { geminiCodec } from './codec.ts'

/** A response of Google's model, whose signatures the next turn must return. */
const answered: JsonObject[] = [
  { text: 'hm', thought: true },
  { text: 'Let me look.', thoughtSignature: 'U0lHMQ==' },
  { functionCall: { id: 'call_a', name: 'f', args: { a: 1 } }, thoughtSignature: 'U0lHMg==' },
  { functionCall: { id: 'call_b', name: 'f', args: { a: 2 } } },
]
const answer = (parts: JsonObject[]): JsonObject => ({
  candidates: [{ content: { parts, role: 'model' }, finishReason: 'STOP', index: 0 }],
  modelVersion: 'm',
  responseId: 'r',
})

/** The history that a client sends after a response. */
const asHistory: Readonly<Partial<Record<Format, (body: JsonObject) => JsonObject>>> = {
  chat: (body) => ({
    model: 'm',
    messages: [{ role: 'user', content: 'q' }, (body.choices as JsonObject[])[0]?.message ?? null],
  }),
  messages: (body) => ({
    model: 'm',
    max_tokens: 9,
    messages: [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: body.content ?? [] },
    ],
  }),
  gemini: (body) => ({
    contents: [{ role: 'user', parts: [{ text: 'q' }] }, (body.candidates as JsonObject[])[0]?.content ?? null],
  }),
}

/** An upstream's response, sent to a client of another format and back to the same upstream. */
function around(upstream: Codec, client: Codec, body: JsonObject, model: string): JsonObject {
  const context = { ...testContext({ request: { reasoning: { adaptive: true } } }), target: { model, quirks: {} } }
  const shown = client.encodeResponse(upstream.decodeResponse(body, context), context)
  const history = asHistory[client.format]?.(JSON.parse(JSON.stringify(shown)) as JsonObject) ?? {}
  return upstream.encodeRequest(client.decodeRequest(history, context), context)
}

const model = 'gemini-3-pro-preview'
const modelParts = (body: JsonObject): JsonObject[] =>
  (body.contents as JsonObject[]).filter(({ role }) => role === 'model').flatMap(({ parts }) => parts as JsonObject[])

describe('Google’s signatures', () => {
  test.each([chatCodec, messagesCodec, geminiCodec])('return on the same part through $format', (client) => {
    expect(modelParts(around(geminiCodec, client, answer(answered), model))).toEqual(answered)
  })

  test.each([chatCodec, messagesCodec, geminiCodec])('on an empty text return through $format', (client) => {
    const parts = modelParts(
      around(geminiCodec, client, answer([{ text: 'Done.' }, { text: '', thoughtSignature: 'U0lHMw==' }]), model),
    )
    // A client that keeps one text has one part for both texts.
    expect([
      [{ text: 'Done.' }, { text: '', thoughtSignature: 'U0lHMw==' }],
      [{ text: 'Done.', thoughtSignature: 'U0lHMw==' }],
    ]).toContainEqual(parts)
  })

  test('are not sent to another vendor', () => {
    const context = testContext()
    const history = asHistory.gemini?.(answer(answered)) ?? {}
    const wire = messagesCodec.encodeRequest(geminiCodec.decodeRequest(history, context), {
      ...context,
      target: { model: 'claude-sonnet-4-5', quirks: {} },
    })
    expect(JSON.stringify(wire)).not.toContain('U0lH')
    expect(context.losses.length).toBeGreaterThan(0)
  })
})

describe('seals of other issuers in generateContent', () => {
  const seals: Sealed[] = [
    { issuer: 'messages', data: 'Ev+/Cg==' },
    { issuer: 'responses', data: 'gAAAA_-é' },
    { issuer: 'chat', data: '{"google":{}}' },
  ]
  const response = (parts: Part[]): ModelResponse => ({
    id: 'r',
    model: 'm',
    created: 0,
    choices: [{ parts, finish: { reason: 'stop' } }],
  })
  const back = (parts: Part[], spell = (signature: string) => signature): Part[] => {
    const wire = geminiCodec.encodeResponse(response(parts), testContext())
    const history = asHistory.gemini?.(wire) ?? {}
    for (const part of modelParts(history))
      if (typeof part.thoughtSignature === 'string') part.thoughtSignature = spell(part.thoughtSignature)
    expect(hasSealPrefix(JSON.stringify(history))).toBe(true)
    return (
      geminiCodec.decodeRequest(history, testContext()).turns[1]?.parts.map(({ at: _, ...part }) => part as Part) ?? []
    )
  }

  test.each(seals)('of $issuer are base64, and survive a round trip', (seal) => {
    const parts: Part[] = [
      { type: 'reasoning', text: 'hm', seal },
      { type: 'reasoning', text: '', redacted: true, seal },
      { type: 'reasoning', text: 'in short', summary: true, seal },
      { type: 'tool-call', id: 'a', name: 'f', input: '{}', seal },
    ]
    expect(back(parts)).toEqual(parts)
    for (const part of modelParts(asHistory.gemini?.(geminiCodec.encodeResponse(response(parts), testContext())) ?? {}))
      expect(String(part.thoughtSignature)).toMatch(/^[A-Za-z0-9+/]+=*$/)
    // Google's Python SDK writes bytes in URL-safe base64.
    expect(back(parts, (signature) => signature.replaceAll('+', '-').replaceAll('/', '_'))).toEqual(parts)
  })

  test.each(seals)('of $issuer are the same in a stream and in a whole response', (seal) => {
    const context = testContext()
    const events = run(geminiCodec.encodeStream(context), [
      { type: 'response-start', id: 'r', model: 'm', created: 0 },
      { type: 'part-start', choice: 0, part: 0, value: { type: 'reasoning', text: '' } },
      { type: 'part-delta', choice: 0, part: 0, delta: { type: 'reasoning', text: 'h' } },
      { type: 'part-delta', choice: 0, part: 0, delta: { type: 'reasoning', text: 'm' } },
      { type: 'part-delta', choice: 0, part: 0, delta: { type: 'seal', seal } },
      { type: 'part-end', choice: 0, part: 0 },
      { type: 'choice-end', choice: 0, finish: { reason: 'stop' } },
      { type: 'response-end' },
    ])
    const parts = events.flatMap(({ data }) =>
      modelParts({ contents: (JSON.parse(data).candidates as JsonObject[]).map(({ content }) => content ?? null) }),
    )
    const [turn] = geminiCodec.decodeRequest({ contents: [{ role: 'model', parts }] }, context).turns
    expect(turn?.parts).toMatchObject([{ type: 'reasoning', text: 'hm', seal }])
    // A chat stores each chunk as a separate content.
    const contents = parts.map((part) => ({ role: 'model', parts: [part] }))
    expect(geminiCodec.decodeRequest({ contents }, context).turns.map(({ parts: kept }) => kept)).toMatchObject([
      [{ type: 'reasoning', text: 'hm', seal }],
    ])
  })

  test('are not assumed from a signature that only resembles one', () => {
    const [turn] = geminiCodec.decodeRequest(
      { contents: [{ role: 'model', parts: [{ functionCall: { name: 'f' }, thoughtSignature: 'bWdzMS5%%%' }] }] },
      testContext(),
    ).turns
    expect(turn?.parts[0]).toMatchObject({ seal: { issuer: 'gemini', data: 'bWdzMS5%%%' } })
  })
})
