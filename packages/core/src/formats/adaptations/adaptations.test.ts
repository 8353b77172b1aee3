import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import { createReport } from '../loss-report.ts'
import type { Adaptation } from './adaptation.ts'
import { mistral } from './mistral.ts'
import { openrouter } from './openrouter.ts'

const messages = [{ role: 'user', content: 'hi' }]
const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 }

/** Returns a request as the format gets it. */
function edited({ generate }: Adaptation, body: JsonObject): JsonObject {
  const changes = generate?.editRequest?.(body)
  const out: JsonObject = { ...body, ...changes?.set }
  for (const name of changes?.drop ?? []) delete out[name]
  return out
}

const responseFor = ({ generate }: Adaptation, body: JsonObject): JsonObject =>
  generate?.editResponse?.(body, createReport({})) ?? body

/** Returns the chunks of a stream as the client gets them; `[DONE]` as a text. */
function streamFor({ generate }: Adaptation, chunks: readonly (JsonObject | '[DONE]')[]): Json[] {
  const editor = generate?.openEvents?.(createReport({}))
  const events: SseEvent[] = []
  for (const chunk of chunks)
    events.push(...(editor?.push({ data: chunk === '[DONE]' ? chunk : JSON.stringify(chunk) }) ?? []))
  events.push(...(editor?.end() ?? []))
  return events.map(({ data }) => (data === '[DONE]' ? data : (JSON.parse(data) as Json)))
}

const frame = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }
const chunk = (delta: JsonObject, finish: string | null = null, index = 0): JsonObject => ({
  ...frame,
  choices: [{ index, delta, finish_reason: finish }],
})
const call = (index: number, written: string, id?: string): JsonObject => ({
  tool_calls: [
    {
      index,
      ...(id === undefined ? {} : { id, type: 'function' }),
      function: id === undefined ? { arguments: written } : { name: 'f', arguments: written },
    },
  ],
})

describe.each([
  ['Mistral', mistral],
  ['OpenRouter', openrouter],
] as const)('the adaptation of %s', (_name, adaptation) => {
  it('changes no request that needs no change', () => {
    expect(adaptation.generate?.editRequest?.({ model: 'm', messages, temperature: 1 })).toBeUndefined()
  })

  it('requests the usage of streams, and keeps other stream options', () => {
    const body = { model: 'm', messages, stream: true, stream_options: { include_obfuscation: false } }
    expect(edited(adaptation, body)).toEqual({
      ...body,
      stream_options: { include_obfuscation: false, include_usage: true },
    })
  })

  it('passes comments and the end of a stream', () => {
    const editor = adaptation.generate?.openEvents?.(createReport({}))
    const comment = { event: ':', data: 'keep-alive' }
    expect(editor?.push(comment)).toEqual([comment])
    expect(editor?.push({ data: '[DONE]' })).toEqual([{ data: '[DONE]' }])
  })

  it('keeps all digits of numbers in a stream', () => {
    const editor = adaptation.generate?.openEvents?.(createReport({}))
    const data =
      '{"id":"c","created":1,"model":"m","seen":12345678901234567890,"choices":[{"index":0,"delta":{"content":"x"}}]}'
    expect(editor?.push({ data })[0]?.data).toContain('12345678901234567890')
  })
})

describe('requests of Mistral’s clients', () => {
  it.each<[name: string, sent: JsonObject, got: JsonObject]>([
    ['random_seed', { random_seed: 3 }, { seed: 3 }],
    ['a random_seed of null', { random_seed: null }, {}],
    ['tool_choice any', { tool_choice: 'any' }, { tool_choice: 'required' }],
    ['another tool_choice', { tool_choice: 'none' }, { tool_choice: 'none' }],
    [
      'a plain image URL',
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: 'https://x/y.png' }] }] },
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x/y.png' } }] }] },
    ],
    [
      'defaults of the SDK in an assistant message',
      {
        messages: [
          {
            role: 'assistant',
            content: '',
            prefix: false,
            tool_calls: [{ id: 'a', index: 0, function: { name: 'f', arguments: { a: 1 } } }],
          },
        ],
      },
      {
        messages: [
          {
            role: 'assistant',
            content: '',
            tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
          },
        ],
      },
    ],
    [
      'a prefix that the model must continue',
      { messages: [{ role: 'assistant', content: 'Once', prefix: true }] },
      { messages: [{ role: 'assistant', content: 'Once', prefix: true }] },
    ],
  ])('with %s become chat requests', (_name, sent, got) => {
    expect(edited(mistral, { model: 'm', ...sent })).toEqual({ model: 'm', ...got })
  })
})

describe('responses for Mistral’s clients', () => {
  it('have the members of Mistral, and reasoning as the first part of the content', () => {
    const message = {
      role: 'assistant',
      content: 'hello',
      reasoning_content: 'hm',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
      audio: null,
    }
    expect(
      responseFor(mistral, { ...frame, choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage }),
    ).toEqual({
      ...frame,
      usage,
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          message: {
            role: 'assistant',
            prefix: false,
            content: [
              { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
              { type: 'text', text: 'hello' },
            ],
            tool_calls: [{ index: 0, ...message.tool_calls[0] }],
          },
        },
      ],
    })
  })

  it('stream whole tool calls and the usage with the finish reason', () => {
    const chunks = streamFor(mistral, [
      chunk({ role: 'assistant', content: null }),
      chunk({ content: 'a' }),
      chunk(call(0, '{"a"', 'call_1')),
      chunk(call(1, '{}', 'call_2')),
      chunk(call(0, ':1}')),
      chunk({}, 'tool_calls'),
      { ...frame, choices: [], usage },
      '[DONE]',
    ])
    const calls = [
      { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
      { index: 1, id: 'call_2', type: 'function', function: { name: 'f', arguments: '{}' } },
    ]
    expect(chunks).toEqual([
      chunk({ role: 'assistant' }),
      chunk({ content: 'a' }),
      { ...chunk({ content: '', tool_calls: calls }, 'tool_calls'), usage },
      '[DONE]',
    ])
  })

  it('stream several choices, each with its own calls and end', () => {
    const chunks = streamFor(mistral, [
      chunk(call(0, '{}', 'one'), null, 0),
      chunk(call(0, '{}', 'two'), null, 1),
      chunk({}, 'tool_calls', 0),
      chunk({}, 'tool_calls', 1),
      { ...frame, choices: [], usage },
      '[DONE]',
    ]) as { choices: { index: number; delta: { tool_calls: { id: string }[] } }[]; usage?: unknown }[]
    expect(
      chunks.slice(0, 2).map(({ choices, usage }) => [choices[0]?.index, choices[0]?.delta.tool_calls[0]?.id, usage]),
    ).toEqual([
      [0, 'one', undefined],
      [1, 'two', usage],
    ])
  })

  it('end with the finish reason if there is no usage, and hold nothing back at the end', () => {
    const end = chunk({ content: '' }, 'stop')
    expect(streamFor(mistral, [chunk({ content: 'a' }), chunk({}, 'stop'), '[DONE]'])).toEqual([
      chunk({ content: 'a' }),
      end,
      '[DONE]',
    ])
    expect(streamFor(mistral, [chunk({}, 'stop')])).toEqual([end])
  })

  it('do not end a stream that failed', () => {
    const error = { error: { message: 'cut', type: 'server_error', param: null, code: null } }
    expect(streamFor(mistral, [chunk({ content: 'a' }), chunk({}, 'stop'), error])).toEqual([
      chunk({ content: 'a' }),
      error,
    ])
  })
})

describe('requests of OpenRouter’s clients', () => {
  it('lose the request for usage, which every response has', () => {
    expect(edited(openrouter, { model: 'm', messages, usage: { include: true } })).toEqual({ model: 'm', messages })
  })

  it.each<[sent: JsonObject, got: JsonObject]>([
    [{ reasoning: { effort: 'low' } }, { reasoning_effort: 'low' }],
    [{ reasoning: { effort: 'low', exclude: true } }, { reasoning: { effort: 'low', exclude: true } }],
    [{ reasoning: { max_tokens: 9 } }, { reasoning: { max_tokens: 9 } }],
  ])('with %j state the effort in the form that all upstreams know', (sent, got) => {
    expect(edited(openrouter, { model: 'm', ...sent })).toEqual({ model: 'm', ...got })
  })
})

describe('responses for OpenRouter’s clients', () => {
  it('have every member that its SDK requires, and no null that it rejects', () => {
    const message = {
      role: 'assistant',
      content: null,
      refusal: null,
      audio: null,
      tool_calls: null,
      reasoning_content: 'hm',
    }
    const body = {
      ...frame,
      service_tier: null,
      choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
      usage: { ...usage, prompt_tokens_details: { cached_tokens: 1, audio_tokens: null } },
    }
    expect(responseFor(openrouter, body)).toEqual({
      ...frame,
      system_fingerprint: null,
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: null, refusal: null, reasoning: 'hm' },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: { ...usage, prompt_tokens_details: { cached_tokens: 1 } },
    })
  })

  it('stream chunks without nulls', () => {
    expect(
      streamFor(openrouter, [
        {
          ...chunk({ content: 'a', tool_calls: null, reasoning_content: 'hm' }),
          system_fingerprint: null,
          usage: null,
        },
        { ...frame, choices: [], usage },
        '[DONE]',
      ]),
    ).toEqual([chunk({ content: 'a', reasoning: 'hm' }), { ...frame, choices: [], usage }, '[DONE]'])
  })

  it('stream an error as a chunk whose choice ends with it', () => {
    const error = { message: 'busy', type: 'requests', param: null, code: 'rate_limit_exceeded' }
    expect(streamFor(openrouter, [chunk({ content: 'a' }), { error }]).at(-1)).toEqual({
      ...frame,
      error: {
        code: 429,
        message: 'busy',
        type: 'requests',
        param: null,
        metadata: { error_type: 'rate_limit_exceeded', provider_code: 'rate_limit_exceeded' },
      },
      choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: 'error' }],
    })
  })
})
