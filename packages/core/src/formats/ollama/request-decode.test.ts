import { describe, expect, it, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import type { ModelRequest } from '../ir.ts'
import { createReport } from '../loss-report.ts'
import { ollamaCodec, ollamaGenerateCodec } from './codec.ts'

const least: JsonObject = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }

function decode(body: JsonObject, codec = ollamaCodec) {
  const report = createReport()
  codec.validateRequest(structuredClone(body))
  const request = codec.decodeRequest(structuredClone(body), { report, newId: (prefix) => `${prefix}1`, now: () => 1 })
  return { request, losses: report.losses.map(({ path, severity }) => `${severity} ${path}`) }
}
const generate = (more: JsonObject) => decode({ model: 'm', prompt: 'hi', ...more }, ollamaGenerateCodec)

describe('settings of an Ollama request', () => {
  it.each<[string, JsonObject, Partial<ModelRequest>]>([
    ['a stream by default', {}, { stream: true }],
    ['no stream on request', { stream: false }, { stream: false }],
    ['reasoning with the default level', { think: true }, { reasoning: { effort: 'medium', summary: 'auto' } }],
    ['reasoning with a level', { think: 'max' }, { reasoning: { effort: 'max', summary: 'auto' } }],
    ['no reasoning', { think: false }, { reasoning: { off: true } }],
    ['JSON', { format: 'json' }, { output: { format: { type: 'json' } } }],
    [
      'JSON of a schema',
      { format: { type: 'object' } },
      { output: { format: { type: 'json', schema: { type: 'object' } } } },
    ],
    ['log probabilities', { logprobs: true, top_logprobs: 3 }, { output: { logprobs: 3 } }],
    ['log probabilities of the chosen tokens', { logprobs: true }, { output: { logprobs: 0 } }],
    ['a stop sequence as text', { options: { stop: 'END' } }, { sampling: { stop: ['END'] } }],
    [
      'sampling',
      {
        options: {
          temperature: 0,
          top_p: 0.5,
          top_k: 4,
          seed: 0,
          presence_penalty: 1,
          frequency_penalty: -1,
          num_predict: 9,
        },
      },
      {
        sampling: {
          temperature: 0,
          topP: 0.5,
          topK: 4,
          seed: 0,
          presencePenalty: 1,
          frequencyPenalty: -1,
          maxTokens: 9,
        },
      },
    ],
  ])('requests %s', (_name, more, wanted) => {
    const { request, losses } = decode({ ...least, ...more })
    expect(request).toMatchObject(wanted)
    expect(request.extra).toBeUndefined()
    expect(losses).toEqual([])
  })

  it.each<[string, JsonObject]>([
    ['an unlimited length', { num_predict: -1 }],
    ['a length of the context', { num_predict: -2 }],
    ['a random seed', { seed: -1 }],
    ['all tokens', { top_k: 0 }],
    ['no stop sequences', { stop: [] }],
    ['nulls', { temperature: null, num_ctx: null }],
  ])('is the default for %s', (_name, options) => {
    const { request } = decode({ ...least, options })
    expect(request.sampling).toBeUndefined()
    expect(request.extra).toBeUndefined()
  })

  it.each<[string, JsonObject]>([
    ['an empty format', { format: '' }],
    ['nulls', { format: null, options: null, think: null, tools: null, stream: null }],
  ])('is absent for %s', (_name, more) => {
    const { request } = decode({ ...least, ...more })
    expect(request).toMatchObject({ model: 'm', stream: true })
    expect([request.output, request.extra, request.tools, request.reasoning]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ])
  })

  it('keeps what other formats lack for the report', () => {
    const more = {
      keep_alive: '5m',
      truncate: false,
      options: { min_p: 0.1, num_ctx: 4096, temperature: 1 },
      tomorrow: 1,
    }
    expect(decode({ ...least, ...more }).request.extra).toEqual({
      ollama: { keep_alive: '5m', truncate: false, options: { min_p: 0.1, num_ctx: 4096 }, tomorrow: 1 },
    })
  })
})

const turnsOf = (...messages: JsonObject[]) => decode({ model: 'm', messages }).request.turns
const png = 'iVBORw0KGgoAAAANSUhEUg=='

describe('messages of an Ollama request', () => {
  it('have their role in any case, and unknown fields for the report', () => {
    expect(turnsOf({ role: 'System', content: 'Be brief.' }, { role: 'user', content: 'hi', x: 1 })).toEqual([
      { role: 'system', parts: [{ type: 'text', text: 'Be brief.', at: '/messages/0/content' }], at: '/messages/0' },
      {
        role: 'user',
        parts: [{ type: 'text', text: 'hi', at: '/messages/1/content' }],
        at: '/messages/1',
        extra: { ollama: { x: 1 } },
      },
    ])
  })

  test.each([
    [png, 'image', 'image/png', png],
    ['/9j/4AAQSkZJRg==', 'image', 'image/jpeg', '/9j/4AAQSkZJRg=='],
    ['R0lGODlhAQABAAAAACw=', 'image', 'image/gif', 'R0lGODlhAQABAAAAACw='],
    ['UklGRiSBAABXRUJQVlA4IA==', 'image', 'image/webp', 'UklGRiSBAABXRUJQVlA4IA=='],
    ['UklGRiSBAABXQVZFZm10IA==', 'audio', 'audio/wav', 'UklGRiSBAABXQVZFZm10IA=='],
    [`data:image/webp;base64,AAAA`, 'image', 'image/webp', 'AAAA'],
    ['AAAA', 'image', undefined, 'AAAA'],
  ])('have the file %s as %s of the type %s', (image, kind, mediaType, data) => {
    const [turn] = turnsOf({ role: 'user', content: 'see', images: [image] })
    expect(turn?.parts[0]).toEqual({
      type: 'media',
      kind,
      source: { type: 'base64', data },
      at: '/messages/0/images/0',
      ...(mediaType === undefined ? {} : { mediaType }),
    })
    expect(turn?.parts[1]).toMatchObject({ type: 'text', text: 'see' })
  })

  it('have reasoning in front of their text, and calls behind it', () => {
    const [turn] = turnsOf({
      role: 'assistant',
      content: 'I look.',
      thinking: 'Hm.',
      tool_calls: [{ id: 'c1', type: 'function', function: { index: 0, name: 'f', arguments: { b: 1, a: [2] } } }],
    })
    expect(turn?.parts).toMatchObject([
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'I look.' },
      { type: 'tool-call', id: 'c1', name: 'f', input: '{"b":1,"a":[2]}' },
    ])
    expect(turn?.extra).toBeUndefined()
    expect(turn?.parts.every(({ extra }) => extra === undefined)).toBe(true)
  })

  const calls = (...names: string[]): JsonObject => ({
    role: 'assistant',
    content: '',
    tool_calls: names.map((name) => ({ function: { name, arguments: {} } })),
  })
  const idsIn = (turns: ModelRequest['turns']) =>
    turns.flatMap(({ parts }) =>
      parts.flatMap((part) =>
        part.type === 'tool-call'
          ? [`${part.name}=${part.id}`]
          : part.type === 'tool-result'
            ? [`→${part.callId}`]
            : [],
      ),
    )

  it('match results without ids to calls by name, then by order', () => {
    const result = (tool?: string): JsonObject => ({
      role: 'tool',
      content: 'r',
      ...(tool === undefined ? {} : { tool_name: tool }),
    })
    const turns = turnsOf(calls('f', 'g', 'f'), result('g'), result('f'), result())
    expect(idsIn(turns)).toEqual([
      'f=call_g0_0',
      'g=call_g0_1',
      'f=call_g0_2',
      '→call_g0_1',
      '→call_g0_0',
      '→call_g0_2',
    ])
    // Adjacent results are one turn.
    expect(turns).toHaveLength(2)
  })

  it('match results to calls by their ids', () => {
    const turns = turnsOf(
      {
        role: 'assistant',
        tool_calls: ['a', 'b'].map((id) => ({ id, function: { name: 'f', arguments: {} } })),
      },
      { role: 'tool', content: '2', tool_call_id: 'b', tool_name: 'f' },
      { role: 'tool', content: '1', tool_call_id: 'a', tool_name: 'f' },
    )
    expect(idsIn(turns)).toEqual(['f=a', 'f=b', '→b', '→a'])
  })

  it('generate the same ids in each request of a conversation', () => {
    const first = idsIn(turnsOf({ role: 'user', content: 'q' }, calls('f')))
    const second = idsIn(
      turnsOf({ role: 'user', content: 'q' }, calls('f'), { role: 'tool', content: 'r' }, calls('f')),
    )
    expect(second.slice(0, 1)).toEqual(first)
    expect(new Set(second.filter((id) => !id.startsWith('→'))).size).toBe(2)
  })
})

describe('tools of an Ollama request', () => {
  it('are functions, with unknown fields for the report', () => {
    const tools = [
      { type: 'function', items: 1, function: { name: 'f', description: 'd', parameters: { type: 'object' }, x: 1 } },
    ]
    expect(decode({ ...least, tools }).request.tools?.list).toEqual([
      {
        type: 'function',
        name: 'f',
        description: 'd',
        schema: { type: 'object' },
        at: '/tools/0',
        extra: { ollama: { items: 1, function: { x: 1 } } },
      },
    ])
  })
})

describe('requests for a generated text', () => {
  it('have a text of the system, images and a prompt', () => {
    const { request, losses } = generate({ system: 'Be brief.', images: [png], stream: false })
    expect(request).toMatchObject({
      stream: false,
      turns: [
        { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] },
        {
          role: 'user',
          parts: [
            { type: 'media', mediaType: 'image/png', at: '/images/0' },
            { type: 'text', text: 'hi', at: '/prompt' },
          ],
        },
      ],
    })
    expect(losses).toEqual([])
  })

  it.each<[string, JsonObject, string[]]>([
    ['a text after the response', { suffix: 'end' }, ['warn /suffix']],
    ['an unformatted prompt', { raw: true }, ['warn /raw']],
    ['a template', { template: '{{ .Prompt }}' }, ['warn /template']],
    ['an encoded conversation', { context: [1, 2] }, ['warn /context']],
    ['empty settings', { suffix: '', raw: false, template: '', context: [], system: '' }, []],
  ])('report %s', (_name, more, losses) => {
    expect(generate(more).losses).toEqual(losses)
    expect(generate(more).request.extra).toBeUndefined()
  })
})

describe('invalid Ollama requests', () => {
  it.each<[JsonObject, string]>([
    [{ messages: [] }, 'messages: expected at least one entry, but got an empty array'],
    [{ messages: 'x' }, "messages: expected an array of objects, but got 'x'"],
    [{ messages: [{ content: 'x' }] }, 'messages.0.role is required'],
    [
      { messages: [{ role: 'robot', content: 'x' }] },
      "messages.0.role: expected one of system, user, assistant, tool, but got 'robot'",
    ],
    [{ messages: [{ role: 'user', content: [] }] }, 'messages.0.content: expected a string, but got an empty array'],
    [{ think: 'sometimes' }, "think: expected true, false, 'low', 'medium', 'high', 'max', but got 'sometimes'"],
    [{ format: 'xml' }, "format: expected 'json' or a JSON schema, but got 'xml'"],
    [{ options: { temperature: 'hot' } }, "options.temperature: expected a number, but got 'hot'"],
    [{ top_logprobs: 21 }, 'top_logprobs: expected at most 20, but got 21'],
    [{ tools: [{ type: 'function' }] }, 'tools.0.function is required'],
    [{ images: [] }, ''],
  ])('%j: %s', (more, message) => {
    const check = () => ollamaCodec.validateRequest({ ...least, ...more })
    if (message === '') expect(check).not.toThrow()
    else expect(check).toThrow(message)
  })

  it('do not quote the request in logs', () => {
    try {
      ollamaCodec.validateRequest({ ...least, format: 'secret' })
    } catch (error) {
      expect(error).toMatchObject({ logMessage: "format: expected 'json' or a JSON schema", info: { param: 'format' } })
      return
    }
    expect.unreachable()
  })

  it.each([{}, { model: '' }, { model: 5 }, { model: 'm', stream: 'yes' }])(
    '%j is refused for every target',
    (body) => {
      expect(() => ollamaCodec.checkRequest(body)).toThrow(/^(model|stream)/)
    },
  )
})
