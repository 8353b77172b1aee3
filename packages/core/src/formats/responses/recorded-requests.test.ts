import { describe, expect, test } from 'vitest'
import { isObject, type Json } from '../../base/json/json.ts'
import { responsesCodec } from './codec.ts'
import { contextFor, normalised, present, readClientRequests, readExchanges } from './recorded.test-support.ts'

const recorded = readExchanges().flatMap(({ path, request, response }) =>
  isObject(request.body) && typeof request.body.model === 'string'
    ? [{ path, body: request.body, refused: response.status === 400 }]
    : [],
)
const sent = readClientRequests().map((request) => ({ ...request, refused: false }))
const requests = [...recorded, ...sent]

describe.skipIf(!present)('recorded responses requests', () => {
  test('exist', () => {
    expect(recorded.length).toBeGreaterThan(450)
    expect(sent.length).toBeGreaterThan(70)
  })

  test('pass the validator, unless the provider rejected them', () => {
    for (const { path, body, refused } of requests)
      if (!refused) expect(() => responsesCodec.validateRequest(body), path).not.toThrow()
  })

  test('survive a round trip through the IR', () => {
    for (const { path, body } of requests) {
      const context = contextFor()
      const request = responsesCodec.decodeRequest(structuredClone(body), context)
      const target = { model: String(body.model), quirks: {} }
      const back = responsesCodec.encodeRequest(request, { ...context, target })
      expect(back, path).toEqual(normalised(body))
      expect(context.report.losses, path).toEqual([])
    }
  })

  test('decode to turns and parts that name their place in the body', () => {
    for (const { path, body } of requests) {
      const { turns } = responsesCodec.decodeRequest(structuredClone(body), contextFor())
      for (const place of turns.flatMap((turn) => [turn.at, ...turn.parts.map((part) => part.at)]))
        expect(valueAt(body, place ?? '?'), `${path} ${place}`).toBeDefined()
    }
  })
})

function valueAt(body: Json, place: string): Json | undefined {
  let value: Json | undefined = body
  for (const step of place.split('/').slice(1))
    value = Array.isArray(value) ? value[Number(step)] : isObject(value) ? value[step] : undefined
  return value
}
