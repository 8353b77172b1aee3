import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import type { ModelEvent } from '../ir.ts'
import { TextDeltaTemplate } from './text-delta-template.ts'

const silent: ReadonlySet<string> = new Set(['number', 'filler'])
const delta = (text: string): ModelEvent => ({ type: 'part-delta', choice: 0, part: 2, delta: { type: 'text', text } })
const usage: ModelEvent = { type: 'usage', usage: { input: { total: 1 }, output: { total: 1 } } }
const event = (data: string) => ({ data })

/** What is read of an event by who has learned another that said `a`. */
function readBehind(first: string, second: string, came: readonly ModelEvent[] = [delta('a')]): string | undefined {
  const mould = new TextDeltaTemplate(silent)
  mould.learn(event(first), 'text', came)
  return mould.read(event(second))
}

describe('an event like the one before', () => {
  const first = '{"number":9,"id":"i","part":{"text":"a","filler":"text"},"filler":"xyz","more":[{"text":"b"}]}'

  test.each([
    ['another text', first.replace('"a"', '"bc"'), 'bc'],
    ['a text of any length', first.replace('"a"', `"${'long '.repeat(100)}"`), 'long '.repeat(100)],
    ['a text with escapes', first.replace('"a"', '"\\"\\n\\u00e9"'), '"\n\u00e9'],
    ['another number', first.replace('9', '10').replace('"a"', '"b"'), 'b'],
    ['another filler', first.replace('xyz', 'x').replace('"a"', '"b"'), 'b'],
  ])('is read where it has %s', (_, second, text) => {
    expect(readBehind(first, second)).toBe(text)
  })

  test.each([
    ['no text', first.replace('"a"', '""')],
    ['another member', first.replace('"id":"i"', '"id":"j"')],
    ['one member more', first.replace('"more"', '"x":1,"more"')],
    ['another text beside', first.replace('"b"', '"c"')],
    ['another filler further in', first.replace('"text"}', '"x"}')],
    ['an escape in what says nothing', first.replace('xyz', '\\x')],
    ['a text that is broken', first.replace('"a"', '"\\x"')],
    ['a line end in its text', first.replace('"a"', '"\n"')],
    ['a number that is none', first.replace('9', '09')],
    ['a number with a fraction', first.replace('9', '9.5')],
    ['no number', first.replace('9', '')],
    ['no end', first.slice(0, -1)],
    ['something behind its end', `${first} `],
    ['no end within its text', '{"number":9,"id":"i","part":{"text":"'],
    ['no end behind an escape', '{"number":9,"id":"i","part":{"text":"\\'],
    ['nothing', ''],
  ])('has to be parsed where it has %s', (_, second) => {
    expect(readBehind(first, second)).toBeUndefined()
  })

  it('has to be parsed under another name', () => {
    const mould = new TextDeltaTemplate(silent)
    mould.learn({ event: 'x', data: first }, 'text', [delta('a')])
    expect(mould.read({ event: 'y', data: first })).toBeUndefined()
    expect(mould.read({ event: 'x', data: first })).toBe('a')
  })
})

test.each<[string, string, readonly ModelEvent[]]>([
  ['two members that may hold it', '{"text":"a","part":{"text":"a"}}', [delta('a')]],
  ['its text elsewhere', '{"words":"a"}', [delta('a')]],
  ['members written with escapes', '{"text":"a","t\\u0065xt":"a"}', [delta('a')]],
  ['more to say', '{"text":"a"}', [delta('a'), { type: 'part-end', choice: 0, part: 2 }]],
  ['nothing to say', '{"text":"a"}', []],
  [
    'log probabilities',
    '{"text":"a"}',
    [{ type: 'part-delta', choice: 0, part: 2, delta: { type: 'text', text: 'a', logprobs: null } }],
  ],
])('nothing is learned of an event with %s', (_, data, came) => {
  expect(readBehind(data, data, came)).toBeUndefined()
})

it('reads what JSON.parse reads, whatever the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string(), fc.nat(), (text, filler, number) => {
      const second = { number, text, filler: filler.replaceAll(/["\\]/g, '') }
      const read = readBehind('{"number":1,"text":"a","filler":""}', JSON.stringify(second))
      expect(read).toBe(text === '' || JSON.stringify(second.filler).includes('\\') ? undefined : text)
    }),
  )
})

describe('usage that grows', () => {
  const running = { key: 'usage', counts: new Set(['total']) }
  const first = '{"text":"a","usage":{"in":3,"total":7,"more":[{"total":4}]}}'
  const learned = (came: readonly ModelEvent[]) => {
    const mould = new TextDeltaTemplate(silent, running)
    mould.learn(event(first), 'text', came)
    return mould
  }

  it('is read with the text', () => {
    const mould = learned([delta('a'), usage])
    expect(mould.read(event(first.replace('"a"', '"b"').replace('7', '12')))).toBe('b')
    expect(mould.usage).toEqual({ in: 3, total: 12, more: [{ total: 4 }] })
  })

  test.each([
    ['another count', first.replace('3', '4')],
    ['a count further in', first.replace('4', '5')],
    ['no count', first.replace('7', 'null')],
  ])('has to be parsed where it has %s', (_, second) => {
    expect(learned([delta('a'), usage]).read(event(second))).toBeUndefined()
  })

  it.each(['7.5', '7e1'])('is read whole where it is no whole number: %s', (count) => {
    const mould = new TextDeltaTemplate(silent, running)
    const odd = first.replace('7', count)
    mould.learn(event(odd), 'text', [delta('a'), usage])
    expect(mould.read(event(odd.replace('"a"', '"b"')))).toBe('b')
    expect(mould.usage).toEqual({ in: 3, total: Number(count), more: [{ total: 4 }] })
    expect(mould.read(event(odd.replace('7', '8')))).toBeUndefined()
  })

  it('is not learned where it told nothing', () => {
    expect(learned([delta('a')]).read(event(first))).toBeUndefined()
  })
})

it('gives up learning where events are never alike', () => {
  const mould = new TextDeltaTemplate(silent)
  for (let n = 0; n < 20; n++) mould.learn(event(`{"id":${n},"text":"a"}`), 'text', [delta('a')])
  expect(mould.read(event('{"id":19,"text":"a"}'))).toBeUndefined()
})
