import {
  codecOf,
  codecs,
  createSseDecoder,
  encodeAllSse,
  type JsonObject,
  roundTripCodecs,
  scanJson,
  spliceJson,
} from '@modelgate/core/test-support'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import type { ResponseContent } from '../base/content/content.ts'
import { readRecording } from '../base/content/recording.ts'
import { isObject, parseJson } from '../base/json.ts'
import { haveRecordings, recordedExchanges } from '../base/recorded-traffic.ts'
import { cut } from '../base/upstream-fetch.ts'
import {
  comparableValue,
  conversationTexts,
  createContext,
  createExchange,
  eventsOf,
  fieldAt,
  fieldsOf,
  fold,
  gistOf,
  isMeaningless,
  requests,
  responses,
  run,
  streamOf,
} from './support.ts'

const runs = { numRuns: 150, seed: 20261121 }
const pieces = fc.integer({ min: 1, max: 5 })
let agreeing = 0

describe.each(codecs.map((codec) => ({ format: codec.format, codec })))('laws of the $format codec', ({ codec }) => {
  const encode = (request: Parameters<typeof codec.encodeRequest>[0], context = createContext()) =>
    codec.encodeRequest(request, context)

  test('decodes and encodes its own output without a change', () => {
    fc.assert(
      fc.property(requests, (request) => {
        const wire = encode(request)
        expect(codec.validateRequest(structuredClone(wire))).toEqual(wire)
        const context = createContext()
        expect(encode(codec.decodeRequest(structuredClone(wire), context), context)).toEqual(wire)
        // A codec has no losses in its own output.
        expect(context.report.losses.filter(({ severity }) => severity !== 'note')).toEqual([])
      }),
      runs,
    )
  })

  test('preserves or reports every field of a request', () => {
    fc.assert(
      fc.property(requests, (request) => {
        const context = createContext()
        const back = codec.decodeRequest(encode(request, context), createContext())
        const reported = context.report.losses.map(({ path }) => path)
        for (const field of fieldsOf(request)) {
          if (isMeaningless(request, field)) continue
          const isAbout = (path: string): boolean => path === `/${field}` || path.startsWith(`/${field}/`)
          if (reported.some((path) => isAbout(path) && !path.endsWith('/strict'))) continue
          expect([field, fieldAt(back, field)]).toMatchObject([
            field,
            comparableValue(field, fieldAt(request, field), reported),
          ])
        }
      }),
      runs,
    )
  })

  test('preserves every text, tool call and tool result of a conversation', () => {
    fc.assert(
      fc.property(requests, (request) => {
        expect(conversationTexts(codec.decodeRequest(encode(request), createContext()))).toEqual(
          conversationTexts(request),
        )
      }),
      runs,
    )
  })

  test('preserves the kind of an error', () => {
    for (const kind of [
      'invalid_request',
      'rate_limited',
      'overloaded',
      'model_not_found',
      'request_too_large',
      'context_length_exceeded',
      'quota_exceeded',
    ] as const) {
      const { status, headers, body } = codec.encodeError({ kind, status: 400, message: 'It did not work.' }, 'req_1')
      const back = codec.decodeError(status, body, (name) => headers?.[name])
      expect(back.message).toContain('It did not work.')
      // Formats without a name for a kind use a more general one.
      const wider: Readonly<Record<string, string>> = {
        model_not_found: 'not_found',
        context_length_exceeded: 'invalid_request',
        quota_exceeded: 'rate_limited',
      }
      expect([kind, wider[kind]]).toContain(back.kind)
    }
  })
})

describe.each(roundTripCodecs.map((codec) => ({ format: codec.format, codec })))(
  'laws of responses in $format',
  ({ codec }) => {
    test('preserves a response', () => {
      fc.assert(
        fc.property(responses, (response) => {
          const wire = codec.encodeResponse(response, createExchange())
          expect(gistOf(codec.decodeResponse(structuredClone(wire), createExchange()))).toEqual(gistOf(response))
        }),
        runs,
      )
    })

    test('folds a stream into the response', () => {
      fc.assert(
        fc.property(responses, pieces, (response, count) => {
          expect(gistOf(fold(eventsOf(response, count)))).toEqual(gistOf(response))
          const events = run(codec.decodeStream(createExchange()), streamOf(codec, response, count))
          expect(gistOf(fold(events))).toEqual(gistOf(response))
        }),
        runs,
      )
    })

    test('reports every proper prefix of a stream as one truncation and nothing else', () => {
      fc.assert(
        fc.property(responses, pieces, fc.nat(), (response, count, at) => {
          const wire = streamOf(codec, response, count)
          const read = (length: number) => run(codec.decodeStream(createExchange()), wire.slice(0, length))
          // Some formats send more after their terminal event; Gemini has only the finish reason in its last chunk.
          const lengths = wire.map((_, length) => length)
          const proper = lengths.filter((length) => read(length).every(({ type }) => type !== 'response-end'))
          expect(proper).toEqual(lengths.slice(0, proper.length))
          expect(proper.length).toBeGreaterThan(0)
          const events = read(at % proper.length)
          expect(events.at(-1)).toMatchObject({ type: 'error', error: { kind: 'upstream_truncated' } })
          expect(events.filter(({ type }) => type === 'error' || type === 'response-end')).toHaveLength(1)
        }),
        runs,
      )
    })

    test('decodes the same events from any split of a stream’s bytes', () => {
      fc.assert(
        fc.property(responses, pieces, fc.array(fc.nat(), { maxLength: 6 }), (response, count, positions) => {
          const wire = streamOf(codec, response, count)
          const bytes = new TextEncoder().encode(encodeAllSse(wire))
          const read = (cuts: number | number[]): unknown => {
            const decoder = createSseDecoder(1e6)
            const decode = codec.decodeStream(createExchange())
            const events = [...cut(bytes, cuts)].flatMap((chunk) => decoder.push(chunk)).concat(decoder.end())
            return run(decode, events)
          }
          const whole = read(bytes.length)
          expect(read(1)).toEqual(whole)
          expect(read(positions.map((position) => position % bytes.length).sort((one, other) => one - other))).toEqual(
            whole,
          )
        }),
        { ...runs, numRuns: 60 },
      )
    })
  },
)

describe.each(roundTripCodecs.filter(({ format }) => !codecs.some((codec) => codec.format === format)))(
  'laws of requests in $format, which only clients speak',
  (codec) => {
    test('are accepted, and decoded without a loss', () => {
      fc.assert(
        fc.property(requests, (request) => {
          const wire = codec.encodeRequest(request, createContext())
          expect(codec.validateRequest(structuredClone(wire))).toEqual(wire)
          const context = createContext()
          const decoded = codec.decodeRequest(structuredClone(wire), context)
          expect(codec.encodeRequest(decoded, createContext())).toEqual(wire)
          expect([context.report.losses, decoded.extra]).toEqual([[], undefined])
        }),
        runs,
      )
    })
  },
)

describe('splice of the model name', () => {
  const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/)
  const member = fc.tuple(
    fc.oneof(fc.constantFrom('seed', 'user', 'm\\u006fdels', 'a\\"model'), fc.stringMatching(/^[a-z]{1,5}$/)),
    fc.constantFrom(
      '12345678901234567890',
      '"\\u0041\\/é🙂"',
      '{"model":"inner","a":1,"a":2}',
      '[1.0,{"model":"x"}]',
      'null',
      '1E5',
    ),
    space,
    space,
  )

  test('changes the model and no other character', () => {
    fc.assert(
      fc.property(fc.array(member, { maxLength: 6 }), fc.nat(), fc.string(), (members, at, name) => {
        const parts = members.map(
          ([key, value, before, behind]) => `${before}"${key}"${behind}:${before}${value}${behind}`,
        )
        const build = (model: string): string => {
          const all = [...parts]
          all.splice(at % (parts.length + 1), 0, ` "model" :\t${model} `)
          return `{${all.join(',')}}`
        }
        const text = build('"asked-for"')
        const { members: found } = scanJson(text, 100)
        expect(spliceJson(text, found, { model: name })).toBe(build(JSON.stringify(name)))
      }),
      { ...runs, numRuns: 500 },
    )
  })
})

/** A missing count equals zero; several pieces of reasoning are separated by blank lines. */
const comparable = (answer: ResponseContent | undefined): unknown =>
  answer && {
    ...answer,
    reasoning: answer.reasoning.replaceAll('\n', ''),
    usage: answer.usage && inclusive({ cacheRead: 0, reasoning: 0, ...answer.usage }),
  }

/** Azure's Grok excludes cached tokens from `prompt_tokens`, which is then smaller than the cached count. */
const inclusive = <T extends { readonly input: number; readonly cacheRead: number }>(usage: T): T =>
  usage.cacheRead > usage.input ? { ...usage, input: usage.input + usage.cacheRead } : usage

test.skipIf(!haveRecordings)('returns the same content in pass-through and translation of a recorded response', () => {
  for (const exchange of recordedExchanges()) {
    const body = parseJson(exchange.answer)
    const read = readRecording(exchange)
    if (exchange.stream || read === undefined || !isObject(body)) continue
    const codec = codecOf(exchange.format)
    const again: JsonObject = codec.encodeResponse(
      codec.decodeResponse(body as JsonObject, createExchange()),
      createExchange(),
    )
    expect(comparable(readRecording({ ...exchange, answer: JSON.stringify(again) })), exchange.path).toEqual(
      comparable(read),
    )
    agreeing++
  }
  expect(agreeing).toBeGreaterThan(2050)
})

afterAll(() =>
  console.log(
    `laws: ${codecs.map(({ format }) => format).join(', ')}: 8 laws of ${runs.numRuns} cases each; ${agreeing} recorded responses agree`,
  ),
)
