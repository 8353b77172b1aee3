import { describe, expect, it } from 'vitest'
import { readRefusal, readUpstreamMessage, socketRequest } from './upstream-messages.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const eventOf = (text: string, isFirst = false): string => decode(readUpstreamMessage(encode(text), isFirst).event)

describe('a message of an upstream', () => {
  it.each([
    ['{"type":"response.output_text.delta","delta":"1e400 \\u00e9"}', 'response.output_text.delta'],
    ['{ "delta": "a", "type": "response.x" }', 'response.x'],
  ])('is an event with the same bytes: %s', (text, type) => {
    expect(eventOf(text)).toBe(`event: ${type}\ndata: ${text}\n\n`)
  })

  it('cannot add fields or events to the stream', () => {
    expect(eventOf('{"type":"a\\ndata: {}\\n\\n","b":1}')).toBe('data: {"type":"a\\ndata: {}\\n\\n","b":1}\n\n')
    expect(eventOf('{"type":"response.x",\n"b":1}\r\n\r\ndata: 1')).toBe(
      'event: response.x\ndata: {"type":"response.x", "b":1}    data: 1\n\n',
    )
    expect(eventOf('no JSON')).toBe('data: no JSON\n\n')
  })

  it('loses what belongs to the connection of the upstream', () => {
    expect(eventOf('{"headers":{"a":"b"},"stream_id":"x","type":"response.created","n":1.0}', true)).toBe(
      'event: response.created\ndata: {"type":"response.created","n":1.0}\n\n',
    )
    expect(eventOf('{"type":"keepalive"}')).toBe(': keepalive\n\n')
    expect(eventOf('{"stream_id":"x","type":"keepalive"}')).toBe(': keepalive\n\n')
  })

  it('names the response that can be continued', () => {
    const completed = (type: string) =>
      readUpstreamMessage(encode(`{"type":"${type}","response":{"id":"resp_1"}}`), false)
    expect(completed('response.completed')).toMatchObject({ isTerminal: true, completed: 'resp_1' })
    expect(completed('response.failed')).toMatchObject({ isTerminal: true, completed: undefined })
    expect(completed('response.in_progress')).toMatchObject({ isTerminal: false })
  })
})

describe('an error in place of a response', () => {
  it.each([
    [{ status: 429, error: { code: 'c', headers: { 'Retry-After': '3' } } }, 429, '{"error":{"code":"c"}}'],
    [{ error: { type: 'invalid_request_error' } }, 400, '{"error":{"type":"invalid_request_error"}}'],
    [{ status: 200, code: 'server_error', message: 'm' }, 500, '{"error":{"code":"server_error","message":"m"}}'],
  ])('is a response of HTTP: %j', (message, status, body) => {
    const refusal = readRefusal(encode(JSON.stringify({ type: 'error', ...message })))
    expect([refusal.status, decode(refusal.body)]).toEqual([status, body])
    if (status === 429) expect(refusal.headers['retry-after']).toBe('3')
  })
})

describe('a request as a message', () => {
  const body = '{"model":"m","input":[{"a":1.0},{"b":2}],"previous_response_id":null,"stream":true}'
  const continuation = { id: 'resp_1', whole: '[{"a":1.0},{"b":2}]', added: [{ b: 2 }] }

  it('keeps the bytes of the body', () => {
    expect(socketRequest(body, undefined).whole()).toBe(
      '{"type":"response.create","model":"m","input":[{"a":1.0},{"b":2}],"previous_response_id":null}',
    )
  })

  it('continues the latest response with the added items', () => {
    expect(JSON.parse(socketRequest(body, continuation).continuing('resp_1') ?? '')).toEqual({
      type: 'response.create',
      model: 'm',
      input: [{ b: 2 }],
      previous_response_id: 'resp_1',
    })
  })

  it.each([
    ['another response', body, continuation, 'resp_2'],
    ['an input that was edited', body.replace('1.0', '2.0'), continuation, 'resp_1'],
    ['a repeated input', body.replace('{', '{"input":"x",'), continuation, 'resp_1'],
    ['no continuation', body, undefined, 'resp_1'],
  ])('does not continue with %s', (_, text, given, latest) => {
    expect(socketRequest(text, given).continuing(latest)).toBeUndefined()
  })
})
