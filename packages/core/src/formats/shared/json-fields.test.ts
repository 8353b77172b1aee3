import { describe, expect, it, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import { asJson, asStream, completion, generated, message, setUp } from '../../gateway/create-gateway.test-support.ts'
import type { Codec } from '../codec.ts'
import { upstreamCodecs } from '../codecs.ts'
import { geminiCodec } from '../gemini/codec.ts'
import type { ModelRequest, Part, Turn } from '../ir.ts'
import { messagesCodec } from '../messages/index.ts'
import { responsesCodec } from '../responses/codec.ts'
import { exchangeOf } from './exchange.test-support.ts'
import {
  append,
  assignOwn,
  drop,
  dropNulls,
  leftover,
  putBack,
  setOwn,
  takeNumber,
  takeString,
  unread,
} from './json-fields.ts'

it('returns unread fields in their order and does not change the source', () => {
  const source = { a: 'x', b: 1, c: null, d: [], e: { f: 2 } }
  const fields = unread(source)
  expect(takeString(fields, 'a')).toBe('x')
  expect(takeString(fields, 'b')).toBeUndefined()
  expect(takeNumber(fields, 'c')).toBeUndefined()
  drop(fields, 'd')
  drop(fields, 'nowhere')
  expect(JSON.stringify(leftover(fields))).toBe('{"b":1,"e":{"f":2}}')
  expect(Object.keys(leftover(fields) ?? {})).toEqual(['b', 'e'])
  expect(source).toEqual({ a: 'x', b: 1, c: null, d: [], e: { f: 2 } })
})

it('returns no leftover for an object whose fields were all read, null or absent', () => {
  const fields = unread({ a: 'x', b: null })
  takeString(fields, 'a')
  dropNulls(fields)
  expect(leftover(fields)).toBeUndefined()
  expect(leftover(unread({}))).toBeUndefined()
})

it('puts the rest of a field back in its place, or at the end if the field was removed', () => {
  const fields = unread({ a: { b: 1 }, c: 2, d: 3 })
  putBack(fields, 'c', 4)
  drop(fields, 'a')
  putBack(fields, 'a', { b: 5 })
  expect(JSON.stringify(leftover(fields))).toBe('{"c":4,"d":3,"a":{"b":5}}')
})

it('keeps a field named __proto__', () => {
  const fields = unread(JSON.parse('{"__proto__":{"x":1},"a":"b"}'))
  takeString(fields, 'a')
  expect(JSON.stringify(leftover(fields))).toBe('{"__proto__":{"x":1}}')
})

describe('a member with an arbitrary name', () => {
  it('is set without changing the prototype', () => {
    const target: { [name: string]: unknown } = {}
    setOwn(target, '__proto__', { polluted: true })
    assignOwn(target, JSON.parse('{"__proto__": 1, "constructor": 2}') as { [name: string]: unknown })
    expect(JSON.stringify(target)).toBe('{"__proto__":1,"constructor":2}')
    expect(Object.getPrototypeOf(target)).toBe(Object.prototype)
  })
})

/** JSON text, because an object literal would set the prototype. */
const properties = '{"__proto__": {"type": "STRING"}, "b": {"type": "STRING"}}'
const contents = '[{"parts": [{"text": "hi"}]}]'

describe('a property named __proto__ in a schema of a Gemini client', () => {
  it('reaches an upstream of another format', async () => {
    const { post, seen } = setUp({ a: asJson(completion) })
    const tools = `[{"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT", "properties": ${properties}}}]}]`
    await post('/v1beta/models/real:generateContent', `{"contents": ${contents}, "tools": ${tools}}`)
    expect(seen[0]?.body).toContain('"properties":{"__proto__":{"type":"string"},"b":{"type":"string"}}')
  })

  it('reaches a Gemini upstream from a client of another format', async () => {
    const { post, seen } = setUp({ g: asJson(generated) })
    const schema = `{"type": "object", "properties": ${properties.toLowerCase()}}`
    const tools = `[{"type": "function", "function": {"name": "f", "parameters": ${schema}}}]`
    await post(
      '/v1/chat/completions',
      `{"model": "gemini-x", "messages": [{"role": "user", "content": "hi"}], "tools": ${tools}}`,
    )
    expect(seen[0]?.body).toContain('"properties":{"__proto__":{"type":"STRING"},"b":{"type":"STRING"}}')
  })

  it('is reported if it is a schema keyword', async () => {
    const { post } = setUp({ m: asJson(message) })
    const schema =
      '{"type": "object", "properties": {}, "additionalProperties": false, "__proto__": {"type": "string"}}'
    const tools = `[{"type": "function", "function": {"name": "f", "strict": true, "parameters": ${schema}}}]`
    const response = await post(
      '/v1/chat/completions',
      `{"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": "hi"}], "tools": ${tools}}`,
    )
    expect(response.headers.get('modelgate-loss')).toContain('/tools/0')
  })
})

it('forwards a stream field named __proto__ to a client of another format or reports it', async () => {
  const event = (fields: string): string =>
    `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m",${fields}}\n\n`
  const { messages } = setUp({
    a: asStream([
      event('"__proto__":{"a":1},"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]'),
      event('"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]'),
      'data: [DONE]\n\n',
    ]),
  })
  const response = await messages({ model: 'real', stream: true })
  expect(await response.text()).toContain('"/__proto__"')
})

it('appends lists of any length', () => {
  const list = [0]
  append(
    list,
    Array.from({ length: 300_000 }, (_, i) => i),
  )
  expect(list.length).toBe(300_001)
})

const text = (of: string): Part => ({ type: 'text', text: of })
const turn = (role: Turn['role'], ...parts: Part[]): Turn => ({ role, parts })

it.each(upstreamCodecs)('does not change the request when the $format codec merges turns', (codec) => {
  const call = (id: string): Part => ({ type: 'tool-call', id, name: 'f', input: '{}' })
  const result = (callId: string): Part => ({ type: 'tool-result', callId, parts: [text(callId)] })
  const request: ModelRequest = {
    model: 'm',
    stream: false,
    turns: [
      turn('system', text('a')),
      turn('system', text('b')),
      turn('user', text('c')),
      turn('user', text('d')),
      turn('assistant', call('1')),
      turn('assistant', call('2')),
      turn('assistant', call('3')),
      turn('user', result('1')),
      turn('user', result('2'), result('3')),
    ],
  }
  const before = structuredClone(request)
  const encode = () =>
    codec.encodeRequest(request, {
      report: { losses: [], add() {} },
      newId: (prefix) => `${prefix}1`,
      now: () => 0,
      target: { model: 'm', quirks: { alternatingRoles: true } },
    })
  const first = JSON.stringify(encode())
  expect(JSON.stringify(encode())).toBe(first)
  expect(request).toEqual(before)
})

/** `String` throws for this object, because its `toString` and `valueOf` are not functions. */
const wordless: JsonObject = { toString: 1, valueOf: 2 }
const schema = (properties: JsonObject): JsonObject => ({
  model: 'm',
  input: 'hi',
  text: {
    format: { type: 'json_schema', name: 'n', strict: true, schema: { type: 'object', properties, required: ['a'] } },
  },
})

const cases: readonly [field: string, body: JsonObject][] = [
  [
    "a grammar's syntax",
    {
      model: 'm',
      input: 'hi',
      tools: [{ type: 'custom', name: 'run', format: { type: 'grammar', syntax: wordless, definition: 'a' } }],
    },
  ],
  ["the format of a schema's string", schema({ a: { type: 'string', format: wordless } })],
  ['the types of disjoint schemas', schema({ a: { oneOf: [{ type: [wordless, 'string'] }, { type: [wordless] }] } })],
]

test.each(cases)('translates a request with an object as %s', (_, body) => {
  const upstreams: readonly Codec[] = [geminiCodec, messagesCodec]
  for (const upstream of upstreams) {
    const { sent, losses } = exchangeOf(responsesCodec, body, upstream, 'm')
    expect(JSON.stringify({ sent, losses })).toContain('toString')
  }
})
