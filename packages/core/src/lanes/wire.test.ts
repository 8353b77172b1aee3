import { describe, expect, it } from 'vitest'
import { chatCodec } from '../formats/chat/index.ts'
import { scanJson } from '../json/scan.ts'
import { wireLane } from './wire.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const text = (chunk: Uint8Array | undefined): string => (chunk === undefined ? '' : new TextDecoder().decode(chunk))
const redact = (words: string): string => words.replaceAll('sk-secret', '***')

function laneFor(body: string, maxEventChars = 10_000) {
  const value = JSON.parse(body)
  const request = { bytes: bytes(body), text: body, members: scanJson(body, 100).members, value }
  return wireLane(chatCodec, request, { model: 'real', quirks: {} }, maxEventChars, redact)
}

const chunk = (content: string): string =>
  `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"real","choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":null}]}`
const usage =
  'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"real","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}'
const metered = '{"model":"real","stream":true}'
const asked = '{"model":"real","stream":true,"stream_options":{"include_usage":true}}'

describe('the request', () => {
  it.each([
    ['{"model":"other","model":"real"}', '{"model":"real","model":"real"}'],
    ['{"mod\\u0065l":"other","x":1,"model":"real"}', '{"mod\\u0065l":"real","x":1,"model":"real"}'],
  ])('leaves an upstream no other model to read than the one checked: %s', (body, sent) => {
    expect(laneFor(body).body).toBe(sent)
  })

  it('is the same bytes where nothing is to change', () => {
    const body = '{ "model" : "real" }'
    expect(laneFor(body).body).toEqual(bytes(body))
  })
})

describe('the stream', () => {
  const blankLines = ['\n\n', '\r\n\r\n', '\r\r', '\n\r\n', '\r\r\n', '\r\n\n', '\n\r', '\r\n\r']
  it.each(blankLines)('withholds the usage it asked for and nothing else, with %j behind each event', (blank) => {
    const stream = laneFor(metered).openStream()
    stream.push(bytes([chunk('a'), chunk('b'), usage, 'data: [DONE]', ''].join(blank)))
    stream.end()
    expect(text(stream.take())).toBe([chunk('a'), chunk('b'), 'data: [DONE]', ''].join(blank))
    expect(stream.state).toMatchObject({ ended: true, usage: { input: { total: 1 } } })
  })

  it.each([
    ['edited', metered],
    ['passed', asked],
  ])('%s: an error behind a byte order mark is seen and cleaned', (_, body) => {
    const stream = laneFor(body).openStream()
    stream.push(bytes('\ufeffdata: {"error":{"message":"busy sk-secret"}}\n\n'))
    expect(stream.state.error).toBeDefined()
    expect(text(stream.take())).toBe('data: {"error":{"message":"busy ***"}}\n\n')
  })

  it.each([
    ['edited', metered],
    ['passed', asked],
  ])('%s: what stood before a broken event in the same chunk is the client’s', (_, body) => {
    const stream = laneFor(body).openStream()
    const good = `${chunk('a')}\n\n${chunk('b')}\n\n`
    expect(() => stream.push(bytes(`${good}data: {"id":\n\n${chunk('c')}\n\n`))).toThrow()
    expect(text(stream.take())).toBe(good)
  })

  it.each([
    ['edited', metered, 'data: '],
    ['passed', asked, 'data: '],
    ['edited', metered, ': comment\n'],
    ['passed', asked, ': comment\n'],
  ])('%s: is given up when an event never ends (%j of %j)', (_, body, piece) => {
    const stream = laneFor(body, 1000).openStream()
    const endless = (): void => {
      for (let i = 0; i < 1000; i++) stream.push(bytes(piece))
    }
    expect(endless).toThrow('too large')
  })
})
