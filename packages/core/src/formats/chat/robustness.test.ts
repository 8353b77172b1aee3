import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GatewayError } from '../../base/errors.ts'
import type { Json, JsonObject } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import { chatCodec } from './codec.ts'
import { run, testContext } from './context.test-support.ts'

/** Keywords of this format, so that random objects reach deep into the code. */
const words =
  'model messages role content type text image_url url input_audio data format file file_data file_id tools function name parameters strict custom input tool_calls id arguments tool_call_id tool_choice allowed_tools mode reasoning_effort reasoning reasoning_content reasoning_details signature summary index stop n max_tokens stream stream_options include_usage response_format json_schema schema choices delta message finish_reason usage prompt_tokens completion_tokens total_tokens prompt_tokens_details cached_tokens logprobs refusal audio transcript annotations url_citation images error code status detail details metadata raw extra_content seal cache_control ttl thinking x_groq function_call functions __proto__ constructor toString'.split(
    ' ',
  )
const values = [
  ...words,
  'user',
  'assistant',
  'tool',
  'system',
  'data:image/png;base64,AA',
  'mgs1.messages.x',
  'reasoning.text',
  'reasoning.encrypted',
  'grammar',
  'ephemeral',
  '',
]
const random = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<Json>(...values),
    fc.constantFrom<Json>(null, true, false, 0, 1, -1, 1.5),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...words), tie('json'), { maxKeys: 6 }) as fc.Arbitrary<Json>,
  ),
}))
/** Plain objects, as JSON.parse makes them. */
const parsed = <T>(value: T): T => JSON.parse(JSON.stringify(value))
const json = random.json.map(parsed)
const object = fc.dictionary(fc.constantFrom(...words), json, { maxKeys: 8 }) as fc.Arbitrary<JsonObject>
const message = fc.record(
  {
    role: fc.constantFrom('user', 'assistant', 'tool', 'system', 'developer', 'function'),
    content: fc.oneof(
      fc.constant('x'),
      fc.array(
        fc.record(
          { type: fc.constantFrom(...values), text: json, image_url: json, file: json },
          { requiredKeys: ['type'] },
        ),
      ),
      json,
    ),
    tool_call_id: fc.constantFrom('a', 'b'),
    name: fc.constant('n'),
    tool_calls: json,
    reasoning_details: json,
    reasoning_content: json,
    function_call: json,
    audio: json,
  },
  { requiredKeys: ['role', 'content', 'tool_call_id', 'name'] },
) as fc.Arbitrary<JsonObject>
const request = fc
  .tuple(object, fc.array(message, { minLength: 1, maxLength: 4 }))
  .map(([fields, messages]): JsonObject => parsed({ ...fields, model: 'm', messages }))
const choice = fc.record(
  { index: fc.constantFrom(0, 1), delta: object, message: object, finish_reason: json, logprobs: json },
  { requiredKeys: [] },
)
const chunk = fc
  .tuple(object, fc.array(choice, { maxLength: 2 }))
  .map(([fields, choices]): Json => parsed({ ...fields, error: null, choices }) as Json)
const runs = { numRuns: 500 }

const onlyGatewayErrors = <T>(work: () => T): T | undefined => {
  try {
    return work()
  } catch (error) {
    expect(error).toBeInstanceOf(GatewayError)
    return undefined
  }
}

test('rejects any random request with a gateway error or translates it', () => {
  let passed = 0
  fc.assert(
    fc.property(request, (body) => {
      if (onlyGatewayErrors(() => chatCodec.validateRequest(body)) === undefined) return
      passed++
      const context = testContext()
      const wire = chatCodec.encodeRequest(chatCodec.decodeRequest(body, context), context)
      expect(() => JSON.stringify(wire)).not.toThrow()
      // The encoded request must be valid again.
      chatCodec.validateRequest(wire)
    }),
    runs,
  )
  expect(passed).toBeGreaterThan(20)
})

test('decodes any random response or rejects it with a gateway error', () => {
  fc.assert(
    fc.property(fc.oneof(json, chunk), (body) => {
      const response = onlyGatewayErrors(() => chatCodec.decodeResponse(body, testContext()))
      if (response !== undefined) onlyGatewayErrors(() => chatCodec.encodeResponse(response, testContext()))
    }),
    runs,
  )
})

const errorOf = (act: () => void): unknown => {
  try {
    return act()
  } catch (error) {
    return error
  }
}
const isExpected = (error: unknown): boolean => error === undefined || error instanceof GatewayError

test('ends any random stream exactly once, both decoded and encoded', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 5, arbitrary: chunk }, { weight: 1, arbitrary: json }), { maxLength: 8 }),
      fc.boolean(),
      (chunks, done) => {
        const events: SseEvent[] = chunks.map((value) => ({ data: JSON.stringify(value) }))
        if (done) events.push({ data: '[DONE]' })
        const decoded = run(chatCodec.decodeStream(testContext()), events)
        expect(decoded.filter(({ type }) => type === 'error' || type === 'response-end')).toHaveLength(1)
        const open = new Set<string>()
        for (const event of decoded) {
          if (event.type === 'part-start') open.add(`${event.choice}.${event.part}`)
          if (event.type === 'part-delta') expect(open).toContain(`${event.choice}.${event.part}`)
          if (event.type === 'part-end') expect(open.delete(`${event.choice}.${event.part}`)).toBe(true)
        }
        if (decoded.at(-1)?.type === 'response-end') expect(open.size).toBe(0)
        const encoded = run(chatCodec.encodeStream(testContext()), decoded)
        expect(encoded.filter(({ data }) => data === '[DONE]' || data.startsWith('{"error"'))).toHaveLength(1)
        for (const { data } of encoded) if (data !== '[DONE]') JSON.parse(data)
        const tap = chatCodec.tapStream({ withholdUsage: true, target: { model: 'm', quirks: {} } })
        const watch = (): void => {
          for (const event of events) if (tap.error === undefined) tap.push(event)
        }
        // The tap reads less than the decoder: it may miss an error, but must not report a false one.
        if (decoded.at(-1)?.type !== 'response-end') expect(errorOf(watch)).toSatisfy(isExpected)
        else {
          watch()
          expect(tap.error).toBeUndefined()
        }
      },
    ),
    runs,
  )
})

test('decodes any random error and encodes it with all four fields', () => {
  fc.assert(
    fc.property(fc.constantFrom(200, 400, 401, 404, 429, 500, 529), json, (status, body) => {
      const info = chatCodec.decodeError(status, body)
      expect(info.message).not.toBe('')
      const encoded = chatCodec.encodeError(info, '').body.error as JsonObject
      for (const key of ['message', 'type']) expect(typeof encoded[key]).toBe('string')
      for (const key of ['param', 'code']) expect(encoded[key] === null || typeof encoded[key] === 'string').toBe(true)
    }),
    runs,
  )
})
