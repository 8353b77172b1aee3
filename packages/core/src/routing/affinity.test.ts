import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../base/json/json.ts'
import { chatCodec } from '../formats/chat/codec.ts'
import type { Codec } from '../formats/codec.ts'
import { geminiCodec } from '../formats/gemini/codec.ts'
import { messagesCodec } from '../formats/messages/codec.ts'
import { responsesCodec } from '../formats/responses/codec.ts'
import { cacheAffinity, conversationAffinity, conversationId, hashToUnitInterval, rendezvous } from './affinity.ts'

const keyed = (count: number): string[] => Array.from({ length: count }, (_, at) => `session ${at}`)

describe('rendezvous', () => {
  const weights: Readonly<Record<string, number>> = { a: 5, b: 3, c: 1, d: 1 }
  const order = (key: string, ids: readonly string[] = Object.keys(weights)): string[] =>
    rendezvous(
      ids,
      key,
      (id) => id,
      (id) => weights[id] ?? 1,
    )
  const keys = keyed(10_000)

  it('assigns each target its share of the keys', () => {
    const firsts = keys.map((key) => order(key)[0])
    for (const [id, weight] of Object.entries(weights)) {
      const share = firsts.filter((first) => first === id).length / keys.length
      expect(Math.abs(share - weight / 10), id).toBeLessThan(0.02)
    }
  })

  it.each(['a', 'b', 'c', 'd'])(
    'moves only the keys of %s when it is removed, to their second targets, by weight',
    (gone) => {
      const left = Object.keys(weights).filter((id) => id !== gone)
      const moved: string[] = []
      for (const key of keys) {
        const [first, ...others] = order(key)
        const now = order(key, left)
        if (first === gone) {
          expect(now).toEqual(others)
          moved.push(now[0] as string)
        } else expect(now[0]).toBe(first)
      }
      const total = left.reduce((sum, id) => sum + (weights[id] as number), 0)
      for (const id of left) {
        const share = moved.filter((to) => to === id).length / moved.length
        expect(Math.abs(share - (weights[id] as number) / total), id).toBeLessThan(0.06)
      }
    },
  )

  it('does not depend on the configured order of targets', () =>
    expect(order('k', ['d', 'b', 'a', 'c'])).toEqual(order('k')))
})

it('hashes similar texts to different, evenly distributed values between 0 and 1', () => {
  const values = keyed(10_000).map(hashToUnitInterval)
  expect(values.every((value) => value > 0 && value < 1)).toBe(true)
  expect(new Set(values).size).toBe(10_000)
  for (let tenth = 0; tenth < 10; tenth++) {
    const share = values.filter((value) => Math.floor(value * 10) === tenth).length / 10_000
    expect(Math.abs(share - 0.1)).toBeLessThan(0.02)
  }
  expect(hashToUnitInterval('')).toBe(hashToUnitInterval(''))
})

const affinity = (codec: Codec | undefined, body: JsonObject, headers: Record<string, string> = {}) =>
  cacheAffinity(codec, body, (name) => headers[name])

const chat = (text: string, more: JsonObject = {}): JsonObject => ({
  messages: [{ role: 'user', content: text }],
  ...more,
})
const messages = (text: string, more: JsonObject = {}): JsonObject => ({ ...chat(text), system: 'Be brief.', ...more })
const responses = (text: string, more: JsonObject = {}): JsonObject => ({
  input: text,
  instructions: 'Be brief.',
  ...more,
})
const gemini = (text: string, more: JsonObject = {}): JsonObject => ({
  contents: [{ role: 'user', parts: [{ text }] }],
  ...more,
})

describe.each([
  ['chat', chatCodec, chat, { prompt_cache_key: 'k' }, 'k'],
  ['messages', messagesCodec, messages, { metadata: { user_id: 'u' } }, 'u'],
  ['responses', responsesCodec, responses, { prompt_cache_key: 'k' }, 'k'],
  ['responses, in a conversation', responsesCodec, responses, { conversation: 'conv_1' }, 'conv_1'],
  ['gemini', geminiCodec, gemini, { cachedContent: 'cachedContents/1' }, 'cachedContents/1'],
] as const)('the affinity of %s', (_, codec, body, named, key) => {
  it('is the key that the client sends, even if it also sends a session', () => {
    expect(affinity(codec, body('Hello', named))).toBe(`key:${key}`)
    expect(affinity(codec, body('Hello', named), { 'x-session-id': 's' })).toBe(`key:${key}`)
  })

  it.each(['x-session-affinity', 'x-session-id', 'x-claude-code-session-id', 'session-id', 'thread-id'])(
    'is the session in %s, even if there is a prompt',
    (name) => {
      expect(affinity(codec, body('Hello'), { [name]: 's1' })).toBe('session:s1')
      expect(affinity(codec, body('Hello'), { [name]: '' })).toMatch(/^prefix:/)
    },
  )

  it('is derived from the beginning of the prompt without a key or session', () => {
    const hello = affinity(codec, body('Hello'))
    expect(hello).toMatch(/^prefix:/)
    expect(affinity(codec, body('Hello', { temperature: 0.1, stream: true }))).toBe(hello)
    expect(affinity(codec, body('Bye'))).not.toBe(hello)
    expect(affinity(codec, body('Hello', { tools: [{ name: 'f' }] }))).not.toBe(hello)
  })

  it.each([[[]], [{}], [7], [''], [null]])('is not a key of an invalid type (%j)', (value) => {
    const odd = Object.fromEntries(Object.keys(named).map((name) => [name, value]))
    expect(affinity(codec, body('Hello', odd))).toMatch(/^prefix:/)
  })
})

describe('the prompt prefix of an affinity', () => {
  const user = (text: string): JsonObject => ({ role: 'user', content: text })
  const assistantMessage = (text: string): JsonObject => ({ role: 'assistant', content: text })

  it.each<[string, Codec, string, JsonObject, JsonObject]>([
    ['chat', chatCodec, 'messages', { role: 'system', content: 'Be brief.' }, user('Hi')],
    ['messages', messagesCodec, 'messages', assistantMessage('Prefilled'), user('Hi')],
    ['responses', responsesCodec, 'input', { role: 'developer', content: 'Be brief.' }, user('Hi')],
    ['gemini', geminiCodec, 'contents', { role: 'model', parts: [{ text: 'x' }] }, { parts: [{ text: 'Hi' }] }],
  ])('ends with the first user turn (%s)', (_, codec, field, before, first) => {
    const of = (...turns: JsonObject[]) => affinity(codec, { [field]: turns })
    const short = of(before, first)
    expect(of(before, first, assistantMessage('Hello'), user('And now?'))).toBe(short)
    expect(of(first)).not.toBe(short)
    expect(of(before, user('Something else'))).not.toBe(short)
  })

  it('includes the instructions of each format', () => {
    expect(affinity(messagesCodec, messages('x', { system: 'Long.' }))).not.toBe(affinity(messagesCodec, messages('x')))
    expect(affinity(responsesCodec, responses('x', { instructions: 'Long.' }))).not.toBe(
      affinity(responsesCodec, responses('x')),
    )
    for (const name of ['systemInstruction', 'system_instruction'])
      expect(affinity(geminiCodec, gemini('x', { [name]: { parts: [] } }))).not.toBe(affinity(geminiCodec, gemini('x')))
  })

  it('is limited in length', () => {
    const long = 'x'.repeat(200_000)
    const key = affinity(messagesCodec, messages(long, { system: long, tools: [long] }))
    expect(key?.length).toBeLessThan(3 * 16_384 + 10)
  })
})

describe('the affinity of calls without chat', () => {
  it('is the session, or undefined without one', () => {
    expect(affinity(undefined, { input: 'text' }, { 'x-session-id': 's' })).toBe('session:s')
    expect(affinity(undefined, { input: 'text' })).toBeUndefined()
    expect(affinity(chatCodec, {})).toBeUndefined()
  })
})

describe('the affinity of a conversation', () => {
  const user = { role: 'user', content: 'Hi' }
  const of = (body: JsonObject, headers: Readonly<Record<string, string>> = {}) =>
    conversationAffinity(chatCodec, body, (name) => headers[name])

  it('is that of the prompt cache, if the request has tools, continues a response, or names its session', () => {
    const tools = [{ type: 'function', function: { name: 'f' } }]
    const later = { messages: [user, { role: 'assistant', content: 'Hello' }, user] }
    expect(of({ messages: [user], tools })).toBe(affinity(chatCodec, { messages: [user], tools }))
    expect(of(later)).toBe(affinity(chatCodec, later))
    expect(of({ messages: [user], prompt_cache_key: 'k' })).toBe('key:k')
    expect(of({ messages: [user] }, { 'x-session-id': 's' })).toBe('session:s')
  })

  it('is absent for a single question, which many callers may ask', () => {
    expect(of({ messages: [user] })).toBeUndefined()
    expect(of({ messages: [{ role: 'system', content: 'Be brief.' }, user], tools: [] })).toBeUndefined()
    expect(conversationAffinity(undefined, {}, () => undefined)).toBeUndefined()
  })

  it('tells conversations apart that begin with the same long instructions', () => {
    const system = { role: 'system', content: 'rules '.repeat(5000) }
    const names = ['a', 'b'].map((content) =>
      of({ messages: [system, { role: 'user', content }], tools: [{ type: 'x' }] }),
    )
    expect(names[0]).not.toBe(names[1])
  })

  it('has a name that differs for each caller', () => {
    const names = [null, { id: 'ann' }, { id: 'ben' }].map((identity) => conversationId(identity, 'prefix:x'))
    expect(new Set(names).size).toBe(3)
    expect(conversationId({ id: 'ann' }, 'prefix:y')).not.toBe(names[1])
    for (const name of names) expect(name).toMatch(/^mg-[0-9a-z]+$/)
  })
})
