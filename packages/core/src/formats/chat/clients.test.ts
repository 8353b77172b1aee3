import { describe, expect, test } from 'vitest'
import { present, readClientRequests } from '../shared/recorded.test-support.ts'
import { chatCodec } from './codec.ts'
import { testContext } from './context.test-support.ts'

/** All recorded chat requests of real clients. */
const requests = readClientRequests((url) => url.endsWith('/chat/completions'))

describe.skipIf(!present)('recorded requests of real clients', () => {
  test.each(requests)('are accepted and keep every field through the IR: $path', ({ body }) => {
    expect(() => chatCodec.validateRequest(body)).not.toThrow()
    const context = testContext({ quirks: { reasoningField: 'reasoning_content' } })
    const first = chatCodec.decodeRequest(structuredClone(body), context)
    const second = chatCodec.decodeRequest(chatCodec.encodeRequest(first, context), context)
    expect(context.losses).toEqual([])
    expect(withoutPlaces(second.turns)).toEqual(withoutPlaces(first.turns))
    expect(withoutPlaces(second.tools)).toEqual(withoutPlaces(first.tools))
    expect(second.sampling).toEqual(first.sampling)
    expect(second.extra).toEqual(first.extra)
  })
})

const withoutPlaces = (value: unknown): unknown =>
  value === undefined ? undefined : JSON.parse(JSON.stringify(value, (key, item) => (key === 'at' ? undefined : item)))
