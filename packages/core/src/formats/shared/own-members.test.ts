import { describe, expect, it } from 'vitest'
import { asJson, asStream, completion, generated, message, setUp } from '../../gateway/create-gateway.test-support.ts'
import { assignOwn, setOwn } from './own-members.ts'

describe('a member with a name that a sender chose', () => {
  it('is set under any name', () => {
    const target: { [name: string]: unknown } = {}
    setOwn(target, '__proto__', { polluted: true })
    assignOwn(target, JSON.parse('{"__proto__": 1, "constructor": 2}') as { [name: string]: unknown })
    expect(JSON.stringify(target)).toBe('{"__proto__":1,"constructor":2}')
    expect(Object.getPrototypeOf(target)).toBe(Object.prototype)
  })
})

/** Written as text: a literal would set the prototype. */
const properties = '{"__proto__": {"type": "STRING"}, "b": {"type": "STRING"}}'
const contents = '[{"parts": [{"text": "hi"}]}]'

describe('a property named __proto__ in a schema of a Gemini client', () => {
  it('reaches an upstream of another format', async () => {
    const { post, seen } = setUp({ a: asJson(completion) })
    const tools = `[{"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT", "properties": ${properties}}}]}]`
    await post('/v1beta/models/real:generateContent', `{"contents": ${contents}, "tools": ${tools}}`)
    expect(seen[0]?.body).toContain('"properties":{"__proto__":{"type":"string"},"b":{"type":"string"}}')
  })

  it('reaches an upstream of this format from a client of another', async () => {
    const { post, seen } = setUp({ g: asJson(generated) })
    const schema = `{"type": "object", "properties": ${properties.toLowerCase()}}`
    const tools = `[{"type": "function", "function": {"name": "f", "parameters": ${schema}}}]`
    await post(
      '/v1/chat/completions',
      `{"model": "gemini-x", "messages": [{"role": "user", "content": "hi"}], "tools": ${tools}}`,
    )
    expect(seen[0]?.body).toContain('"properties":{"__proto__":{"type":"STRING"},"b":{"type":"STRING"}}')
  })

  it('is reported where a schema keyword has that name', async () => {
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

it('a field named __proto__ beside the chunks of a stream reaches the client of another format or is reported', async () => {
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
