import { describe, expect, it } from 'vitest'
import { errorMessage, ResponseMessages } from './server-events.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const messagesOf = (text: string, streamId?: string, headers: Record<string, string> = {}): string[] =>
  new ResponseMessages(streamId, headers).push(encode(text)).map(decode)

describe('messages of a stream', () => {
  it.each([
    [
      'events with names',
      'event: a\ndata: {"type":"a"}\n\nevent: b\ndata: {"type":"b"}\n\n',
      ['{"type":"a"}', '{"type":"b"}'],
    ],
    ['events without names or spaces', 'data:{"type":"a"}\n\ndata:{"type":"b"}\n\n', ['{"type":"a"}', '{"type":"b"}']],
    [
      'carriage returns',
      'event: a\r\ndata: {"type":"a"}\r\n\r\ndata: {"type":"b"}\r\n\r\n',
      ['{"type":"a"}', '{"type":"b"}'],
    ],
    ['several data lines', 'data: {"type":\ndata: "a"}\n\n', ['{"type":"a"}']],
    ['a type that only the name states', 'event: a\ndata: { "x":1}\n\n', ['{"type":"a", "x":1}']],
    [
      'a type after a long member',
      `event: b\ndata: {"x":"${'y'.repeat(100)}","type":"a"}\n\n`,
      [`{"x":"${'y'.repeat(100)}","type":"a"}`],
    ],
    ['an empty object', 'event: a\ndata: {}\n\n', ['{"type":"a"}']],
    ['the end mark of other formats', 'data: [DONE]\n\n', []],
    ['other fields', 'id: 7\nretry: 10\ndata: {"type":"a"}\n\n', ['{"type":"a"}']],
    ['a last event without a blank line', 'data: {"type":"a"}', ['{"type":"a"}']],
  ])('are the JSON of its events: %s', (_, text, messages) => {
    expect(messagesOf(text)).toEqual(messages)
  })

  it('are the very bytes of the events without a lane or headers', () => {
    const chunk = encode('event: a\ndata: {"type":"a", "n":1.0, "text":"\\u00e4ö"}\n\n')
    const [message] = new ResponseMessages(undefined, {}).push(chunk)
    expect(message?.buffer).toBe(chunk.buffer)
    expect(message === undefined ? '' : decode(message)).toBe('{"type":"a", "n":1.0, "text":"\\u00e4ö"}')
  })

  it('name their lane, and the first one holds the headers that do not describe the body', () => {
    const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-request-id': 'req_1' }
    expect(messagesOf('data: {"type":"a"}\n\ndata: {"type":"b"}\n\ndata: {}\n\n', 'one', headers)).toEqual([
      '{"stream_id":"one","headers":{"x-request-id":"req_1"},"type":"a"}',
      '{"stream_id":"one","type":"b"}',
      '{"stream_id":"one"}',
    ])
  })

  it('report losses of a comment with the next event, and show that a silent stream is alive', () => {
    expect(messagesOf(': keep-alive\n\n: modelgate-loss "/a";kind=unsupported\n\ndata: {"type":"z"}\n\n', 'x')).toEqual(
      [
        '{"stream_id":"x","type":"keepalive"}',
        '{"stream_id":"x","headers":{"modelgate-loss":"\\"/a\\";kind=unsupported"},"type":"z"}',
      ],
    )
  })
})

it('an error message has the status, the error and the headers of the reply', () => {
  const error = { type: 'rate_limit_error', code: null, message: 'Slow down.', param: null }
  const headers = { 'content-type': 'application/json', 'retry-after': '7' }
  const reply = { status: 429, headers, body: JSON.stringify({ error }) }
  expect(JSON.parse(decode(errorMessage(reply, 'one')))).toEqual({
    type: 'error',
    status: 429,
    stream_id: 'one',
    error: { ...error, headers: { 'retry-after': '7' } },
    headers: { 'retry-after': '7' },
  })
})
