import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import type { ModelRequest, Part, Tool } from '../ir.ts'
import { messagesCodec } from './index.ts'
import { contextFor } from './recorded.test-support.ts'
import { assistant, encode, lossTexts, user } from './request.test-support.ts'

describe('tools of other formats', () => {
  const list: Tool[] = [
    { type: 'function', name: 'a', schema: { properties: {} } },
    { type: 'function', name: 'b' },
    { type: 'custom', name: 'c', description: 'Free.', grammar: { syntax: 'lark', definition: 'start: "x"' } },
  ]
  test('sends a schema without a type as an object schema, and a custom tool as a function with one text', () => {
    const { out, losses } = encode({ tools: { list } })
    expect(out.tools).toEqual([
      { name: 'a', input_schema: { type: 'object', properties: {} } },
      { name: 'b', input_schema: { type: 'object', properties: {} } },
      {
        name: 'c',
        description: 'Free.',
        input_schema: {
          type: 'object',
          properties: { input: { type: 'string', description: expect.stringContaining('start: "x"') } },
          required: ['input'],
          additionalProperties: false,
        },
      },
    ])
    expect(lossTexts(losses)).toEqual([' approximated warn'])
    const call = { type: 'tool_use', id: 't', name: 'c', input: { input: 'x' } }
    const request: ModelRequest = { model: 'm', turns: [], stream: false, tools: { list } }
    const answer = messagesCodec.decodeResponse(
      { id: 'm', content: [call], stop_reason: 'tool_use' },
      contextFor(request),
    )
    expect(answer.choices[0]?.parts).toEqual([
      { type: 'tool-call', id: 't', name: 'c', input: 'x', custom: true, at: '/content/0' },
    ])
  })

  test.each<[NonNullable<ModelRequest['tools']>, JsonObject | undefined, string[], string[]]>([
    [{ list, choice: 'auto' }, { type: 'auto' }, ['a', 'b', 'c'], []],
    [{ list, choice: 'none', parallel: false }, { type: 'none' }, ['a', 'b', 'c'], []],
    [{ list, choice: 'required' }, { type: 'any' }, ['a', 'b', 'c'], []],
    [{ list, choice: { name: 'b' } }, { type: 'tool', name: 'b' }, ['a', 'b', 'c'], []],
    [{ list, parallel: false }, { type: 'auto', disable_parallel_tool_use: true }, ['a', 'b', 'c'], []],
    [{ list, parallel: true }, undefined, ['a', 'b', 'c'], []],
    [
      { list, choice: { allowed: ['b'], mode: 'required' } },
      { type: 'any' },
      ['b'],
      ['/tools unsupported note', '/tools unsupported note', '/tools/choice approximated note'],
    ],
    [{ list: [], choice: 'auto' }, undefined, [], []],
    [{ list: [], choice: 'required' }, undefined, [], ['/tools/choice unsupported warn']],
  ])('encodes the tools and the choice of %j', (tools, choice, names, losses) => {
    const { out, losses: found } = encode({ tools })
    expect(out.tool_choice).toEqual(choice)
    expect(((out.tools ?? []) as JsonObject[]).map(({ name }) => name)).toEqual(names)
    expect(lossTexts(found).filter((line) => line !== ' approximated warn')).toEqual(losses)
  })

  test('rewrites a name that Anthropic rejects, and reports a fatal loss for a missing name', () => {
    const named = encode({ tools: { list: [{ type: 'function', name: 'a.b', at: '/tools/0' }] } })
    expect(named.out.tools).toMatchObject([{ name: expect.stringMatching(/^a_b_[0-9a-f]{8}$/) }])
    expect(lossTexts(named.losses)).toEqual(['/tools/0 approximated note'])
    const nameless = encode({ tools: { list: [{ type: 'function', name: '', at: '/tools/0' }] } })
    expect(lossTexts(nameless.losses)).toEqual(['/tools/0 unsupported fatal'])
  })

  test('rewrites ids that Anthropic rejects, the same in call and result', () => {
    const call = (id: string): Part => ({ type: 'tool-call', id, name: 'f', input: '{}' })
    const result = (callId: string): Part => ({ type: 'tool-result', callId, parts: [] })
    const ids = ['f:0', 'f_0', 'f.0', '', '', 'ok-1']
    const { out } = encode({ turns: [user('Hi'), assistant(...ids.map(call)), user(...ids.map(result))] })
    const [, calls, results] = out.messages as { content: JsonObject[] }[]
    const sent = calls?.content.map(({ id }) => id)
    expect(sent).toEqual(['f_0_2', 'f_0', 'f_0_3', 'call_1', 'call_2', 'ok-1'])
    expect(results?.content.map(({ tool_use_id }) => tool_use_id)).toEqual(sent)
  })

  test('wraps and reports input that is not an object', () => {
    const call = (input: string, custom = false): Part => ({
      type: 'tool-call',
      id: input.length.toString(),
      name: 'f',
      input,
      ...(custom && { custom }),
    })
    const { out, losses } = encode({ turns: [user('Hi'), assistant(call('{"a":'), call('[1]'), call('free', true))] })
    expect((out.messages as { content: JsonObject[] }[])[1]?.content.map(({ input }) => input)).toEqual([
      { invalid_json: '{"a":' },
      { value: [1] },
      { input: 'free' },
    ])
    expect(losses.map(({ kind }) => kind)).toEqual(['approximated'])
  })
})
