import { describe, expect, it } from 'vitest'
import type { SseEvent } from '../sse/sse.ts'
import type { EventWriter, FramingName } from './framing.ts'
import { framings } from './framings.ts'
import { SseWriter } from './sse-writer.ts'

const decoder = new TextDecoder()
const textOf = (bytes: Uint8Array | undefined): string | undefined => bytes && decoder.decode(bytes)

type TextFraming = Exclude<FramingName, 'named-frames' | 'chunk-frames'> | 'sse'

const open = async (name: TextFraming): Promise<EventWriter> =>
  name === 'sse' ? new SseWriter() : (await framings[name]()).open()

const events: readonly SseEvent[] = [
  { event: ':', data: 'a comment' },
  { event: 'named', data: '{"a":1}' },
  { data: '{"text":"line\\n [DONE] é"}' },
]

const written: Readonly<Record<TextFraming, readonly [whole: string, empty: string | undefined]>> = {
  sse: [
    ': a comment\n\nevent: named\ndata: {"a":1}\n\ndata: {"text":"line\\n [DONE] é"}\n\ndata: [DONE]\n\n',
    undefined,
  ],
  'json-array': ['[{"a":1},\r\n{"text":"line\\n [DONE] é"}\n]', '[]'],
  ndjson: ['{"a":1}\n{"text":"line\\n [DONE] é"}\n', undefined],
}

describe.each(Object.entries(written))('the framing %s', (name, [whole, empty]) => {
  it('writes events, and comments and end markers only as server-sent events', async () => {
    const writer = await open(name as TextFraming)
    writer.write(events)
    writer.write([{ data: '[DONE]' }])
    writer.end()
    expect(textOf(writer.take())).toBe(whole)
    expect(writer.take()).toBeUndefined()
  })

  it('writes the same text however the events are grouped', async () => {
    const writer = await open(name as TextFraming)
    let text = ''
    for (const event of [...events, { data: ' [DONE] ' }]) {
      writer.write([event])
      text += textOf(writer.take()) ?? ''
    }
    writer.end()
    writer.end()
    text += textOf(writer.take()) ?? ''
    expect(text).toBe(name === 'sse' ? whole.replace('data: [DONE]', 'data:  [DONE] ') : whole)
  })

  it('writes a stream without events as the shortest valid body', async () => {
    const writer = await open(name as TextFraming)
    writer.end()
    expect(textOf(writer.take())).toBe(empty)
  })
})

describe('heartbeats', () => {
  const own = (): SseEvent[] => [{ event: ':', data: 'ping' }]

  it('are the format’s own in server-sent events', async () => {
    expect(textOf((await open('sse')).heartbeat(own))).toBe(': ping\n\n')
  })

  it.each(['json-array', 'ndjson'] as const)('are white space in %s, so that the body stays valid', async (name) => {
    const writer = await open(name)
    const beat = (): string => textOf(writer.heartbeat(own)) ?? ''
    let text = beat()
    for (const event of events) {
      writer.write([event])
      text += (textOf(writer.take()) ?? '') + beat()
    }
    writer.write([{ data: '{"done":true}' }])
    writer.end()
    text += textOf(writer.take()) ?? ''
    const lines = name === 'ndjson' ? text.split('\n').slice(0, -1) : [text]
    expect(lines.flatMap((line) => JSON.parse(line) as unknown)).toEqual([
      { a: 1 },
      { text: 'line\n [DONE] é' },
      { done: true },
    ])
    expect(lines.every((line) => line.trim() !== '')).toBe(true)
  })
})

describe('the framing ndjson', () => {
  it('reports late losses in a member of the next line', async () => {
    const writer = await open('ndjson')
    writer.write([{ event: ':', data: 'modelgate-loss "/a";kind=unsupported;severity=warn' }])
    writer.write([{ data: '{"done":true}' }, { data: '{"more":1}' }])
    const lines = (textOf(writer.take()) ?? '').split('\n').filter((line) => line !== '')
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { modelgate_loss: '"/a";kind=unsupported;severity=warn', done: true },
      { more: 1 },
    ])
  })

  it('writes data with line ends as one line', async () => {
    const writer = await open('ndjson')
    writer.write([{ data: '{\n "a": 1\n}' }])
    expect(textOf(writer.take())).toBe('{  "a": 1 }\n')
  })
})
