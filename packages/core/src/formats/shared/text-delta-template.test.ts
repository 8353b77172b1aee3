import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import type { ModelEvent } from '../ir.ts'
import { TextDeltaTemplate } from './text-delta-template.ts'

const silent: ReadonlySet<string> = new Set(['number', 'filler'])
const delta = (text: string): ModelEvent => ({ type: 'part-delta', choice: 0, part: 2, delta: { type: 'text', text } })
const usage: ModelEvent = { type: 'usage', usage: { input: { total: 1 }, output: { total: 1 } } }
const event = (data: string) => ({ data })

/** Learns the first event, which holds the text `a`, and reads the second with that template. */
function readBehind(first: string, second: string, came: readonly ModelEvent[] = [delta('a')]): string | undefined {
  const template = new TextDeltaTemplate(silent)
  template.learn(event(first), 'text', came)
  return template.read(event(second))
}

describe('an event similar to the one before', () => {
  const first = '{"number":9,"id":"i","part":{"text":"a","filler":"text"},"filler":"xyz","more":[{"text":"b"}]}'

  test.each([
    ['another text', first.replace('"a"', '"bc"'), 'bc'],
    ['a text of any length', first.replace('"a"', `"${'long '.repeat(100)}"`), 'long '.repeat(100)],
    ['a text with escapes', first.replace('"a"', '"\\"\\n\\u00e9"'), '"\n\u00e9'],
    ['another number', first.replace('9', '10').replace('"a"', '"b"'), 'b'],
    ['another filler', first.replace('xyz', 'x').replace('"a"', '"b"'), 'b'],
  ])('is read by the template if it has %s', (_, second, text) => {
    expect(readBehind(first, second)).toBe(text)
  })

  test.each([
    ['no text', first.replace('"a"', '""')],
    ['another member', first.replace('"id":"i"', '"id":"j"')],
    ['one member more', first.replace('"more"', '"x":1,"more"')],
    ['another text in a neighbour', first.replace('"b"', '"c"')],
    ['another nested filler', first.replace('"text"}', '"x"}')],
    ['an escape in the filler', first.replace('xyz', '\\x')],
    ['an invalid text', first.replace('"a"', '"\\x"')],
    ['a line end in its text', first.replace('"a"', '"\n"')],
    ['an invalid number', first.replace('9', '09')],
    ['a number with a fraction', first.replace('9', '9.5')],
    ['no number', first.replace('9', '')],
    ['no end', first.slice(0, -1)],
    ['trailing characters', `${first} `],
    ['no end within its text', '{"number":9,"id":"i","part":{"text":"'],
    ['no end behind an escape', '{"number":9,"id":"i","part":{"text":"\\'],
    ['no content', ''],
  ])('is not read by the template if it has %s', (_, second) => {
    expect(readBehind(first, second)).toBeUndefined()
  })

  it('is not read by the template under another event name', () => {
    const template = new TextDeltaTemplate(silent)
    template.learn({ event: 'x', data: first }, 'text', [delta('a')])
    expect(template.read({ event: 'y', data: first })).toBeUndefined()
    expect(template.read({ event: 'x', data: first })).toBe('a')
  })
})

test.each<[string, string, readonly ModelEvent[]]>([
  ['two members that may hold the text', '{"text":"a","part":{"text":"a"}}', [delta('a')]],
  ['its text elsewhere', '{"words":"a"}', [delta('a')]],
  ['members written with escapes', '{"text":"a","t\\u0065xt":"a"}', [delta('a')]],
  ['more than one decoded event', '{"text":"a"}', [delta('a'), { type: 'part-end', choice: 0, part: 2 }]],
  ['no decoded event', '{"text":"a"}', []],
  [
    'log probabilities',
    '{"text":"a"}',
    [{ type: 'part-delta', choice: 0, part: 2, delta: { type: 'text', text: 'a', logprobs: null } }],
  ],
])('learns no template from an event with %s', (_, data, came) => {
  expect(readBehind(data, data, came)).toBeUndefined()
})

it('reads the same text as JSON.parse for random texts', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string(), fc.nat(), (text, filler, number) => {
      const second = { number, text, filler: filler.replaceAll(/["\\]/g, '') }
      const read = readBehind('{"number":1,"text":"a","filler":""}', JSON.stringify(second))
      expect(read).toBe(text === '' || JSON.stringify(second.filler).includes('\\') ? undefined : text)
    }),
  )
})

describe('running usage', () => {
  const running = { key: 'usage', counts: new Set(['total']) }
  const first = '{"text":"a","usage":{"in":3,"total":7,"more":[{"total":4}]}}'
  const learned = (came: readonly ModelEvent[]) => {
    const template = new TextDeltaTemplate(silent, running)
    template.learn(event(first), 'text', came)
    return template
  }

  it('is read with the text', () => {
    const template = learned([delta('a'), usage])
    expect(template.read(event(first.replace('"a"', '"b"').replace('7', '12')))).toBe('b')
    expect(template.usage).toEqual({ in: 3, total: 12, more: [{ total: 4 }] })
  })

  test.each([
    ['another count', first.replace('3', '4')],
    ['another nested count', first.replace('4', '5')],
    ['no count', first.replace('7', 'null')],
  ])('is not read by the template if it has %s', (_, second) => {
    expect(learned([delta('a'), usage]).read(event(second))).toBeUndefined()
  })

  it.each(['7.5', '7e1'])('is read but not updated if it is not a plain integer: %s', (count) => {
    const template = new TextDeltaTemplate(silent, running)
    const odd = first.replace('7', count)
    template.learn(event(odd), 'text', [delta('a'), usage])
    expect(template.read(event(odd.replace('"a"', '"b"')))).toBe('b')
    expect(template.usage).toEqual({ in: 3, total: Number(count), more: [{ total: 4 }] })
    expect(template.read(event(odd.replace('7', '8')))).toBeUndefined()
  })

  it('is not learned if decoding reported none', () => {
    expect(learned([delta('a')]).read(event(first))).toBeUndefined()
  })
})

it('stops learning if events never share a template', () => {
  const template = new TextDeltaTemplate(silent)
  for (let n = 0; n < 20; n++) template.learn(event(`{"id":${n},"text":"a"}`), 'text', [delta('a')])
  expect(template.read(event('{"id":19,"text":"a"}'))).toBeUndefined()
})
