import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { estimateBody } from '../accounting/estimate-body.ts'
import { isObject } from '../base/json/object.ts'
import { cutText } from '../base/json/outline.ts'
import { scanJson } from '../base/json/scan.ts'
import type { Json, JsonObject } from '../base/json/types.ts'
import type { Format } from '../base/names.ts'
import type { Codec } from '../formats/codec.ts'
import { codecs } from '../formats/codecs.ts'
import type { RequestBody } from '../formats/request-body.ts'
import { acceptorOf, judgeOutline } from '../formats/shared/acceptors.ts'
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
const samples: Readonly<Record<Format, JsonObject>> = {
  chat: conversation(prose),
  messages: { ...conversation(prose), system: prose, tools: [{ name: 'f', description: prose, input_schema: {} }] },
  responses: { model: 'm', instructions: prose, input: [{ role: 'user', content: prose }], text: { verbosity: 'low' } },
  gemini: {
    model: 'm',
    contents: [{ role: 'user', parts: [{ text: prose }, { functionCall: { name: 'f', args: { a: prose } } }] }],
    generation_config: { maxOutputTokens: '5', stop_sequences: ['a'], responseMimeType: 'text/plain' },
  },
}

const isOurs: Readonly<Record<Format, (url: string) => boolean>> = {
  chat: (url) => url.includes('/chat/completions'),
  messages: (url) => /\/messages(\?|$)/.test(url),
  responses: (url) => /\/responses(\?|$)/.test(url),
  gemini: (url) => /enerateContent/.test(url),
}
const indexed = { chat: 'openai-chat', messages: 'anthropic-messages', responses: 'openai-responses', gemini: 'gemini' }

const checks = codecs.flatMap(({ format, checkRequest, validateRequest }) => [
  { format, by: 'checkRequest', validateRequest: checkRequest },
  { format, by: 'validateRequest', validateRequest },
])

describe.each(checks)('a large request in outline: $format, $by', (codec) => {
  const { format } = codec
  const sample = samples[format]

  it('has the same bytes, text, members, value and fields', () => {
    const text = JSON.stringify(sample, null, 1)
    const request = outlined(text, codec) as RequestBody
    expect(request.outline?.fields.model).toBe('m')
    expect({ ...request.outline?.fields }).toEqual(sample)
    expect(request.value).toEqual(sample)
    expect(request.text).toBe(text)
    expect(request.members).toEqual(scanJson(text, 100).members)
    expect(new TextDecoder().decode(request.bytes)).toBe(text)
  })

  it('is accepted only if the whole would be', () => {
    // In a place somewhere in the body stands something else.
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

  it.runIf(present)('says of every recorded request what the whole says', () => {
    const recorded: readonly Pick<ClientRequest, 'body'>[] = [
      ...readClientRequests(isOurs[format]),
      ...readRecorded(indexed[format]).flatMap(({ request: { body } }) => (isObject(body) ? [{ body }] : [])),
    ]
    let inOutline = 0
    let large = 0
    for (const { body: given } of recorded) {
      // Gemini's model is named by the path.
      const body: JsonObject = format === 'gemini' ? { model: 'm', ...given } : given
      const text = JSON.stringify(body)
      const good = accepts(codec, body)
      const request = outlined(text, codec)
      if (good && text.length > 16_384) large++
      if (request === undefined) continue
      expect(good).toBe(true)
      expect({ ...request.outline?.fields }).toEqual(body)
      if (text.length > 16_384) {
        inOutline++
        const estimated = estimateBody(body)
        expect(request.outline?.tokens).toBeGreaterThan(estimated * 0.8)
        expect(request.outline?.tokens).toBeLessThan(estimated * 1.25)
      }
    }
    expect(inOutline).toBeGreaterThanOrEqual(Math.ceil(large / 2))
  })
})

describe('no outline', () => {
  const chat = codecs.find(({ format }) => format === 'chat') as Codec

  it.each([
    ['of a body with a seal', JSON.stringify(conversation(`mgs1.gemini.abc${prose}`))],
    ['of one with a seal within a text', JSON.stringify(conversation(`${prose} {"signature":"mgs1.gemini.abc"}`))],
    ['of one with a seal in base64', JSON.stringify(conversation(`bWdzMS5${prose}`))],
    ['of broken JSON', JSON.stringify(conversation(prose)).slice(0, -1)],
    ['of a body with a byte order mark', `\ufeff${JSON.stringify(conversation(prose))}`],
    ['of one that does not fit', JSON.stringify({ ...conversation(prose), temperature: 9 })],
    ['of one that is no object', JSON.stringify([prose])],
  ])('%s', (_name, text) => expect(outlined(text, chat)).toBeUndefined())

  it('where the model is not likely to pass; its name is looked for at both ends', () => {
    const asked: string[] = []
    const likelyPasses = (model: string): boolean => asked.push(model) === 0
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
    expect(asked).toEqual(['m', 'n', 'path'])
  })
})

describe('about a text that was cut', () => {
  it.each([
    ['a bound', z.string().max(100)],
    ['a pattern', z.string().regex(/./)],
    ['a format', z.email()],
    ['a rule', z.string().refine(() => true)],
    ['a rule for anything', z.unknown().refine(() => true)],
    ['what only zod knows', z.string().transform((text) => text)],
  ])('%s says nothing', (_name, schema) => {
    expect(judgeOutline(() => acceptorOf(schema)(cutText))).toBe(false)
    expect(judgeOutline(() => acceptorOf(z.looseObject({ a: schema }))({ a: cutText }))).toBe(false)
  })

  it('is known that it is a text', () => {
    expect(judgeOutline(() => acceptorOf(z.string())(cutText))).toBe(true)
    expect(judgeOutline(() => acceptorOf(z.number())(cutText))).toBe(false)
    expect(acceptorOf(z.string().max(100))(cutText)).toBe(true)
  })
})

it('more values and names than may be are refused at once, wherever they stand', () => {
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
  expect(() => read(body(5000))).toThrow('more than 1000 values and names')
  expect(read(body(10))).toBeUndefined()
})
