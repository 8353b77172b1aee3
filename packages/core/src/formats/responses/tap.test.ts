import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import { responsesCodec } from './codec.ts'

const begun: JsonObject = { type: 'response.created', sequence_number: 0, response: { id: 'r', output: [] } }
const delta: JsonObject = { type: 'response.output_text.delta', sequence_number: 1, output_index: 0, delta: 'a' }

/** The tap of a stream whose events have no names, after this event. */
function nameless(last: JsonObject) {
  const tap = responsesCodec.tapStream({ withholdUsage: false, target: { model: 'm', quirks: {} } })
  for (const event of [begun, delta, last]) expect(tap.push({ data: JSON.stringify(event) })).toBe(true)
  return tap
}

describe('an event without a name whose type is its last member', () => {
  const sequence_number = 2

  test('ends the stream by its own type, whatever types it contains', () => {
    const response = { id: 'r', status: 'completed', output: [{ type: 'error' }] }
    const tap = nameless({ response, sequence_number, type: 'response.completed' })
    expect([tap.ended, tap.finish, tap.isFailing, tap.error]).toEqual([true, 'completed', false, undefined])
  })

  test('does not end the stream if only a nested object has an ending type', () => {
    const tap = nameless({ item: { type: 'error' }, sequence_number, type: 'response.output_item.done' })
    expect([tap.ended, tap.isFailing, tap.error]).toEqual([false, false, undefined])
  })

  test('is an error if it holds one, as clients expect', () => {
    expect(nameless({ error: { message: 'Boom' }, sequence_number, type: 'x' }).isFailing).toBe(true)
  })
})

test.each([
  ['an error', { error: 'no' }, true],
  ['no error', { error: null, tools: [{ error: 'x' }] }, false],
  ['an error further in', { item: { error: 'no' } }, false],
])('detects whether an event holds %s', (_, fields, failing) => {
  const tap = nameless({ ...delta, sequence_number: 2 })
  const type = 'response.in_progress'
  expect(tap.push({ event: type, data: JSON.stringify({ type, ...fields }) })).toBe(true)
  expect([tap.ended, tap.isFailing]).toEqual([false, failing])
})

test.each(['error', 'response.failed', 'response.completed'])('rejects a %s event that is not JSON', (type) => {
  const tap = nameless({ ...delta, sequence_number: 2 })
  expect(() => tap.push({ event: type, data: `{"type":"${type}","error":{"code":"overlo{}` })).toThrow('is not JSON')
  expect([tap.ended, tap.isFailing]).toEqual([false, false])
})
