import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import { cacheChanges } from './markers.ts'

const long = 'word '.repeat(2000)
const mark = { type: 'ephemeral' }
const text = (value: string, more: JsonObject = {}): JsonObject => ({ type: 'text', text: value, ...more })
const user = (...content: JsonObject[]): JsonObject => ({ role: 'user', content })
const assistant = (...content: JsonObject[]): JsonObject => ({ role: 'assistant', content })
const call = { model: 'claude-sonnet-4-5', lacks: {} }
const messages = (body: JsonObject, model = call.model) => cacheChanges('messages', { ...call, model, body })

describe('marks of a Messages request', () => {
  it('are set after tools, instructions, the newest turn, and the turn before the last response', () => {
    const tools = [{ name: 'a', description: long }, { name: 'b' }, { name: 'c', defer_loading: true }]
    const result = { type: 'tool_result', tool_use_id: 't', content: 'ok' }
    const turns = [
      user(text('1')),
      assistant(text('2')),
      user(text('3')),
      assistant(text('4')),
      user(result, text('5')),
    ]
    expect(messages({ tools, system: long, messages: turns })).toEqual({
      tools: [tools[0], { name: 'b', cache_control: mark }, tools[2]],
      system: [text(long, { cache_control: mark })],
      messages: [
        ...turns.slice(0, 2),
        user(text('3', { cache_control: mark })),
        turns[3],
        user(result, text('5', { cache_control: mark })),
      ],
    })
  })

  it('are not set on thinking, empty texts and prefilled responses', () => {
    const thinking = { type: 'thinking', thinking: 'x', signature: 's' }
    const changes = messages({
      system: [text(long), text('')],
      messages: [user(text('1')), assistant(thinking), user(text('2'), text('')), assistant(text('The'))],
    })
    expect(changes).toEqual({
      system: [text(long, { cache_control: mark }), text('')],
      messages: [
        user(text('1', { cache_control: mark })),
        assistant(thinking),
        user(text('2', { cache_control: mark }), text('')),
        assistant(text('The')),
      ],
    })
  })

  it('leave out the only turn of a request without tools, which may never be sent again', () => {
    expect(messages({ system: long, messages: [{ role: 'user', content: 'Hi' }] })).toEqual({
      system: [text(long, { cache_control: mark })],
    })
    expect(messages({ system: long, tools: [{ name: 'f' }], messages: [{ role: 'user', content: 'Hi' }] })).toEqual({
      system: [text(long, { cache_control: mark })],
      messages: [user(text('Hi', { cache_control: mark }))],
    })
  })

  it.each<[string, JsonObject]>([
    ['a mark on a block', { system: [text(long, { cache_control: mark })], messages: [user(text('1'))] }],
    [
      'a mark in a tool result',
      { system: long, messages: [user({ type: 'tool_result', content: [text('1', { cache_control: mark })] })] },
    ],
    ['a mark on a tool', { system: long, tools: [{ name: 'f', cache_control: mark }], messages: [user(text('1'))] }],
    ['the automatic mark', { system: long, cache_control: mark, messages: [user(text('1'))] }],
  ])('are not added to %s of the client', (_, body) => expect(messages(body)).toBeUndefined())

  it('are not set if the whole prompt is below the minimum of the model', () => {
    const body = (chars: number): JsonObject => ({
      system: 'x'.repeat(chars),
      tools: [{ name: 'f' }],
      messages: [user(text('1'))],
    })
    expect(messages(body(4000))).toBeUndefined()
    expect(messages(body(5000))).toBeDefined()
    expect(messages(body(5000), 'claude-haiku-4-5')).toBeUndefined()
    expect(messages(body(17_000), 'claude-haiku-4-5')).toBeDefined()
  })
})

describe('cache points of a Converse request', () => {
  const point = { cachePoint: { type: 'default' } }
  const body: JsonObject = {
    system: [{ text: long }],
    toolConfig: { tools: [{ toolSpec: { name: 'f', description: long } }], toolChoice: { auto: {} } },
    messages: [user({ text: '1' }), assistant({ text: '2' }), user({ text: '3' })],
  }
  const converse = (model: string, of = body) => cacheChanges('converse', { ...call, model, body: of })

  it('are set in the same places', () => {
    expect(converse('anthropic.claude-sonnet-4-5-v1:0')).toEqual({
      system: [{ text: long }, point],
      toolConfig: { tools: [{ toolSpec: { name: 'f', description: long } }, point], toolChoice: { auto: {} } },
      messages: [user({ text: '1' }, point), assistant({ text: '2' }), user({ text: '3' }, point)],
    })
  })

  it('are set where the model accepts them', () => {
    expect(Object.keys(converse('amazon.nova-pro-v1:0') ?? {})).toEqual(['system', 'messages'])
    expect(converse('meta.llama3-70b-instruct-v1:0')).toBeUndefined()
  })

  it('leave out the only turn of a request without tools, as in a Messages request', () => {
    const messages = [user({ text: '1' })]
    const system = [{ text: long }]
    for (const request of [
      { system, messages },
      { system, messages, toolConfig: { tools: [] } },
    ])
      expect(converse('amazon.nova-pro-v1:0', request)).toEqual({ system: [{ text: long }, point] })
  })

  it('are not added to those of the client', () => {
    expect(converse('amazon.nova-pro-v1:0', { ...body, system: [{ text: long }, point] })).toBeUndefined()
  })
})

describe('the key of an OpenAI request', () => {
  it.each(['chat', 'responses'] as const)(
    'is added if there is a conversation and the upstream has the field: %s',
    (format) => {
      const changes = (body: JsonObject, lacks = {}) =>
        cacheChanges(format, { body, model: 'gpt-5', lacks, conversation: 'mg-1' })
      expect(changes({})).toEqual({ prompt_cache_key: 'mg-1' })
      expect(changes({ prompt_cache_key: 'mine' })).toBeUndefined()
      expect(changes({}, { prompt_cache_key: 'refused' })).toBeUndefined()
      expect(cacheChanges(format, { body: {}, model: 'gpt-5', lacks: {} })).toBeUndefined()
    },
  )
})

it('Gemini needs no marks', () => {
  expect(cacheChanges('gemini', { ...call, body: { systemInstruction: long } })).toBeUndefined()
})
