import { beforeAll, describe, expect, it } from 'vitest'
import { scanJson } from '../base/json/json.ts'
import { chatCodec } from '../formats/chat/codec.ts'
import { responsesCodec } from '../formats/responses/codec.ts'
import { openai } from '../upstreams/openai.ts'
import { redactorOf } from '../upstreams/redaction/redactor.ts'
import { passThroughLane, streams } from './pass-through.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const text = (chunk: Uint8Array | undefined): string => (chunk === undefined ? '' : new TextDecoder().decode(chunk))
const redactor = redactorOf(openai({ apiKey: 'sk-secret-7f3a91c4' }))

function laneFor(body: string, maxEventChars = 10_000, codec = chatCodec) {
  const value = JSON.parse(body)
  const request = { bytes: bytes(body), text: body, members: scanJson(body, 100).members, value, fields: value }
  return passThroughLane(codec, request, { model: 'real', quirks: {} }, maxEventChars, redactor)
}

const chunk = (content: string): string =>
  `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"real","choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":null}]}`
const usage =
  'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"real","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}'
const metered = '{"model":"real","stream":true}'
const withUsage = '{"model":"real","stream":true,"stream_options":{"include_usage":true}}'

describe('a pass-through request', () => {
  it.each([
    ['{"model":"other","model":"alias"}', '{"model":"real","model":"real"}'],
    ['{"MODEL":"other/alias","model":"alias"}', '{"MODEL":"real","model":"real"}'],
    ['{"MODEL":"models/alias","model":"alias"}', '{"MODEL":"real","model":"real"}'],
    ['{"mod\\u0065l":"other","x":1,"model":"alias"}', '{"mod\\u0065l":"real","x":1,"model":"real"}'],
  ])('contains no model name except the checked one: %s', (body, sent) => {
    expect(laneFor(body).body).toBe(sent)
  })

  it('is forwarded byte for byte if nothing has to change', () => {
    const body = '{ "model" : "real" }'
    expect(laneFor(body).body).toEqual(bytes(body))
  })
})

describe('a pass-through response', () => {
  const answer = (body: string) =>
    laneFor('{"model":"real","input":"hello"}', 10_000, responsesCodec).readResponse(bytes(body)).body

  it('contains no secret of the upstream in its error', () => {
    const failed =
      '{"id":"r","status":"failed","error":{"code":"server_error","message":"no sk-secret-7f3a91c4"},"output":[]}'
    expect(answer(failed)).toBe(failed.replace('sk-secret-7f3a91c4', '***'))
  })

  it('is forwarded byte for byte if it did not fail', () => {
    const good = '{ "id":"r", "status":"completed", "error":null, "output":[ {"text":"sk-secret-7f3a91c4"}] , "n":1.0}'
    expect(answer(good)).toEqual(bytes(good))
  })
})

describe('a pass-through stream', () => {
  beforeAll(async () => {
    await streams()
  })

  const blankLines = ['\n\n', '\r\n\r\n', '\r\r', '\n\r\n', '\r\r\n', '\r\n\n', '\n\r', '\r\n\r']
  it.each(blankLines)('omits only the usage that the gateway requested, with %j after each event', (blank) => {
    const stream = laneFor(metered).openStream()
    stream.push(bytes([chunk('a'), chunk('b'), usage, 'data: [DONE]', ''].join(blank)))
    stream.end()
    expect(text(stream.take())).toBe([chunk('a'), chunk('b'), 'data: [DONE]', ''].join(blank))
    expect(stream.state).toMatchObject({ ended: true, usage: { input: { total: 1 } } })
  })

  it.each([
    ['edited', metered],
    ['unedited', withUsage],
  ])('%s: detects and redacts an error after a byte order mark', (_, body) => {
    const stream = laneFor(body).openStream()
    stream.push(bytes('\ufeffdata: {"error":{"message":"busy sk-secret-7f3a91c4"}}\n\n'))
    expect(stream.state.error).toBeDefined()
    expect(text(stream.take())).toBe('data: {"error":{"message":"busy ***"}}\n\n')
  })

  it.each([
    ['edited', metered],
    ['unedited', withUsage],
  ])('%s: forwards the events before a broken event in the same chunk', (_, body) => {
    const stream = laneFor(body).openStream()
    const good = `${chunk('a')}\n\n${chunk('b')}\n\n`
    expect(() => stream.push(bytes(`${good}data: {"id":\n\n${chunk('c')}\n\n`))).toThrow()
    expect(text(stream.take())).toBe(good)
  })

  it.each([
    ['edited', metered],
    ['unedited', withUsage],
  ])('%s: converts an error outside of an event to an event', (_, body) => {
    const stream = laneFor(body).openStream()
    stream.push(bytes(`${chunk('a')}\n\n{\n "error": {"message": "busy sk-secret-7f3a91c4"}\n}\n`))
    stream.end()
    const out = text(stream.take())
    expect(out.startsWith(`${chunk('a')}\n\ndata: {"error":{`)).toBe(true)
    expect(out).toContain('busy ***')
    expect(stream.state.error).toBeDefined()
  })

  it.each([
    ['edited', metered, 'data: '],
    ['unedited', withUsage, 'data: '],
    ['edited', metered, ': comment\n'],
    ['unedited', withUsage, ': comment\n'],
  ])('%s: fails when an event never ends (%j of %j)', (_, body, piece) => {
    const stream = laneFor(body, 1000).openStream()
    const endless = (): void => {
      for (let i = 0; i < 1000; i++) stream.push(bytes(piece))
    }
    expect(endless).toThrow('too large')
  })
})

describe('a failing responses stream', () => {
  beforeAll(async () => {
    await streams()
  })

  const event = (type: string, more: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
  const before =
    event('response.created', { sequence_number: 0, response: { id: 'r', status: 'in_progress' } }) +
    event('response.output_text.delta', { sequence_number: 1, delta: 'a' })
  const error = event('error', {
    sequence_number: 2,
    error: { code: 'server_error', message: 'busy sk-secret-7f3a91c4' },
  })
  const failed = event('response.failed', {
    sequence_number: 3,
    response: { id: 'r', status: 'failed', error: { code: 'server_error', message: 'busy sk-secret-7f3a91c4' } },
  })
  const open = () => laneFor('{"model":"real","stream":true}', 10_000, responsesCodec).openStream()

  it.each([
    ['in one chunk with content', [before + error + failed]],
    ['in one chunk', [before, error + failed]],
    ['one by one', [before, error, failed]],
  ])('forwards both events redacted when they arrive %s', (_, chunks) => {
    const stream = open()
    for (const one of chunks) stream.push(bytes(one))
    expect(text(stream.take())).toBe((before + error + failed).replaceAll('sk-secret-7f3a91c4', '***'))
    expect(stream.state.error).toMatchObject({ message: 'busy sk-secret-7f3a91c4' })
  })

  const completed = event('response.completed', { sequence_number: 3, response: { id: 'r', status: 'completed' } })
  it('reports an error once that arrives both outside of an event and as an event', () => {
    const stream = open()
    stream.push(bytes(`${before}{"error":{"message":"busy sk-secret-7f3a91c4"}}\n${error}`))
    stream.end()
    const out = text(stream.take()) + text(stream.fail({ kind: 'upstream_truncated', status: 502, message: 'cut' }))
    expect(out.match(/^data: \{.*"error":/gm)).toHaveLength(2)
    expect(out).toMatch(/event: error\n[^\n]+\n\nevent: response.failed\n[^\n]+\n\n$/)
    expect(out).not.toContain('sk-secret-7f3a91c4')
  })

  it.each([
    ['another final event', completed],
    ['an event without data', 'data\n\n'],
    ['an event name without data', 'event: x\n\n'],
    ['a comment', ': wait\n\n'],
    ['the end marker of another format', 'data: [DONE]\n\n'],
  ])('has only the final event that clients expect after its error: %s', (_, more) => {
    const stream = open()
    stream.push(bytes(before + error + more))
    stream.end()
    expect(stream.state).toMatchObject({ ended: false })
    const info = { kind: 'upstream_truncated', status: 502, message: 'cut' } as const
    const out = text(stream.take()) + text(stream.fail(info))
    const shown = (before + error).replace('sk-secret-7f3a91c4', '***')
    expect(out.startsWith(`${shown}event: response.failed\n`)).toBe(true)
    expect(out).not.toContain('sk-secret-7f3a91c4')
    expect(out.slice(shown.length).split('\n\n')).toHaveLength(2)
  })
})
