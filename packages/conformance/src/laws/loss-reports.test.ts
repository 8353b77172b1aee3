import type { Format, Loss, UpstreamFormat } from '@modelgate/core'
import { clientCodecs, codecOf, lossHeader, upstreamCodecs } from '@modelgate/core/test-support'
import { describe, expect, it } from 'vitest'
import { isObject, type Json, type JsonObject, objectOf, parseJson } from '../base/json.ts'
import { laneFor, type Outcome, type StreamEvent, sendAnswer, sendRequest, sendStream } from '../fuzz/injection.ts'
import { askingFor } from '../openapi/response-translations.ts'

const short = ({ path, kind, severity }: Loss): string => `${path} ${kind} ${severity}`
const reported = ({ losses }: Outcome): string[] => losses.map(short)

const least: { readonly [F in Format]: JsonObject } = {
  chat: { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
  messages: { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] },
  gemini: { model: 'm', contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  responses: { model: 'm', input: [{ role: 'user', content: 'hi' }] },
  ollama: { model: 'm', messages: [{ role: 'user', content: 'hi' }], stream: false },
  converse: { model: 'm', messages: [{ role: 'user', content: [{ text: 'hi' }] }] },
}
const request = (from: Format, to: UpstreamFormat, more: JsonObject, model?: string): Outcome =>
  sendRequest(codecOf(from), codecOf(to), { ...least[from], ...more }, model)
const answer = (from: UpstreamFormat, to: Format, body: JsonObject): Outcome =>
  sendAnswer(codecOf(to), codecOf(from), askingFor(to, false), body)
const stream = (from: UpstreamFormat, to: Format, ...events: readonly JsonObject[]): Outcome =>
  sendStream(
    codecOf(to),
    codecOf(from),
    askingFor(to, true),
    events.map((data): StreamEvent => ({ event: typeof data.type === 'string' ? data.type : '', data })),
  )
const testedSchema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
const strictTool = (schema: JsonObject): JsonObject => ({ tools: [{ name: 'f', strict: true, input_schema: schema }] })

const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], usage: { input_tokens: 1 } }
const began = { type: 'message_start', message }
const ended = { type: 'message_stop' }
const response = { id: 'r', model: 'm', output: [], status: 'in_progress' }
const item = { id: 'i', type: 'message', role: 'assistant', content: [] }

describe('losses that used to be silent or unnamed', () => {
  it.each<[string, () => Outcome, string]>([
    [
      'tool_usage of a response',
      () =>
        answer('responses', 'chat', {
          ...{ id: 'r', status: 'completed', tool_usage: { web_search: { num_requests: 1 } } },
          output: [{ ...item, content: [{ type: 'output_text', text: 'a' }] }],
        }),
      '/tool_usage unsupported warn',
    ],
    [
      'input_transformations on a streamed message_delta',
      () =>
        stream(
          ...(['messages', 'chat', began] as const),
          { type: 'message_delta', delta: { stop_reason: 'end_turn' }, input_transformations: [{ type: 'x' }] },
          ended,
        ),
      '/input_transformations unsupported warn',
    ],
    [
      'a field that only the delta of a message_delta has',
      () =>
        stream(
          ...(['messages', 'gemini', began] as const),
          { type: 'message_delta', delta: { stop_reason: 'end_turn', new_field: 1 } },
          ended,
        ),
      '/delta/new_field unsupported warn',
    ],
    [
      'an unknown event about a known item',
      () =>
        stream(
          ...(['responses', 'chat'] as const),
          { type: 'response.created', response },
          { type: 'response.output_item.added', output_index: 0, item },
          { type: 'response.output_text.mood', output_index: 0, mood: 'gay' },
          { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'a' },
          { type: 'response.completed', response: { ...response, status: 'completed' } },
        ),
      '/output/0 unknown note',
    ],
    [
      'the media type of a file by URL, messages',
      () =>
        request('gemini', 'messages', {
          contents: [
            { role: 'user', parts: [{ fileData: { mimeType: 'image/png', fileUri: 'https://a.example/b' } }] },
          ],
        }),
      '/contents/0/parts/0 unsupported note',
    ],
    [
      'the media type of a file by URL, responses',
      () =>
        request('gemini', 'responses', {
          contents: [
            { role: 'user', parts: [{ fileData: { mimeType: 'image/png', fileUri: 'https://a.example/b' } }] },
          ],
        }),
      '/contents/0/parts/0 unsupported note',
    ],
    [
      'an unenforced schema in a format that enforces all',
      () =>
        request('chat', 'gemini', {
          response_format: { type: 'json_schema', json_schema: { name: 'n', schema: testedSchema, strict: false } },
        }),
      '/response_format/json_schema/strict approximated note',
    ],
    [
      'a single allOf next to additionalProperties',
      () => {
        const { type, ...inner } = testedSchema
        return request('messages', 'responses', strictTool({ type, allOf: [inner], additionalProperties: false }))
      },
      '/tools/0 approximated warn',
    ],
    [
      'a single allOf next to items',
      () => {
        const list = { type: 'array', allOf: [{ prefixItems: [{ type: 'string' }] }], items: { type: 'number' } }
        return request('messages', 'gemini', strictTool({ type: 'object', properties: { a: list }, required: ['a'] }))
      },
      '/tools/0 approximated note',
    ],
    [
      'a native block of a stream',
      () =>
        stream(
          ...(['messages', 'chat', began] as const),
          { type: 'content_block_start', index: 0, content_block: { type: 'compaction', content: 'all' } },
          { type: 'content_block_stop', index: 0 },
          { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
          ended,
        ),
      '/content/0 unsupported warn',
    ],
    [
      'an unknown event of a stream',
      () =>
        stream(
          'messages',
          'responses',
          began,
          { type: 'weather', rain: true },
          { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
          ended,
        ),
      '/weather unsupported note',
    ],
  ])('include %s', (_, run, wanted) => {
    const outcome = run()
    expect(outcome.refusal).toBeUndefined()
    expect(reported(outcome)).toContain(wanted)
    expect(outcome.losses.filter(({ path, detail }) => path === '' || detail === '')).toEqual([])
  })

  it('exclude input_transformations for clients of Messages', () => {
    const delta = {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', new_field: 7 },
      input_transformations: [1],
    }
    const { sent } = stream('messages', 'messages', began, delta, ended)
    const events = sent.split('\n').flatMap((line) => (line.startsWith('data: ') ? [parseJson(line.slice(6))] : []))
    const last = objectOf(events.find((event) => isObject(event) && event.type === 'message_delta'))
    expect(last).toMatchObject({ delta: { new_field: 7 }, input_transformations: [1] })
  })
})

/** Returns the smallest body with a value at a pointer, with lists where the pointer has them. */
function withValue(body: JsonObject, pointer: string, value: Json): JsonObject {
  const [, ...steps] = pointer.split('/')
  const put = (into: Json | undefined, at: number): Json => {
    const step = steps[at]
    if (step === undefined) return value
    if (step === '*') return [put(Array.isArray(into) ? into[0] : undefined, at + 1)]
    const holder = objectOf(into)
    return { ...holder, [step]: put(holder[step], at + 1) }
  }
  return objectOf(put(body, 0))
}

describe('documented defaults', () => {
  const nested: { readonly [F in Format]: JsonObject } = {
    ...least,
    chat: { ...least.chat, tools: [{ type: 'function', function: { name: 'f', parameters: testedSchema } }] },
    messages: {
      ...least.messages,
      messages: [
        {
          role: 'user',
          content: [{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a' } }],
        },
      ],
      tools: [{ name: 'f', input_schema: testedSchema }],
    },
    responses: { ...least.responses, tools: [{ type: 'function', name: 'f', parameters: testedSchema, strict: true }] },
    gemini: { ...least.gemini, tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: testedSchema }] }] },
  }
  const entries = clientCodecs.flatMap((client) =>
    Object.entries(client.defaults).flatMap(([pointer, value]) =>
      upstreamCodecs
        .filter(({ format }) => format !== client.format)
        .map((upstream) => ({ client, upstream, pointer, value, from: client.format, to: upstream.format })),
    ),
  )

  it.each(entries)('are not reported as losses: $pointer, $from → $to', ({ client, upstream, pointer, value }) => {
    const { losses } = sendRequest(client, upstream, withValue(nested[client.format], pointer, value))
    const place = pointer.replaceAll('*', '0')
    expect(losses.filter(({ path, severity }) => path === place && severity !== 'fatal')).toEqual([])
  })

  it('are reported as losses with any other value', () => {
    expect(reported(request('chat', 'messages', { store: true }))).toEqual(['/store unsupported note'])
    expect(reported(request('chat', 'messages', { store: false }))).toEqual([])
    expect(reported(request('responses', 'chat', { truncation: 'auto' }))).toEqual(['/truncation unsupported warn'])
    expect(reported(request('responses', 'chat', { truncation: 'disabled' }))).toEqual([])
  })
})

describe('token limit that the client did not set', () => {
  const whole = (stop: string): JsonObject => ({
    ...message,
    content: [{ type: 'text', text: 'a' }],
    stop_reason: stop,
  })

  it('is not a loss of a request', () => {
    const { sent, losses } = request('chat', 'messages', {})
    expect(objectOf(parseJson(sent)).max_tokens).toBe(8192)
    expect(losses).toEqual([])
  })

  it.each(['chat', 'gemini', 'responses'] as const)('is reported to %s when it ends a response', (client) => {
    const cut = '/stop_reason clamped warn'
    expect(reported(answer('messages', client, whole('end_turn')))).not.toContain(cut)
    expect(reported(answer('messages', client, whole('max_tokens')))).toContain(cut)
    const delta = { type: 'message_delta', delta: { stop_reason: 'max_tokens' } }
    expect(reported(stream('messages', client, began, delta, ended))).toContain(cut)
  })

  it('is not reported if the client set one', () => {
    const lane = laneFor(codecOf('chat'), codecOf('messages'), { ...least.chat, max_completion_tokens: 5 })
    lane.readResponse(new TextEncoder().encode(JSON.stringify(whole('max_tokens'))))
    expect(lane.report.losses).toEqual([])
  })
})

describe('fields that chat and responses share', () => {
  const breakpoint = { mode: 'explicit' }
  const options = { prompt_cache_options: { mode: 'explicit', ttl: '30m' }, prompt_cache_retention: '24h' }
  const chatBody = {
    ...options,
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'Be brief.', prompt_cache_breakpoint: breakpoint }] },
      { role: 'user', content: [{ type: 'text', text: 'hi', prompt_cache_breakpoint: breakpoint }] },
    ],
  }
  const text = { type: 'input_text', text: 'hi', prompt_cache_breakpoint: breakpoint }

  it('pass from chat to responses', () => {
    const { sent, losses } = request('chat', 'responses', chatBody)
    expect(losses).toEqual([])
    expect(sent.match(/"prompt_cache_breakpoint":\{"mode":"explicit"\}/g)).toHaveLength(2)
    expect(objectOf(parseJson(sent))).toMatchObject(options)
  })

  it('pass from responses to chat', () => {
    const { sent, losses } = request('responses', 'chat', { ...options, input: [{ role: 'user', content: [text] }] })
    expect(losses).toEqual([])
    expect(objectOf(parseJson(sent))).toMatchObject({
      ...options,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', prompt_cache_breakpoint: breakpoint }] }],
    })
  })

  it('are reported if the other side has no place for them', () => {
    const text = [{ role: 'assistant', content: [{ type: 'text', text: 'a', prompt_cache_breakpoint: breakpoint }] }]
    const outcome = request('chat', 'responses', { messages: [...text, { role: 'user', content: 'hi' }] })
    expect(reported(outcome)).toEqual(['/messages/0/content/0/prompt_cache_breakpoint unsupported note'])
    expect(outcome.sent).not.toContain('prompt_cache_breakpoint')
    expect(reported(request('chat', 'gemini', chatBody)).filter((one) => one.includes('breakpoint'))).toHaveLength(2)
  })
})

describe('thinking object of chat requests', () => {
  const budget = { thinking: { type: 'enabled', budget_tokens: 2000 }, max_completion_tokens: 9000 }
  const claude = 'claude-sonnet-4-5'

  it('is translated to Messages', () => {
    const { sent, losses } = request('chat', 'messages', budget, claude)
    expect(objectOf(parseJson(sent)).thinking).toEqual({ type: 'enabled', budget_tokens: 2000 })
    expect(losses).toEqual([])
    const off = request('chat', 'messages', { thinking: { type: 'disabled' } }, 'claude-opus-4-6')
    expect(objectOf(parseJson(off.sent)).thinking).toEqual({ type: 'disabled' })
    const adaptive = request('chat', 'messages', { thinking: { type: 'adaptive' } }, 'claude-opus-4-6')
    expect(objectOf(parseJson(adaptive.sent)).thinking).toMatchObject({ type: 'adaptive' })
  })

  it('is translated to Bedrock', () => {
    const { sent, losses } = request('chat', 'converse', budget, 'anthropic.claude-sonnet-4-5-v1:0')
    const fields = objectOf(objectOf(parseJson(sent)).additionalModelRequestFields)
    expect(fields.thinking).toEqual({ type: 'enabled', budget_tokens: 2000 })
    expect(losses).toEqual([])
  })

  it('is translated to generateContent', () => {
    const { sent } = request('chat', 'gemini', budget, 'gemini-2.5-pro')
    const { generationConfig } = objectOf(parseJson(sent))
    expect(objectOf(objectOf(generationConfig).thinkingConfig).thinkingBudget).toBe(2000)
  })

  it('reports its unknown fields', () => {
    const outcome = request('chat', 'messages', { thinking: { ...budget.thinking, new_field: 1 } }, claude)
    expect(reported(outcome)).toContain('/thinking/new_field unsupported warn')
  })
})

describe('modelgate-loss header', () => {
  const note = (path: string, detail = 'a hint'): Loss => ({ path, kind: 'unsupported', severity: 'note', detail })
  const warning = (path: string): Loss => ({ path, kind: 'unsupported', severity: 'warn', detail: 'lost' })

  it('lists warnings first, and combines notes that differ only in their place', () => {
    const losses = [
      note('/a'),
      note('/b'),
      warning('/c'),
      note('/d', 'another'),
      { ...warning('/e'), severity: 'fatal' as const },
    ]
    expect(lossHeader(losses)).toBe(
      [
        '"/e";kind=unsupported;severity=fatal',
        '"/c";kind=unsupported;severity=warn',
        '"/a";kind=unsupported;severity=note;count=2',
        '"/d";kind=unsupported;severity=note',
      ].join(', '),
    )
  })

  it('counts the entries that do not fit, warnings and notes separately', () => {
    const many = Array.from({ length: 100 }, (_, at) => warning(`/field_${at}`))
    const header = lossHeader([...Array.from({ length: 7 }, (_, at) => note(`/n${at}`)), ...many]) ?? ''
    const listed = header.match(/severity=warn/g)?.length ?? 0
    expect(header.length).toBeLessThan(3200)
    expect(header.endsWith(`"...";more=${100 - listed};notes=7`)).toBe(true)
  })
})
