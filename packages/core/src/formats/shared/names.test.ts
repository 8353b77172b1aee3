import { describe, expect, it, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import type { Format, SharedFormat } from '../../base/names.ts'
import type { Codec } from '../codec.ts'
import { codecs } from '../codecs.ts'
import type { ModelRequest, ToolCallPart } from '../ir.ts'
import { type RoundTripCodec, roundTripCodecs } from '../round-trip.test-support.ts'
import { exchangeOf, readAnswer, readRequest, readStream } from './exchange.test-support.ts'
import { foldEvents } from './fold.test-support.ts'
import { createUniqueNames } from './names.ts'

const long = 'x'.repeat(130)
/** Names that some upstreams reject, and names that could result from renaming them. */
const names = [
  'plain',
  'fs.read',
  'fs/read',
  'fs:read',
  'fs_read',
  '1st',
  'mcp__github__search ü😀',
  `${long}1`,
  `${long}2`,
  'y'.repeat(65),
]
const accepted: Readonly<Record<SharedFormat, RegExp>> = {
  chat: /^[a-zA-Z0-9_-]{1,64}$/,
  responses: /^[a-zA-Z0-9_-]{1,64}$/,
  messages: /^[a-zA-Z0-9_-]{1,128}$/,
  gemini: /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/,
  converse: /^[a-zA-Z0-9_-]{1,64}$/,
}

/** A model that Bedrock can force to call a tool. */
const model = 'amazon.nova-pro-v1:0'
const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
const input = '{"a":"b"}'

/** Requests that offer the tools, hold one call of each and choose one tool. */
const bodies: Readonly<Record<Format, (named: readonly string[], chosen: string) => JsonObject>> = {
  chat: (named, chosen) => ({
    model: 'm',
    messages: [
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: null,
        tool_calls: named.map((name, i) => ({ id: `c${i}`, type: 'function', function: { name, arguments: input } })),
      },
      ...named.map((_, i) => ({ role: 'tool', tool_call_id: `c${i}`, content: 'done' })),
    ],
    tools: named.map((name) => ({ type: 'function', function: { name, parameters: schema } })),
    tool_choice: { type: 'function', function: { name: chosen } },
  }),
  messages: (named, chosen) => ({
    model: 'm',
    max_tokens: 100,
    messages: [
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: named.map((name, i) => ({ type: 'tool_use', id: `c${i}`, name, input: { a: 'b' } })),
      },
      { role: 'user', content: named.map((_, i) => ({ type: 'tool_result', tool_use_id: `c${i}`, content: 'done' })) },
    ],
    tools: named.map((name) => ({ name, input_schema: schema })),
    tool_choice: { type: 'tool', name: chosen },
  }),
  gemini: (named, chosen) => ({
    model: 'm',
    contents: [
      { role: 'user', parts: [{ text: 'go' }] },
      { role: 'model', parts: named.map((name, i) => ({ functionCall: { id: `c${i}`, name, args: { a: 'b' } } })) },
      {
        role: 'user',
        parts: named.map((name, i) => ({ functionResponse: { id: `c${i}`, name, response: { output: 'done' } } })),
      },
    ],
    tools: [{ functionDeclarations: named.map((name) => ({ name, parametersJsonSchema: schema })) }],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [chosen] } },
  }),
  converse: (named, chosen) => ({
    model: 'm',
    messages: [
      { role: 'user', content: [{ text: 'go' }] },
      {
        role: 'assistant',
        content: named.map((name, i) => ({ toolUse: { toolUseId: `c${i}`, name, input: { a: 'b' } } })),
      },
      {
        role: 'user',
        content: named.map((_, i) => ({ toolResult: { toolUseId: `c${i}`, content: [{ text: 'done' }] } })),
      },
    ],
    toolConfig: {
      tools: named.map((name) => ({ toolSpec: { name, inputSchema: { json: schema } } })),
      toolChoice: { tool: { name: chosen } },
    },
  }),
  responses: (named, chosen) => ({
    model: 'm',
    input: [
      { role: 'user', content: 'go' },
      ...named.map((name, i) => ({ type: 'function_call', call_id: `c${i}`, name, arguments: input })),
      ...named.map((_, i) => ({ type: 'function_call_output', call_id: `c${i}`, output: 'done' })),
    ],
    tools: named.map((name) => ({ type: 'function', name, parameters: schema })),
    tool_choice: { type: 'function', name: chosen },
  }),
  // Its clients choose no tool.
  ollama: (named) => ({
    model: 'm',
    messages: [
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: '',
        tool_calls: named.map((name, i) => ({ id: `c${i}`, function: { name, arguments: { a: 'b' } } })),
      },
      ...named.map((name, i) => ({ role: 'tool', tool_name: name, tool_call_id: `c${i}`, content: 'done' })),
    ],
    tools: named.map((name) => ({ type: 'function', function: { name, parameters: schema } })),
  }),
}

const toolsOf = ({ tools }: ModelRequest): string[] =>
  (tools?.list ?? []).flatMap((tool) => (tool.type === 'native' ? [] : [tool.name]))
const callsOf = (request: ModelRequest): string[] =>
  request.turns.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'tool-call' ? [part.name] : [])))
const resultsOf = (request: ModelRequest): string[] =>
  request.turns.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === 'tool-result' && part.name !== undefined ? [part.name] : [])),
  )
const pairs = roundTripCodecs.flatMap((client) =>
  codecs.map((upstream): [Format, SharedFormat, RoundTripCodec, Codec] => [
    client.format,
    upstream.format,
    client,
    upstream,
  ]),
)

describe.each(pairs)('tools of a %s client at a %s upstream', (_client, format, client, upstream) => {
  const body = bodies[client.format](names, 'fs/read')
  const { request, sent, losses, answer, stream } = exchangeOf(client, body, upstream, model)
  const received = readRequest(upstream, sent)
  const offered = toolsOf(received)

  test('have unique names that the upstream accepts', () => {
    expect(offered.filter((name) => !accepted[format].test(name))).toEqual([])
    expect(new Set(offered).size).toBe(names.length)
  })

  test('keep names that the upstream accepts', () => {
    for (const [index, name] of names.entries()) if (accepted[format].test(name)) expect(offered[index]).toBe(name)
  })

  test('have the same names in the list, the choice, the calls and the results', () => {
    expect(callsOf(received)).toEqual(offered)
    if (client.capabilities.requests['tools.named'].client)
      expect(received.tools?.choice).toEqual({ name: offered[names.indexOf('fs/read')] })
    for (const [index, name] of resultsOf(received).entries()) expect(name).toBe(offered[index])
  })

  test('are reported as one note each if they are renamed', () => {
    const renamed = names.filter((name) => !accepted[format].test(name))
    const renames = losses.filter(({ detail }) => detail.startsWith('the upstream does not accept a tool named'))
    expect(renames).toHaveLength(renamed.length)
    expect(renames.every(({ kind, severity }) => kind === 'approximated' && severity === 'note')).toBe(true)
    expect(new Set(renames.map(({ path }) => path)).size).toBe(renamed.length)
  })

  test('have the client’s names in whole and streamed responses', () => {
    const parts = offered.map((name, i): ToolCallPart => ({ type: 'tool-call', id: `d${i}`, name, input }))
    const called = (found: readonly { type: string; name?: string }[]): (string | undefined)[] =>
      found.filter(({ type }) => type === 'tool-call').map(({ name }) => name)
    // An empty client request, so that decoding the client's own format does not rename anything.
    const bare: ModelRequest = { model: 'm', turns: [], stream: false }
    expect(called(readAnswer(client, answer(parts), bare))).toEqual(names)
    const folded = foldEvents(readStream(client, stream(parts), bare))
    expect(called(folded.choices[0]?.parts ?? [])).toEqual(names)
  })

  test('keep their names in the next turn', () => {
    const next = exchangeOf(client, bodies[client.format](names, 'plain'), upstream, model)
    expect(toolsOf(readRequest(upstream, next.sent))).toEqual(offered)
    expect(toolsOf(request)).toEqual(names)
  })
})

test('creates short names that differ from every name in the client’s request', () => {
  const [chat] = codecs
  if (chat === undefined) throw new Error('no codec')
  const [used = ''] = toolsOf(readRequest(chat, exchangeOf(chat, bodies.chat(['a.b'], 'a.b'), chat).sent))
  const met = exchangeOf(chat, bodies.chat(['a.b', used], 'a.b'), chat)
  const [first, second] = toolsOf(readRequest(chat, met.sent))
  expect(second).toBe(used)
  expect(first).not.toBe(used)
  expect(first).toMatch(accepted.chat)
})

test('keeps a namespace member and a function with its flattened name as two tools', () => {
  const responses = codecs.find(({ format }) => format === 'responses')
  const [chat] = codecs
  if (responses === undefined || chat === undefined) throw new Error('no codec')
  const inner = (name: string): JsonObject => ({ type: 'function', name, parameters: schema })
  const body: JsonObject = {
    model: 'm',
    input: [
      { type: 'function_call', call_id: 'c', namespace: 'a', name: 'b__c', arguments: input },
      { type: 'function_call', call_id: 'd', name: 'a__b__c', arguments: input },
    ],
    tools: [
      { type: 'namespace', name: 'a', tools: [inner('b__c')] },
      { type: 'namespace', name: 'a__b', tools: [inner('c')] },
      inner('a__b__c'),
    ],
    tool_choice: { type: 'function', namespace: 'a__b', name: 'c' },
  }
  const { sent, answer } = exchangeOf(responses, body, chat)
  const received = readRequest(chat, sent)
  const offered = toolsOf(received)
  expect(new Set(offered).size).toBe(3)
  expect(callsOf(received)).toEqual([offered[0], offered[2]])
  expect(received.tools?.choice).toEqual({ name: offered[1] })
  const calls = offered.map((name, i): ToolCallPart => ({ type: 'tool-call', id: `e${i}`, name, input }))
  expect((answer(calls).output as JsonObject[]).map(({ namespace, name }) => [namespace, name])).toEqual([
    ['a', 'b__c'],
    ['a__b', 'c'],
    [undefined, 'a__b__c'],
  ])
  const same = exchangeOf(responses, body, responses).sent
  expect(same.tools).toMatchObject(body.tools as JsonObject[])
  expect(same.tool_choice).toEqual(body.tool_choice)
})

it('numbers duplicate names from 2', () => {
  const free = createUniqueNames('_', ['a_3'])
  expect(['a', 'a', 'a', 'b', 'a_2', 'a'].map(free)).toEqual(['a', 'a_2', 'a_4', 'b', 'a_2_2', 'a_5'])
})
