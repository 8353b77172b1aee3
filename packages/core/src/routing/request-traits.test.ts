import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../base/json/json.ts'
import type { Feature, RequestTraits } from '../config/config.ts'
import { chatCodec } from '../formats/chat/codec.ts'
import type { Codec } from '../formats/codec.ts'
import { geminiCodec } from '../formats/gemini/codec.ts'
import { messagesCodec } from '../formats/messages/codec.ts'
import { responsesCodec } from '../formats/responses/codec.ts'
import { createRequestTraits, matchesWhen } from './request-traits.ts'
import type { ResolvedTarget } from './router.ts'

describe('a body that is only partly validated', () => {
  it.each([
    [chatCodec, { model: 'm', messages: [{ role: 'user', content: [null, 5] }], tools: 'x' }],
    [geminiCodec, { contents: [[{ parts: 5 }]], tools: [5] }],
    [responsesCodec, { model: 'm', input: [null, { type: 5 }], tools: [null] }],
  ] as const)('has its features determined without an exception', (codec, body) => {
    expect(() => traits(codec, body as unknown as JsonObject).uses('tools')).not.toThrow()
  })
})

const all: readonly Feature[] = ['tools', 'images', 'audio', 'video', 'documents', 'json', 'reasoning', 'stream']

function traits(codec: Codec | undefined, body: JsonObject, stream = false): RequestTraits {
  const format = codec?.format ?? 'chat'
  return createRequestTraits({
    codec,
    request: { value: body, fields: body, text: JSON.stringify(body), bytes: new Uint8Array(), members: [] },
    inbound: {
      method: 'POST',
      path: '/',
      query: '',
      header: (name) => (name === 'x-team' ? 'red' : undefined),
      read: async () => new Uint8Array(),
      signal: new AbortController().signal,
    },
    record: {
      requestId: 'r',
      operation: 'generate',
      format,
      startedAt: 0,
      arrivedAt: 0,
      identity: { id: 'someone' },
      model: 'm',
      stream,
      losses: [],
      attempts: [],
    },
  })
}
const used = (codec: Codec | undefined, body: JsonObject, stream = false): Feature[] => {
  const { uses } = traits(codec, body, stream)
  return all.filter((feature) => uses(feature))
}

const chat = (content: JsonObject | string, more: JsonObject = {}): JsonObject => ({
  model: 'm',
  messages: [{ role: 'user', content: typeof content === 'string' ? content : [content] }],
  ...more,
})
const messages = (content: JsonObject | string, more: JsonObject = {}): JsonObject => ({
  ...chat(content),
  max_tokens: 2000,
  ...more,
})
const responses = (content: JsonObject | string, more: JsonObject = {}): JsonObject => ({
  model: 'm',
  input: [{ role: 'user', content: typeof content === 'string' ? content : [content] }],
  ...more,
})
const gemini = (part: JsonObject | string, generationConfig: JsonObject = {}, more: JsonObject = {}): JsonObject => ({
  contents: [{ role: 'user', parts: [typeof part === 'string' ? { text: part } : part] }],
  generationConfig,
  ...more,
})
const inline = (mimeType: string): JsonObject => ({ inlineData: { mimeType, data: 'AAAA' } })
const png = 'data:image/png;base64,AAAA'
const schema: JsonObject = { type: 'object', properties: {} }
const base64 = (media_type: string): JsonObject => ({ type: 'base64', media_type, data: 'AAAA' })
const callOf = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }

describe('the features of a request', () => {
  it.each<[string, Codec, JsonObject, Feature[]]>([
    ['nothing', chatCodec, chat('Hi'), []],
    ['nothing for empty options', chatCodec, chat('Hi', { tools: [], response_format: { type: 'text' } }), []],
    ['tools', chatCodec, chat('Hi', { tools: [{ type: 'function', function: { name: 'f' } }] }), ['tools']],
    [
      'tools for calls in earlier turns',
      chatCodec,
      {
        model: 'm',
        messages: [
          { role: 'assistant', tool_calls: [callOf] },
          { role: 'tool', tool_call_id: 'call_1', content: 'x' },
        ],
      },
      ['tools'],
    ],
    ['images', chatCodec, chat({ type: 'image_url', image_url: { url: png } }), ['images']],
    ['audio', chatCodec, chat({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }), ['audio']],
    [
      'audio for audio in the response',
      chatCodec,
      chat('Hi', { modalities: ['text', 'audio'], audio: { voice: 'x', format: 'wav' } }),
      ['audio'],
    ],
    [
      'documents',
      chatCodec,
      chat({ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } }),
      ['documents'],
    ],
    ['json', chatCodec, chat('Hi', { response_format: { type: 'json_object' } }), ['json']],
    [
      'json with a schema',
      chatCodec,
      chat('Hi', { response_format: { type: 'json_schema', json_schema: { name: 's', schema } } }),
      ['json'],
    ],
    ['reasoning', chatCodec, chat('Hi', { reasoning_effort: 'low' }), ['reasoning']],
    ['nothing if reasoning is disabled', chatCodec, chat('Hi', { reasoning_effort: 'none' }), []],

    ['nothing', messagesCodec, messages('Hi'), []],
    ['tools', messagesCodec, messages('Hi', { tools: [{ name: 'f', input_schema: schema }] }), ['tools']],
    [
      'tools for the provider’s own tools',
      messagesCodec,
      messages('Hi', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }),
      ['tools'],
    ],
    ['images', messagesCodec, messages({ type: 'image', source: base64('image/png') }), ['images']],
    [
      'images for an image in a tool result',
      messagesCodec,
      messages({ type: 'tool_result', tool_use_id: 't', content: [{ type: 'image', source: base64('image/png') }] }),
      ['tools', 'images'],
    ],
    ['documents', messagesCodec, messages({ type: 'document', source: base64('application/pdf') }), ['documents']],
    ['json', messagesCodec, messages('Hi', { output_config: { format: { type: 'json_schema', schema } } }), ['json']],
    ['reasoning', messagesCodec, messages('Hi', { thinking: { type: 'enabled', budget_tokens: 1024 } }), ['reasoning']],
    ['nothing if reasoning is disabled', messagesCodec, messages('Hi', { thinking: { type: 'disabled' } }), []],

    ['nothing', responsesCodec, responses('Hi'), []],
    ['nothing for plain text', responsesCodec, { model: 'm', input: 'Hi' }, []],
    [
      'tools',
      responsesCodec,
      responses('Hi', { tools: [{ type: 'function', name: 'f', parameters: schema }] }),
      ['tools'],
    ],
    ['images', responsesCodec, responses({ type: 'input_image', image_url: png }), ['images']],
    [
      'documents',
      responsesCodec,
      responses({ type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' }),
      ['documents'],
    ],
    [
      'json',
      responsesCodec,
      responses('Hi', { text: { format: { type: 'json_schema', name: 's', schema } } }),
      ['json'],
    ],
    ['reasoning', responsesCodec, responses('Hi', { reasoning: { effort: 'high' } }), ['reasoning']],
    ['nothing if reasoning is disabled', responsesCodec, responses('Hi', { reasoning: { effort: 'none' } }), []],

    ['nothing', geminiCodec, gemini('Hi'), []],
    ['tools', geminiCodec, gemini('Hi', {}, { tools: [{ functionDeclarations: [{ name: 'f' }] }] }), ['tools']],
    ['images', geminiCodec, gemini(inline('image/png')), ['images']],
    [
      'images for images in the response',
      geminiCodec,
      gemini('Hi', { responseModalities: ['TEXT', 'IMAGE'] }),
      ['images'],
    ],
    ['audio', geminiCodec, gemini(inline('audio/wav')), ['audio']],
    ['audio for audio in the response', geminiCodec, gemini('Hi', { responseModalities: ['AUDIO'] }), ['audio']],
    ['video', geminiCodec, gemini(inline('video/mp4')), ['video']],
    ['documents', geminiCodec, gemini(inline('application/pdf')), ['documents']],
    ['json', geminiCodec, gemini('Hi', { responseMimeType: 'application/json' }), ['json']],
    ['reasoning', geminiCodec, gemini('Hi', { thinkingConfig: { thinkingBudget: 1024 } }), ['reasoning']],
    ['nothing if reasoning is disabled', geminiCodec, gemini('Hi', { thinkingConfig: { thinkingBudget: 0 } }), []],
  ])('include %s (%#)', (_, codec, body, features) => {
    expect(used(codec, body)).toEqual(features)
    expect(used(codec, body, true)).toEqual([...features, 'stream'])
  })

  it('include only the stream if the operation is not chat', () =>
    expect(used(undefined, { input: 'x' }, true)).toEqual(['stream']))
})

it('the traits of a request contain the values that the client sent', () => {
  const body = chat('Hi')
  const { uses: _, header, ...rest } = traits(chatCodec, body)
  expect(rest).toEqual({
    model: 'm',
    operation: 'generate',
    format: 'chat',
    stream: false,
    identity: { id: 'someone' },
    body,
    bodyChars: JSON.stringify(body).length,
  })
  expect([header('x-team'), header('x-other')]).toEqual(['red', undefined])
})

it('the traits decode the request once, when a feature is first requested', () => {
  let reads = 0
  const counting: Codec = {
    ...chatCodec,
    decodeRequest(...given) {
      reads++
      return chatCodec.decodeRequest(...given)
    },
  }
  const { uses, body } = traits(counting, chat('Hi'))
  expect([body.model, uses('stream'), reads]).toEqual(['m', false, 0])
  expect([uses('tools'), uses('images'), reads]).toEqual([false, false, 1])
})

describe('the condition of a target', () => {
  const traitsOfImage = (): RequestTraits => traits(chatCodec, chat({ type: 'image_url', image_url: { url: png } }))
  const silent = { warn() {}, error() {} }
  it.each<[ResolvedTarget['when'], boolean]>([
    [undefined, true],
    [['images'], true],
    [['tools'], false],
    [['tools', 'images'], true],
    [['tools', 'audio'], false],
    [[({ identity }) => identity?.id === 'someone'], true],
    [[({ bodyChars }) => bodyChars > 10_000], false],
    [['tools', ({ bodyChars }) => bodyChars < 10_000], true],
  ])('%o matches the request: %s', (when, meant) =>
    expect(matchesWhen({ upstreamName: 'a', when }, traitsOfImage, silent)).toBe(meant),
  )

  it('does not read the request if it is undefined', () =>
    expect(
      matchesWhen(
        { upstreamName: 'a' },
        () => {
          throw new Error('It was looked at.')
        },
        silent,
      ),
    ).toBe(true))

  it('does not match if its function throws, and the error is logged', () => {
    const logged: unknown[] = []
    const logger = { warn: (_: string, why: unknown) => void logged.push(why), error() {} }
    const failure = new Error('I do not know.')
    const throwing = (): boolean => {
      throw failure
    }
    expect(matchesWhen({ upstreamName: 'a', when: [throwing] }, traitsOfImage, logger)).toBe(false)
    expect(logged).toEqual([failure])
  })
})
