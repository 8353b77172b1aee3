import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { estimateBody } from '../accounting/estimate-body.ts'
import { isObject, type Json, type JsonObject, scanJson } from '../base/json/json.ts'
import { cutText } from '../base/json/outline.ts'
import type { SharedFormat } from '../base/names.ts'
import type { Codec } from '../formats/codec.ts'
import { codecs } from '../formats/codecs.ts'
import type { RequestBody } from '../formats/request-body.ts'
import * as z from '../formats/shared/body-schema.ts'
import {
  type ClientRequest,
  present,
  readClientRequests,
  readRecorded,
} from '../formats/shared/recorded.test-support.ts'
import { lazyBody } from './large-body.ts'

const encoder = new TextEncoder()
const prose = 'All work and no play makes a gateway dull. '.repeat(5)

type Check = Pick<Codec, 'validateRequest'>
const outlined = (body: Json | string, { validateRequest }: Check): RequestBody | undefined =>
  lazyBody(encoder.encode(typeof body === 'string' ? body : JSON.stringify(body)), {
    maxDepth: 128,
    maxValues: 10_000,
    complete: (value) => value,
    validate: validateRequest,
    model: undefined,
    modelPrefix: undefined,
    likelyPasses: () => true,
  })

function accepts({ validateRequest }: Check, body: Json): boolean {
  try {
    validateRequest(body)
    return true
  } catch {
    return false
  }
}

const conversation = (text: string): JsonObject => ({
  model: 'm',
  max_tokens: 5,
  stream: true,
  metadata: { user_id: 'u' },
  messages: [{ role: 'user', content: [{ type: 'text', text }] }],
})
const samples: Readonly<Record<SharedFormat, JsonObject>> = {
  chat: conversation(prose),
  messages: { ...conversation(prose), system: prose, tools: [{ name: 'f', description: prose, input_schema: {} }] },
  responses: { model: 'm', instructions: prose, input: [{ role: 'user', content: prose }], text: { verbosity: 'low' } },
  gemini: {
    model: 'm',
    contents: [{ role: 'user', parts: [{ text: prose }, { functionCall: { name: 'f', args: { a: prose } } }] }],
    generation_config: { maxOutputTokens: '5', stop_sequences: ['a'], responseMimeType: 'text/plain' },
  },
  converse: {
    model: 'm',
    system: [{ text: prose }],
    messages: [
      { role: 'user', content: [{ text: prose }] },
      { role: 'assistant', content: [{ toolUse: { toolUseId: 'a', name: 'f', input: { a: prose } } }] },
      { role: 'user', content: [{ toolResult: { toolUseId: 'a', content: [{ text: prose }], status: 'success' } }] },
    ],
    toolConfig: { tools: [{ toolSpec: { name: 'f', description: prose, inputSchema: { json: {} } } }] },
    inferenceConfig: { maxTokens: 5, temperature: 1, stopSequences: ['a'] },
  },
}

const isOurs: Readonly<Record<SharedFormat, (url: string) => boolean>> = {
  chat: (url) => url.includes('/chat/completions'),
  messages: (url) => /\/messages(\?|$)/.test(url),
  responses: (url) => /\/responses(\?|$)/.test(url),
  gemini: (url) => /enerateContent/.test(url),
  converse: (url) => /\/converse(-stream)?$/.test(url),
}
const indexed: { readonly [F in SharedFormat]?: string } = {
  chat: 'openai-chat',
  messages: 'anthropic-messages',
  responses: 'openai-responses',
  gemini: 'gemini',
}

const checks = codecs.flatMap(({ format, checkRequest, validateRequest }) => [
  { format, by: 'checkRequest', validateRequest: checkRequest },
  { format, by: 'validateRequest', validateRequest },
])

describe.each(checks)('the outline of a large request ($format, $by)', (codec) => {
  const { format } = codec
  const sample = samples[format]

  it('has the bytes, text, members, value and fields of the request', () => {
    const text = JSON.stringify(sample, null, 1)
    const request = outlined(text, codec) as RequestBody
    expect(request.fields.model).toBe('m')
    expect({ ...request.fields }).toEqual(sample)
    expect(request.value).toEqual(sample)
    expect(request.text).toBe(text)
    expect(request.members).toEqual(scanJson(text, 100).members)
    expect(new TextDecoder().decode(request.bytes)).toBe(text)
  })

  it('is accepted only if the complete request is valid', () => {
    // Each function replaces the value at one position of the body.
    const places = (value: Json): readonly ((body: Json, by: Json) => Json)[] =>
      typeof value !== 'object' || value === null
        ? [(_body, by) => by]
        : Object.entries(value).flatMap(([key, inner]) =>
            [(_: Json, by: Json): Json => by, ...places(inner as Json)].map((put) => (body: Json, by: Json): Json => {
              const copy = structuredClone(body) as { [key: string]: Json }
              copy[key] = put(copy[key] as Json, by)
              return copy as Json
            }),
          )
    const others: readonly Json[] = [prose, '', 5, null, true, [], {}, [prose], { type: prose }, '7'.padStart(99, '0')]
    fc.assert(
      fc.property(fc.constantFrom(...places(sample)), fc.constantFrom(...others), (put, by) => {
        const body = put(sample, by)
        if (outlined({ ...(body as JsonObject), beside: prose.repeat(20) }, codec) !== undefined)
          expect(accepts(codec, body)).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  // No request of Converse has been recorded.
  it.runIf(present && indexed[format] !== undefined)(
    'is judged like the complete request for every recorded request',
    () => {
      const recorded: readonly Pick<ClientRequest, 'body'>[] = [
        ...readClientRequests(isOurs[format]),
        ...readRecorded(indexed[format] ?? '').flatMap(({ request: { body } }) => (isObject(body) ? [{ body }] : [])),
      ]
      let inOutline = 0
      let large = 0
      for (const { body: recordedBody } of recorded) {
        // Gemini requests name their model in the path.
        const body: JsonObject = format === 'gemini' ? { model: 'm', ...recordedBody } : recordedBody
        const text = JSON.stringify(body)
        const good = accepts(codec, body)
        const request = outlined(text, codec)
        if (good && text.length > 16_384) large++
        if (request === undefined) continue
        expect(good).toBe(true)
        expect({ ...request.fields }).toEqual(body)
        if (text.length > 16_384) {
          inOutline++
          const estimated = estimateBody(body)
          expect(request.outline?.tokens).toBeGreaterThan(estimated * 0.8)
          expect(request.outline?.tokens).toBeLessThan(estimated * 1.25)
        }
      }
      expect(inOutline).toBeGreaterThanOrEqual(Math.ceil(large / 2))
    },
  )
})

describe('an undefined outline', () => {
  const chat = codecs.find(({ format }) => format === 'chat') as Codec

  it.each([
    ['a body with a seal', JSON.stringify(conversation(`mgs1.gemini.abc${prose}`))],
    ['a body with a seal within a text', JSON.stringify(conversation(`${prose} {"signature":"mgs1.gemini.abc"}`))],
    ['a body with a seal in base64', JSON.stringify(conversation(`bWdzMS5${prose}`))],
    ['invalid JSON', JSON.stringify(conversation(prose)).slice(0, -1)],
    ['a body with a byte order mark', `\ufeff${JSON.stringify(conversation(prose))}`],
    ['a body with an invalid field', JSON.stringify({ ...conversation(prose), temperature: 9 })],
    ['a body that is not an object', JSON.stringify([prose])],
  ])('is returned for %s', (_name, text) => expect(outlined(text, chat)).toBeUndefined())

  it('is returned if the model is unlikely to pass through, with its name at either end of the body', () => {
    const models: string[] = []
    const likelyPasses = (model: string): boolean => models.push(model) === 0
    const { validateRequest: validate } = chat
    const reading = {
      maxDepth: 9,
      maxValues: 1000,
      complete: (body: Json) => body,
      validate,
      modelPrefix: undefined,
      likelyPasses,
    }
    for (const body of [conversation(prose), { messages: conversation(prose).messages as Json, model: 'n' }])
      expect(lazyBody(encoder.encode(JSON.stringify(body)), { ...reading, model: undefined })).toBeUndefined()
    expect(lazyBody(encoder.encode('{}'), { ...reading, model: 'path' })).toBeUndefined()
    expect(models).toEqual(['m', 'n', 'path'])
  })
})

describe('a truncated text in an outline', () => {
  it.each([
    ['a maximum length', z.string().max(100)],
    ['a refinement', z.string().refine(() => true)],
    ['a refinement of an unknown value', z.unknown().refine(() => true)],
    ['a rule', z.string().superRefine(() => {})],
    ['a second schema', z.string().and(() => undefined)],
  ])('cannot be accepted by %s', (_name, schema) => {
    expect(z.judgeOutline(() => schema.accepts(cutText))).toBe(false)
    expect(z.judgeOutline(() => z.looseObject({ a: schema }).accepts({ a: cutText }))).toBe(false)
  })

  it('is accepted as a string and not as a number', () => {
    expect(z.judgeOutline(() => z.string().accepts(cutText))).toBe(true)
    expect(z.judgeOutline(() => z.number().accepts(cutText))).toBe(false)
    expect(z.string().max(100).accepts(cutText)).toBe(true)
  })
})

it('rejects too many values and names at once, before reading the rest of the body', () => {
  const body = (values: number): Uint8Array =>
    encoder.encode(`{"model":"m","messages":[${'{},'.repeat(values)}"${prose}"],"broken":`)
  const read = (bytes: Uint8Array) =>
    lazyBody(bytes, {
      maxDepth: 9,
      maxValues: 1000,
      complete: (value) => value,
      validate: (value) => value as JsonObject,
      model: undefined,
      modelPrefix: undefined,
      likelyPasses: () => true,
    })
  expect(() => read(body(5000))).toThrow('more than 1000 values and member names')
  expect(read(body(10))).toBeUndefined()
})
