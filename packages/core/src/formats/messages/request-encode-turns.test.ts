import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/types.ts'
import type { Turn } from '../ir.ts'
import { assistant, encode, system, text, told, turn, user } from './request.test-support.ts'

describe('a conversation of another format', () => {
  test.each<[string, Turn[], JsonObject, string[]]>([
    [
      'leading system and developer turns become the system prompt',
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
      'one system text is a string',
      [system('A'), user('Hi')],
      { system: 'A', messages: [{ role: 'user', content: 'Hi' }] },
      [],
    ],
    [
      'neighbours of a role become one message, results in front',
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
      'a first word of the assistant gets a user before it',
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
      'a system prompt alone is sent as the user message that has to be there',
      [system('A')],
      { messages: [{ role: 'user', content: 'A' }] },
      [' moved warn'],
    ],
    [
      'empty texts and messages are not sent',
      [user(''), assistant('  '), user('Hi', '')],
      { messages: [{ role: 'user', content: 'Hi' }] },
      [' unsupported note', ' unsupported note'],
    ],
    [
      'an assistant message to be continued loses the blanks at its end',
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
      'a system message in the middle is marked text of the user',
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
      'a refusal is text, and names are reported',
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
      'a hint on a whole message stands on its last block',
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
    expect(told(result.losses)).toEqual(losses)
  })

  test('a model that takes system messages gets them, behind a user message', () => {
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

test('a user message of which nothing can be carried is fatal: the model would answer another question', () => {
  const { losses } = encode({ turns: [turn('user', [{ type: 'native', format: 'chat', value: { type: 'bogus' } }])] })
  expect(losses.some((loss) => JSON.stringify(loss).includes('fatal'))).toBe(true)
})
