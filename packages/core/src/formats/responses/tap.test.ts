import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/types.ts'
import { responsesCodec } from './index.ts'

const begun: JsonObject = { type: 'response.created', sequence_number: 0, response: { id: 'r', output: [] } }
const delta: JsonObject = { type: 'response.output_text.delta', sequence_number: 1, output_index: 0, delta: 'a' }

/** A stream whose events have no names, which ends with this. */
function nameless(last: JsonObject) {
  const tap = responsesCodec.tapStream({ withholdUsage: false, target: { model: 'm', quirks: {} } })
  for (const event of [begun, delta, last]) expect(tap.push({ data: JSON.stringify(event) })).toBe(true)
  return tap
}

describe('an event without a name whose type comes last', () => {
  const sequence_number = 2

  test('ends the stream as its own type says, whatever type something in it has', () => {
    const response = { id: 'r', status: 'completed', output: [{ type: 'error' }] }
    const tap = nameless({ response, sequence_number, type: 'response.completed' })
    expect([tap.ended, tap.finish, tap.isFailing, tap.error]).toEqual([true, 'completed', false, undefined])
  })

  test('ends nothing where only something in it is of a type that does', () => {
    const tap = nameless({ item: { type: 'error' }, sequence_number, type: 'response.output_item.done' })
    expect([tap.ended, tap.isFailing, tap.error]).toEqual([false, false, undefined])
  })

  test('is an error where it holds one: clients take it for that', () => {
    expect(nameless({ error: { message: 'Boom' }, sequence_number, type: 'x' }).isFailing).toBe(true)
  })
})

test.each([
  ['an error', { error: 'no' }, true],
  ['no error', { error: null, tools: [{ error: 'x' }] }, false],
  ['an error further in', { item: { error: 'no' } }, false],
])('an event of another name that holds %s', (_, fields, failing) => {
  const tap = nameless({ ...delta, sequence_number: 2 })
  const type = 'response.in_progress'
  expect(tap.push({ event: type, data: JSON.stringify({ type, ...fields }) })).toBe(true)
  expect([tap.ended, tap.isFailing]).toEqual([false, failing])
})

test.each(['error', 'response.failed', 'response.completed'])(
  '%s that is no JSON leaves a hole in an answer',
  (type) => {
    const tap = nameless({ ...delta, sequence_number: 2 })
    expect(() => tap.push({ event: type, data: `{"type":"${type}","error":{"code":"overlo{}` })).toThrow('is not JSON')
    expect([tap.ended, tap.isFailing]).toEqual([false, false])
  },
)
