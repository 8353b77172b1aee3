import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import { chatCodec } from '../chat/codec.ts'
import type { Codec } from '../codec.ts'
import type { ModelRequest, Part } from '../ir.ts'
import { messagesCodec } from '../messages/index.ts'
import { foldEvents } from '../shared/fold.test-support.ts'
import { responsesCodec } from './codec.ts'
import { checkGrammar } from './grammar.test-support.ts'
import { contextFor, run } from './recorded.test-support.ts'

/** Responses as a client of the format receives them, and as its next request returns them. */

const answerOf = (parts: Part[], request: Partial<ModelRequest> = {}): JsonObject =>
  responsesCodec.encodeResponse(
    { id: 'r', model: 'm', created: 1, choices: [{ parts, finish: { reason: 'tool-calls' } }] },
    contextFor({ reasoning: { effort: 'low' }, ...request }),
  )

/** Streams the same response: every part in two pieces, with its seal after its text. */
function streamOf(parts: readonly Part[], request: Partial<ModelRequest> = {}): JsonObject {
  const encoder = responsesCodec.encodeStream(contextFor({ reasoning: { effort: 'low' }, ...request }))
  const out = encoder.push({ type: 'response-start', id: 'r', model: 'm', created: 1 })
  for (const [part, value] of parts.entries()) {
    const { seal, ...rest } = value as Part & { seal?: never }
    const text = value.type === 'tool-call' ? value.input : 'text' in value ? value.text : ''
    const type = value.type === 'tool-call' ? 'input' : value.type === 'reasoning' ? 'reasoning' : 'text'
    const empty = value.type === 'tool-call' ? { input: '' } : { text: '' }
    out.push(...encoder.push({ type: 'part-start', choice: 0, part, value: { ...rest, ...empty } as Part }))
    for (const piece of [text.slice(0, 2), text.slice(2)])
      out.push(...encoder.push({ type: 'part-delta', choice: 0, part, delta: { type, text: piece } }))
    if (seal) out.push(...encoder.push({ type: 'part-delta', choice: 0, part, delta: { type: 'seal', seal } }))
    out.push(...encoder.push({ type: 'part-end', choice: 0, part }))
  }
  out.push(...encoder.push({ type: 'choice-end', choice: 0, finish: { reason: 'tool-calls' } }))
  out.push(...encoder.push({ type: 'response-end' }))
  checkGrammar(out, 'stream')
  return JSON.parse(out.at(-2)?.data ?? '').response as JsonObject
}

/** Clients that drop some fields: Codex drops ids, the AI SDK drops empty summaries. */
const clients: Readonly<Record<string, (output: JsonObject[]) => JsonObject[]>> = {
  'returns everything': (output) => output,
  'drops ids': (output) => output.map(({ id: _, status: _status, ...item }) => item),
  'drops empty summaries': (output) =>
    output.map((item) =>
      item.type === 'reasoning'
        ? { ...item, summary: (item.summary as JsonObject[]).filter(({ text }) => text !== ''), content: null }
        : item,
    ),
}

function nextTurn(output: readonly JsonObject[], tools: JsonObject[] = []): ModelRequest {
  const results = output.flatMap((item) =>
    typeof item.call_id === 'string'
      ? [
          {
            type: item.type === 'custom_tool_call' ? 'custom_tool_call_output' : 'function_call_output',
            call_id: item.call_id,
            output: 'done',
          },
        ]
      : [],
  )
  const body = { model: 'm', input: [{ role: 'user', content: 'hi' }, ...output, ...results], tools }
  expect(() => responsesCodec.validateRequest(body)).not.toThrow()
  return responsesCodec.decodeRequest(structuredClone(body) as JsonObject, contextFor({}, false))
}

const assistant = (request: ModelRequest): Part[] =>
  request.turns
    .filter(({ role }) => role === 'assistant')
    .flatMap(({ parts }) => parts.map(({ at: _, extra: _extra, ...part }) => part as Part))

const sealed: Part[] = [
  { type: 'reasoning', text: 'Let me think.', seal: { issuer: 'messages', data: 'SIG1' } },
  { type: 'reasoning', text: '', seal: { issuer: 'messages', data: 'SIG2' } },
  { type: 'reasoning', text: '', redacted: true, seal: { issuer: 'messages', data: 'HIDDEN' } },
  { type: 'text', text: 'I will look.' },
  { type: 'tool-call', id: 'call/1', name: 'look', input: '{"a":1}', seal: { issuer: 'gemini', data: 'THOUGHT:1' } },
  { type: 'tool-call', id: 'call_2', name: 'look', input: '{}' },
]

describe.each(Object.keys(clients))('a client that %s', (name) => {
  const client = clients[name] ?? ((output) => output)

  test.each(['whole', 'streamed'])('returns every seal to its issuer (%s response)', (form) => {
    const answer = form === 'whole' ? answerOf(sealed) : streamOf(sealed)
    const back = assistant(nextTurn(client(answer.output as JsonObject[])))
    expect(back.map(({ type, ...part }) => [type, 'text' in part ? part.text : '', (part as JsonObject).seal])).toEqual(
      sealed.map(({ type, ...part }) => [type, 'text' in part ? part.text : '', (part as JsonObject).seal]),
    )
    expect(back.map((part) => part.type === 'reasoning' && part.redacted === true)).toEqual([
      false,
      false,
      true,
      false,
      false,
      false,
    ])
  })

  test('returns the reasoning of a tool loop to the vendor that signed it, and to no other', () => {
    const request = nextTurn(client(answerOf(sealed).output as JsonObject[]), [
      { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } },
    ])
    const target = { model: 'claude-opus-4-5', quirks: {} }
    const messages = messagesCodec.encodeRequest(request, { ...contextFor({}, false), target })
    expect(JSON.stringify(messages.messages)).toContain('"signature":"SIG1"')
    expect(JSON.stringify(messages.messages)).toContain('"data":"HIDDEN"')
    expect(JSON.stringify(messages)).not.toContain('THOUGHT')

    const context = contextFor({}, false)
    const own = responsesCodec.encodeRequest(request, { ...context, target: { model: 'gpt-5', quirks: {} } })
    expect(JSON.stringify(own)).not.toMatch(/SIG|HIDDEN|THOUGHT|mgs1/)
    expect((own.input as JsonObject[]).map(({ type }) => type)).toEqual([
      'message',
      'message',
      'function_call',
      'function_call',
      'function_call_output',
      'function_call_output',
    ])
    expect(context.report.losses.filter(({ detail }) => detail.includes('withheld'))).toHaveLength(4)
  })
})

test('marks unsigned reasoning as foreign, and decodes it as text', () => {
  const answer = answerOf([
    { type: 'reasoning', text: 'Hmm.' },
    { type: 'text', text: 'Yes.' },
  ])
  const [reasoning] = answer.output as JsonObject[]
  expect(reasoning).toMatchObject({
    encrypted_content: 'mgs1.chat.',
    summary: [{ type: 'summary_text', text: 'Hmm.' }],
  })
  const request = nextTurn(answer.output as JsonObject[])
  expect(request.turns[1]?.parts[0]).toEqual({
    type: 'reasoning',
    text: 'Hmm.',
    summary: true,
    at: '/input/1/summary/0',
  })
  const target = { model: 'deepseek', quirks: { reasoningField: 'reasoning_content' } } as const
  const chat = chatCodec.encodeRequest(request, { ...contextFor({}, false), target })
  expect((chat.messages as JsonObject[])[1]).toMatchObject({ reasoning_content: 'Hmm.', content: 'Yes.' })
})

describe('namespaces and tool search', () => {
  const schema = {
    type: 'object',
    properties: { text: { type: 'string' } },
    required: ['text'],
    additionalProperties: false,
  }
  const tools: JsonObject[] = [
    { type: 'function', name: 'exec', description: 'Runs', parameters: schema, strict: false },
    {
      type: 'namespace',
      name: 'mcp__demo',
      description: 'Demo tools.',
      tools: [
        { type: 'function', name: 'echo', description: 'Echoes', parameters: schema, strict: true },
        { type: 'custom', name: 'draw', description: 'Draws' },
      ],
    },
    {
      type: 'custom',
      name: 'apply_patch',
      description: 'Edits',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
    },
    { type: 'tool_search', execution: 'client', description: 'Finds tools', parameters: schema },
    { type: 'web_search', external_web_access: true },
  ]
  const body: JsonObject = {
    model: 'm',
    input: 'hi',
    tools,
    tool_choice: { type: 'function', name: 'echo', namespace: 'mcp__demo' },
  }
  const decode = (): ModelRequest => responsesCodec.decodeRequest(structuredClone(body), contextFor({}, false))

  test('pass unchanged to an upstream of the same format', () => {
    const back = responsesCodec.encodeRequest(decode(), contextFor())
    expect(back.tools).toEqual(tools)
    expect(back.tool_choice).toEqual(body.tool_choice)
  })

  test.each([chatCodec, messagesCodec] as Codec[])('are lowered for $format, and reported', (codec) => {
    const context = contextFor({}, false)
    const out = codec.encodeRequest(decode(), context)
    const names = (out.tools as JsonObject[]).map((tool) => {
      const inner = (tool.function ?? tool.custom ?? tool) as JsonObject
      return inner.name
    })
    expect(names).toEqual(['exec', 'mcp__demo__echo', 'mcp__demo__draw', 'apply_patch', 'tool_search'])
    expect(JSON.stringify(out.tool_choice)).toContain('"mcp__demo__echo"')
    const paths = context.report.losses.map(({ path }) => path)
    expect(paths).toEqual(expect.arrayContaining(['/tools/4', '/tools/3']))
  })

  test.each(['whole', 'streamed'])('are restored in calls (%s response)', (form) => {
    const request = decode()
    const parts: Part[] = [
      { type: 'tool-call', id: 'c1', name: 'mcp__demo__echo', input: '{"text":"x"}' },
      { type: 'tool-call', id: 'c2', name: 'mcp__demo__draw', input: 'o', custom: true },
      { type: 'tool-call', id: 'c3', name: 'apply_patch', input: '*** Begin Patch', custom: true },
      { type: 'tool-call', id: 'c4', name: 'tool_search', input: '{"text":"y"}' },
      { type: 'tool-call', id: 'c5', name: 'exec', input: '' },
    ]
    const answer = form === 'whole' ? answerOf(parts, request) : streamOf(parts, request)
    const items = (answer.output as JsonObject[]).map(({ id: _, status: _status, ...item }) => item)
    expect(items).toEqual([
      { type: 'function_call', call_id: 'c1', namespace: 'mcp__demo', name: 'echo', arguments: '{"text":"x"}' },
      { type: 'custom_tool_call', call_id: 'c2', namespace: 'mcp__demo', name: 'draw', input: 'o' },
      { type: 'custom_tool_call', call_id: 'c3', name: 'apply_patch', input: '*** Begin Patch' },
      { type: 'tool_search_call', call_id: 'c4', execution: 'client', arguments: { text: 'y' } },
      { type: 'function_call', call_id: 'c5', name: 'exec', arguments: '{}' },
    ])
    expect(answer.tools).toEqual(tools)
  })

  test('include tools that a search found, which are called by namespace and name', () => {
    const found: JsonObject[] = [
      {
        type: 'namespace',
        name: 'mcp__late',
        tools: [{ type: 'function', name: 'run', parameters: schema, strict: true }],
      },
    ]
    const input: JsonObject[] = [
      { role: 'user', content: 'go', type: 'message' },
      {
        type: 'tool_search_call',
        call_id: 's1',
        id: 'tsc_1',
        status: 'completed',
        execution: 'client',
        arguments: { text: 'late' },
      },
      {
        type: 'tool_search_output',
        call_id: 's1',
        id: 'tso_1',
        status: 'completed',
        execution: 'client',
        tools: found,
      },
      { type: 'function_call', call_id: 'c1', id: 'fc_1', name: 'run', namespace: 'mcp__late', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'ok' },
    ]
    const request = responsesCodec.decodeRequest(structuredClone({ ...body, input }), contextFor({}, false))
    const chat = chatCodec.encodeRequest(request, contextFor({}, false))
    expect(JSON.stringify(chat.tools)).toContain('"mcp__late__run"')
    expect((chat.messages as JsonObject[]).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
    ])
    expect(JSON.stringify(chat.messages)).toContain('mcp__late__run')
    const own = responsesCodec.encodeRequest(request, contextFor())
    expect(own.input).toEqual(input)
    expect(own.tools).toEqual(tools)
    const [item] = answerOf([{ type: 'tool-call', id: 'c2', name: 'mcp__late__run', input: '{}' }], request)
      .output as JsonObject[]
    expect(item).toMatchObject({ namespace: 'mcp__late', name: 'run' })
  })

  test('keep distinct names where names are shortened, and are restored', () => {
    const namespace = `mcp__${'n'.repeat(60)}`
    const long: JsonObject[] = [
      {
        type: 'namespace',
        name: namespace,
        tools: ['one', 'two'].map((name) => ({ type: 'function', name, parameters: schema, strict: true })),
      },
    ]
    const request = responsesCodec.decodeRequest({ model: 'm', input: 'hi', tools: long }, contextFor())
    const names = request.tools?.list.map((tool) => (tool.type === 'native' ? '' : tool.name)) ?? []
    const sent = chatCodec.encodeRequest(request, contextFor()).tools as { function: { name: string } }[]
    expect(sent.every((tool) => tool.function.name.length <= 64)).toBe(true)
    expect(new Set(sent.map((tool) => tool.function.name)).size).toBe(2)
    expect(responsesCodec.encodeRequest(request, contextFor()).tools).toEqual(long)
    const [item] = answerOf([{ type: 'tool-call', id: 'c', name: names[1] ?? '', input: '{}' }], request)
      .output as JsonObject[]
    expect(item).toMatchObject({ namespace, name: 'two' })
  })
})

test('keeps namespace and name of a call whose namespace no longer exists', () => {
  const item = { type: 'function_call', call_id: 'c', name: 'run', namespace: 'gone', arguments: '{}' }
  const request = responsesCodec.decodeRequest({ model: 'm', input: [item] }, contextFor())
  expect(request.turns[0]?.parts[0]).toMatchObject({ name: 'gone__run' })
  expect(responsesCodec.encodeRequest(request, contextFor()).input).toEqual([item])
})

test('encodes overlapping parts of an upstream one after another', () => {
  const chunk = (delta: JsonObject, finish: string | null = null): { data: string } => ({
    data: JSON.stringify({
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [{ index: 0, delta, finish_reason: finish }],
    }),
  })
  const call = (index: number, text: string, name?: string): JsonObject => ({
    tool_calls: [
      {
        index,
        ...(name ? { id: `call_${index}`, type: 'function' } : {}),
        function: { arguments: text, ...(name ? { name } : {}) },
      },
    ],
  })
  const wire = [
    chunk({ role: 'assistant', content: '' }),
    chunk(call(0, '{"a"', 'one')),
    chunk(call(1, '{"b"', 'two')),
    chunk(call(0, ':1}')),
    chunk(call(1, ':2}')),
    chunk({}, 'tool_calls'),
    { data: '[DONE]' },
  ]
  const events = run(chatCodec.decodeStream(contextFor({}, false)), wire)
  const sent = run(responsesCodec.encodeStream(contextFor()), events)
  checkGrammar(sent, 'overlap')
  const folded = foldEvents(run(responsesCodec.decodeStream(contextFor()), sent))
  expect(folded.choices[0]?.parts.map((part) => part.type === 'tool-call' && [part.id, part.name, part.input])).toEqual(
    [
      ['call_0', 'one', '{"a":1}'],
      ['call_1', 'two', '{"b":2}'],
    ],
  )
})
