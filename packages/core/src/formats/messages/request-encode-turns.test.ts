import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import type { Turn } from '../ir.ts'
import { assistant, encode, lossTexts, system, text, turn, user } from './request.test-support.ts'

describe('conversations of other formats', () => {
  test.each<[string, Turn[], JsonObject, string[]]>([
    [
      'sends leading system and developer turns as the system prompt',
      [system('A'), turn('developer', ['B']), user('Hi')],
      {
        system: [
          { type: 'text', text: 'A' },
          { type: 'text', text: 'B' },
        ],
        messages: [{ role: 'user', content: 'Hi' }],
      },
      [],
    ],
    [
      'sends a single system text as a string',
      [system('A'), user('Hi')],
      { system: 'A', messages: [{ role: 'user', content: 'Hi' }] },
      [],
    ],
    [
      'merges neighbouring messages of a role, with tool results first',
      [
        user('Hi'),
        assistant('a', { type: 'tool-call', id: 'x', name: 'f', input: '{"q":1}' }),
        assistant({ type: 'tool-call', id: 'y', name: 'f', input: '' }),
        user('early', { type: 'tool-result', callId: 'y', parts: [text('2')] }),
        user({ type: 'tool-result', callId: 'x', parts: [text('1')] }, 'late'),
      ],
      {
        messages: [
          { role: 'user', content: 'Hi' },
          {
            role: 'assistant',
            content: [
              { type: 'text', text: 'a' },
              { type: 'tool_use', id: 'x', name: 'f', input: { q: 1 } },
              { type: 'tool_use', id: 'y', name: 'f', input: {} },
            ],
          },
          {
            role: 'user',
            content: [
              { type: 'tool_result', tool_use_id: 'y', content: '2' },
              { type: 'tool_result', tool_use_id: 'x', content: '1' },
              { type: 'text', text: 'early' },
              { type: 'text', text: 'late' },
            ],
          },
        ],
      },
      [' moved note'],
    ],
    [
      'adds a user message before a leading assistant message',
      [assistant('Hello'), user('Hi')],
      {
        messages: [
          { role: 'user', content: '.' },
          { role: 'assistant', content: 'Hello' },
          { role: 'user', content: 'Hi' },
        ],
      },
      ['/messages approximated warn'],
    ],
    [
      'sends a lone system prompt as the required user message',
      [system('A')],
      { messages: [{ role: 'user', content: 'A' }] },
      [' moved warn'],
    ],
    [
      'drops empty texts and messages',
      [user(''), assistant('  '), user('Hi', '')],
      { messages: [{ role: 'user', content: 'Hi' }] },
      [' unsupported note', ' unsupported note'],
    ],
    [
      'trims blanks at the end of an assistant message that the response continues',
      [user('Hi'), assistant('The answer: \n')],
      {
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', content: 'The answer:' },
        ],
      },
      [' approximated note'],
    ],
    [
      'sends a later system message as marked user text',
      [user('Hi'), system('S'), assistant('a'), system('T'), user('b')],
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'Hi' },
              { type: 'text', text: '<system>\nS\n</system>' },
            ],
          },
          { role: 'assistant', content: 'a' },
          {
            role: 'user',
            content: [
              { type: 'text', text: '<system>\nT\n</system>' },
              { type: 'text', text: 'b' },
            ],
          },
        ],
      },
      [' moved warn'],
    ],
    [
      'sends a refusal as text and reports names of speakers',
      [{ ...user('Hi'), name: 'Ann' }, assistant({ type: 'refusal', text: 'No.' }), user('Why?')],
      {
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', content: 'No.' },
          { role: 'user', content: 'Why?' },
        ],
      },
      ['/name unsupported warn', ' approximated note'],
    ],
    [
      'sets a cache hint for a whole message on its last block',
      [{ ...user('a', 'b'), cache: {} }],
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'a' },
              { type: 'text', text: 'b', cache_control: { type: 'ephemeral' } },
            ],
          },
        ],
      },
      [],
    ],
  ])('%s', (_, turns, wire, losses) => {
    const result = encode({ turns })
    expect({ system: result.out.system, messages: result.out.messages }).toEqual({ system: undefined, ...wire })
    expect(lossTexts(result.losses)).toEqual(losses)
  })

  test('sends later system messages after a user message to models that accept them', () => {
    const { out, losses } = encode(
      { turns: [user('Hi'), system('S'), assistant('a'), system('T'), user('b'), assistant('c'), system('U')] },
      'claude-opus-4-8',
    )
    expect((out.messages as JsonObject[]).map(({ role, content }) => `${role} ${JSON.stringify(content)}`)).toEqual([
      'user "Hi"',
      'system "S"',
      'assistant "a"',
      'user "b"',
      'system "T"',
      'assistant "c"',
      'user "<system>\\nU\\n</system>"',
    ])
    expect(losses.map(({ kind }) => kind)).toEqual(['moved', 'moved'])
  })
})

test('reports a fatal loss for a user message without any content that can be sent', () => {
  const { losses } = encode({ turns: [turn('user', [{ type: 'native', format: 'chat', value: { type: 'bogus' } }])] })
  expect(losses.some((loss) => JSON.stringify(loss).includes('fatal'))).toBe(true)
})
