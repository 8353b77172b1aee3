import { expect, it } from 'vitest'
import { createEventReader, type ServerEvent } from './sse-parser.ts'

const text =
  'event: one\r\ndata: {"a":1}\r\n\r\n: a comment\n\ndata:two\ndata: lines\rid: 7\n\ndata\n\nevent: no data\n\ndata: cut'
const wanted: ServerEvent[] = [
  { event: 'one', data: '{"a":1}' },
  { event: undefined, data: 'two\nlines' },
  { event: undefined, data: '' },
]

it.each([1, 2, 3, 5, 1000])('reads the same events from chunks of %i characters', (size) => {
  const comments: string[] = []
  const read = createEventReader((comment) => comments.push(comment))
  const events: ServerEvent[] = []
  for (let at = 0; at < text.length; at += size) events.push(...read(text.slice(at, at + size)))
  expect(events).toEqual(wanted)
  expect(comments).toEqual(['a comment'])
})
