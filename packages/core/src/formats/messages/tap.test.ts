import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../base/errors.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import { block, ending, ping, start } from './events.test-support.ts'
import { messagesCodec } from './index.ts'
import { target } from './recorded.test-support.ts'

describe('tap of streams', () => {
  const tap = (events: readonly SseEvent[]) => {
    const tapped = messagesCodec.tapStream({ withholdUsage: false, target: target() })
    for (const event of events) tapped.push(event)
    return tapped
  }
  test('counts the stream as started at the first event with content', () => {
    expect(tap([start, ping]).started).toBe(false)
    expect(tap([start, ...block(0, { type: 'text', text: '' })]).started).toBe(true)
    expect(tap([start, ...ending('refusal')])).toMatchObject({ started: true, ended: true, finish: 'refusal' })
    expect(tap([start, ...ending('end_turn')]).usage).toMatchObject({ input: { total: 9 }, output: { total: 5 } })
  })
  test.each([
    ['first', '{"type":"error","error":{"type":"overloaded_error","message":"x"}}'],
    ['last', '{"error":{"type":"overloaded_error","message":"x"},"type":"error"}'],
    ['far behind', `{"request_id":"${'r'.repeat(300)}","error":{"type":"overloaded_error"},"type":"error"}`],
    ['nowhere', '{"error":{"type":"overloaded_error","message":"x"}}'],
  ])('recognises an error without an event name whose type is %s', (_, data) => {
    expect(tap([start, { data }])).toMatchObject({ ended: false, error: { kind: 'overloaded' } })
  })
  test('withholds an error that clients would not recognise', () => {
    const errorBody = '{"type":"error","error":{"type":"overloaded_error","message":"x"}}'
    const passes = (event: SseEvent): boolean => tap([start]).push(event)
    expect(passes({ event: 'error', data: errorBody })).toBe(true)
    expect(passes({ data: errorBody })).toBe(false)
    expect(passes({ event: 'error', data: '{"error":{"message":"x"}}' })).toBe(false)
  })
  test('keeps the end of the stream if further events come under its name', () => {
    const other = { event: 'message_stop', data: '{"type":"content_block_stop","index":0}' }
    expect(tap([start, other]).ended).toBe(false)
    expect(tap([start, ...ending('end_turn'), other]).ended).toBe(true)
  })
  test('works without event names', () => {
    const message = {
      index: 0,
      delta: { type: 'text_delta', text: '{"type":"message_stop"}' },
      type: 'content_block_delta',
    }
    const bare = (event: unknown): SseEvent => ({ data: JSON.stringify(event) })
    const tapped = tap([bare(JSON.parse(start.data)), bare(message)])
    expect(tapped).toMatchObject({ started: true, ended: false })
    tapped.push({ data: '{"type": "message_stop"}' })
    expect(tapped.ended).toBe(true)
  })
  test.each([
    ['half an event', [start, { event: 'content_block_delta', data: '{"type":"content_block_delta","index' }]],
    ['garbage', [start, { event: 'message_delta', data: 'garbage' }]],
    ['an event without a name and with invalid JSON', [start, { data: '{"error":{"\0message":"x"}}' }]],
    ['an error event without data', [start, { event: 'error', data: '' }]],
    ['an end with malformed data', [start, { event: 'message_stop', data: '{"type":"mes\n{"type":"message_stop"}' }]],
    ['usage with malformed data', [start, { event: 'message_delta', data: '{"usage":{"output_tok}}' }]],
    ['a broken end', [start, { event: 'message_stop', data: '{"type":"message_stop"} {"type":"message_stop"}' }]],
    ['an end without a start', [{ event: 'message_stop', data: '{"type":"message_stop"}' }]],
  ])('rejects %s', (_, events) => {
    expect(() => tap(events)).toThrow(GatewayError)
  })
  test('accepts no event of another type as the end, whatever its name', () => {
    const delta = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}'
    const tapped = tap([start, { event: 'message_stop', data: delta }])
    expect(tapped.ended).toBe(false)
    tapped.push({ event: 'message_stop', data: '{}' })
    expect(tapped.ended).toBe(true)
  })
  test('writes heartbeats and failures as events of the format', () => {
    const tapped = tap([start])
    expect(tapped.heartbeat()).toEqual([{ event: 'ping', data: '{"type":"ping"}' }])
    const [event] = tapped.fail({ kind: 'upstream_truncated', status: 502, message: 'Broken off.' })
    expect(event).toEqual({
      event: 'error',
      data: '{"type":"error","error":{"type":"api_error","message":"Broken off."}}',
    })
  })
})
