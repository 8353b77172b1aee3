import { describe, expect, test } from 'vitest'
import { present, readClientRequests } from '../shared/recorded.test-support.ts'
import { chatCodec } from './codec.ts'
import { testContext } from './context.test-support.ts'

/** Every chat request that a real client was seen to send. */
const requests = readClientRequests((url) => url.endsWith('/chat/completions'))

describe.skipIf(!present)('what real clients send', () => {
  test.each(requests)('$path passes, and nothing of it is lost on the way through', ({ body }) => {
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
