import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import { testContext } from '../chat/context.test-support.ts'
import type { ModelRequest } from '../ir.ts'
import { geminiCodec } from './codec.ts'

const decode = (body: JsonObject): ModelRequest => geminiCodec.decodeRequest(structuredClone(body), testContext())
function roundTrip(body: JsonObject, model = 'm') {
  const context = { ...testContext(), target: { model, quirks: {} } }
  const wire = geminiCodec.encodeRequest(geminiCodec.decodeRequest(structuredClone(body), context), context)
  return { wire, losses: context.losses.map(({ path, kind, severity }) => `${severity} ${kind} ${path}`) }
}
const text = { text: 'hi' }

describe('model contents of a chat that stores each chunk of a streamed response', () => {
  const chunk = (part: JsonObject): JsonObject => ({ role: 'model', parts: [part] })
  const call = (id: string): JsonObject => ({ functionCall: { id, name: 'f', args: {} } })
  const back = (...parts: JsonObject[]): unknown[] =>
    (roundTrip({ contents: [{ role: 'user', parts: [text] }, ...parts.map(chunk)] }).wire.contents as JsonObject[])
      .slice(1)
      .map(({ parts: wire }) => wire)

  test.each<[string, JsonObject[], JsonObject[]]>([
    ['texts are concatenated', [{ text: 'a ' }, { text: '' }, { text: 'b' }, { text: '' }], [{ text: 'a b' }]],
    ['calls stay in one turn', [{ text: 'a' }, call('x'), call('y')], [{ text: 'a' }, call('x'), call('y')]],
    [
      'a thought continues until its signature',
      [
        { text: 'a', thought: true },
        { text: 'b', thought: true },
        { text: '', thought: true, thoughtSignature: 'S' },
        { text: 'c', thought: true },
      ],
      [
        { text: 'ab', thought: true, thoughtSignature: 'S' },
        { text: 'c', thought: true },
      ],
    ],
    [
      'a signed text stays a part of its own',
      [{ text: 'a' }, { text: 'b', thoughtSignature: 'S' }, { text: 'c' }],
      [{ text: 'a' }, { text: 'b', thoughtSignature: 'S' }, { text: 'c' }],
    ],
    [
      'a signed empty text at the end is kept',
      [{ text: 'a' }, { text: '', thoughtSignature: 'S' }],
      [{ text: 'a' }, { text: '', thoughtSignature: 'S' }],
    ],
  ])('are joined to one turn: %s', (_, chunks, parts) => {
    expect(back(...chunks)).toEqual([parts])
  })
})

test('puts a user content before a conversation that begins with calls, and reports it', () => {
  const contents: JsonObject[] = [
    { role: 'model', parts: [{ functionCall: { id: 'x', name: 'f', args: {} } }] },
    { role: 'user', parts: [{ functionResponse: { id: 'x', name: 'f', response: { output: 'f' } } }] },
  ]
  const { wire, losses } = roundTrip({ contents })
  expect(wire.contents).toEqual([{ role: 'user', parts: [{ text: '.' }] }, ...contents])
  expect(losses).toEqual(['warn approximated /contents/0/parts/0'])
})

test.each([
  ['-_8', '+/8='],
  ['AAA=', 'AAA='],
])('decodes base64 data %s as standard base64 %s', (data, standard) => {
  const { turns } = decode({ contents: [{ role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data } }] }] })
  expect(turns[0]?.parts).toMatchObject([{ source: { type: 'base64', data: standard } }])
})

describe('call ids', () => {
  const call = (name: string, id?: string): JsonObject => ({ functionCall: { name, args: {}, ...(id ? { id } : {}) } })
  const response = (name: string, id?: string): JsonObject => ({
    functionResponse: { name, response: { output: name }, ...(id ? { id } : {}) },
  })
  const idsOf = (contents: JsonObject[]): string[] =>
    decode({ contents }).turns.flatMap(({ parts }) =>
      parts.flatMap((part) =>
        part.type === 'tool-call' ? [part.id] : part.type === 'tool-result' ? [part.callId] : [],
      ),
    )
  const model = (...parts: JsonObject[]): JsonObject => ({ role: 'model', parts })
  const user = (...parts: JsonObject[]): JsonObject => ({ role: 'user', parts })

  test.each<[string, JsonObject[], string[]]>([
    [
      'by id',
      [model(call('f', 'a'), call('f', 'b')), user(response('f', 'b'), response('f', 'a'))],
      ['a', 'b', 'b', 'a'],
    ],
    [
      'by name and order',
      [model(call('f'), call('g'), call('f')), user(response('g'), response('f'), response('f'))],
      ['call_g0_0', 'call_g0_1', 'call_g0_2', 'call_g0_1', 'call_g0_0', 'call_g0_2'],
    ],
    [
      'in each turn separately',
      [model(call('f')), user(response('f')), model(call('f')), user(response('f'))],
      ['call_g0_0', 'call_g0_0', 'call_g2_0', 'call_g2_0'],
    ],
    ['by order where the name is wrong', [model(call('f')), user(response('x'))], ['call_g0_0', 'call_g0_0']],
    [
      'by name where only the response has an id',
      [model(call('f')), user(response('f', 'z'))],
      ['call_g0_0', 'call_g0_0'],
    ],
    ['that do not exist', [user(response('f'))], ['call_g0_0']],
  ])('match responses to calls %s', (_, contents, ids) => {
    expect(idsOf(contents)).toEqual(ids)
  })

  test('of earlier turns stay the same when the conversation grows', () => {
    const start = [model(call('f'), call('f')), user(response('f'), response('f'))]
    const more = [...start, model(text), user(text)]
    expect(idsOf(more).slice(0, 4)).toEqual(idsOf(start))
  })

  test('joins function responses in several contents to one turn', () => {
    const { turns } = decode({
      contents: [model(call('f'), call('g')), user(response('f')), user(response('g')), user(text)],
    })
    expect(turns.map(({ parts }) => parts.length)).toEqual([2, 2, 1])
  })

  test.each<[string, JsonObject, string | undefined, boolean | undefined]>([
    ['a plain text', { output: 'x' }, 'x', undefined],
    ['an empty text', { output: '' }, undefined, undefined],
    ['an error', { error: 'x' }, 'x', true],
    ['an error that is an object', { error: { code: 1 } }, '{"code":1}', true],
    ['an object', { a: 1 }, '{"a":1}', undefined],
    ['an empty object', {}, '{}', undefined],
    ['a text that is an object', { output: '{"a":1}' }, '{"output":"{\\"a\\":1}"}', undefined],
    ['a key that the client chose', { result: 'x' }, '{"result":"x"}', undefined],
    ['a list', { output: [1] }, '{"output":[1]}', undefined],
    ['an output in addition to an error', { error: 'x', output: 'y' }, '{"error":"x","output":"y"}', undefined],
  ])('decodes a function response that holds %s, and encodes it back', (_, wire, resultText, isError) => {
    const body = {
      contents: [user(text), model(call('f', 'a')), user({ functionResponse: { id: 'a', name: 'f', response: wire } })],
    }
    const turn = decode(body).turns.at(-1)
    const [part] = turn?.parts ?? []
    expect(part).toMatchObject({ type: 'tool-result', callId: 'a', name: 'f' })
    if (part?.type !== 'tool-result') return
    expect(part.isError).toBe(isError)
    expect(part.parts.map((inner) => (inner.type === 'text' ? inner.text : inner.type))).toEqual(
      resultText === undefined ? [] : [resultText],
    )
    expect(roundTrip(body).wire).toEqual(body)
  })
})

test('a result gets the name of the last call before it if several calls have the same id', () => {
  const context = { ...testContext(), target: { model: 'm', quirks: {} } }
  const call = (name: string): ModelRequest['turns'][number] => ({
    role: 'assistant',
    parts: [{ type: 'tool-call', id: 'same', name, input: '{}' }],
  })
  const result: ModelRequest['turns'][number] = {
    role: 'user',
    parts: [{ type: 'tool-result', callId: 'same', parts: [{ type: 'text', text: 'ok' }] }],
  }
  const question: ModelRequest['turns'][number] = { role: 'user', parts: [{ type: 'text', text: 'hi' }] }
  const wire = geminiCodec.encodeRequest(
    { model: 'm', stream: false, turns: [question, call('first'), result, call('second'), result] },
    context,
  )
  const names = (wire.contents as { parts: { functionResponse?: { name: string } }[] }[]).flatMap(({ parts }) =>
    parts.flatMap(({ functionResponse }) => functionResponse?.name ?? []),
  )
  expect(names).toEqual(['first', 'second'])
})
